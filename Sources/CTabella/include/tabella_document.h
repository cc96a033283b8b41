/*
 * tabella_document.h: a provider in C for a format of small text files: INI files, lists, logs, notes.
 * Header only; needs only libc, on Linux. Include it before the headers of libc (tabella_save.h says why).
 *
 * An author writes four functions: they find the rows of a file, read a cell, and write a row and the header of a
 * section. This header makes an editable source of them. Rows and sections can be inserted, set, deleted and moved,
 * with dry runs, undo, ids and versions. Every byte that no edit names stays as it is. Before a save, the new file is
 * read again: if a cell would not be the one that the edit names, the edit is refused.
 *
 * A cell has the type of its column. An id is a digest of the row with its section's title, a version a digest of the
 * file.
 */
#ifndef TABELLA_DOCUMENT_H
#define TABELLA_DOCUMENT_H

#include "tabella_save.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A row: a range of the file's bytes, with its last line feed. Lines that belong to no row stay where they are. */
typedef struct tabella_document_row {
  const char *start;
  const char *end;
} tabella_document_row;

/* A section: its header and the rows that follow. */
typedef struct tabella_document_section {
  const char *start;
  const char *body;     /* Behind its header. */
  tabella_string title; /* Within the header. Absent: the section has no header, and cannot be edited itself. */
  int64_t first;        /* Its first row, and the number of its rows. */
  int64_t count;
} tabella_document_section;

/* A file that was read. */
typedef struct tabella_document {
  const char *bytes; /* All bytes. */
  const char *end;
  const char *newline; /* "\n", or "\r\n" if the first line ends in this way. */
  const tabella_document_section *sections;
  const tabella_document_row *rows; /* The rows of all sections. */
  int64_t section_count;
  int64_t row_count;
  tabella_row_id *ids; /* Of each row. */
  tabella_buffer section_bytes, row_bytes; /* Private. */
} tabella_document;

/* A format: the functions of an author. None of them keeps a pointer. */
typedef struct tabella_document_format {
  const tabella_column *columns;
  int64_t column_count;
  size_t limit; /* The maximum size of a file in bytes. */

  /* Finds sections and rows between document->bytes and document->end, and reports them in order with
   * tabella_document_add_section and tabella_document_add_row. */
  void (*read)(tabella_document *document);

  /* Appends a cell of a row to `out`: the bytes of text or binary, or one tabella_cell_integer, _real, _boolean or
   * _date, as the type of the column says. Returns 1, or 0 if the cell is missing. */
  int (*cell)(tabella_document_row row, int64_t column, tabella_buffer *out);

  /* Appends a row with new cells, which tabella_plan_value(plan, edit, column) returns. `old` is the row whose
   * other cells stay, `model` an old row of the section that shows how rows are written. Either is null if there is
   * none. */
  void (*put_row)(const tabella_document *document, const tabella_document_row *old,
                  const tabella_document_row *model, const tabella_plan *plan, int64_t edit,
                  tabella_buffer *out);

  /* Appends the header of a new section. Null: sections cannot be inserted. */
  void (*put_header)(const tabella_document *document, const tabella_value *title, tabella_buffer *out);
} tabella_document_format;

/* For `read`: begins a section. A section without a header has an absent title, and `start` equals `body`. */
TABELLA_HELPER void tabella_document_add_section(tabella_document *document, const char *start,
                                                 const char *body, tabella_string title);

/* For `read`: adds a row to the last section. Rows lie between `bytes` and `end` of the document, in order, and do not
 * overlap; otherwise opening fails with TABELLA_INTERNAL. */
TABELLA_HELPER void tabella_document_add_row(tabella_document *document, const char *start,
                                             const char *end);

/* Opens a file as an editable source: the whole of a provider's `open`. `format` lives as long as the library. */
TABELLA_HELPER int32_t tabella_document_open(const tabella_document_format *format,
                                             tabella_string path, tabella_source *out,
                                             tabella_error *error);

/* ------------------------------------------------------------------------------------------------
 * Cells, for `cell` and `put_row`
 * --------------------------------------------------------------------------------------------- */

/* Appends an integer. */
TABELLA_HELPER void tabella_cell_integer(tabella_buffer *out, int64_t value) {
  tabella_buffer_put(out, &value, sizeof value);
}

/* Appends a real number. */
TABELLA_HELPER void tabella_cell_real(tabella_buffer *out, double value) {
  tabella_buffer_put(out, &value, sizeof value);
}

/* Appends a boolean. */
TABELLA_HELPER void tabella_cell_boolean(tabella_buffer *out, int value) {
  tabella_cell_integer(out, value != 0);
}

/* Appends a date, in nanoseconds since 1970-01-01T00:00:00Z. */
TABELLA_HELPER void tabella_cell_date(tabella_buffer *out, int64_t nanoseconds) {
  tabella_cell_integer(out, nanoseconds);
}

/* Appends the cell of this type that a text says: `-12`; `0.5` or `1e-9`; `true` or `false`; `1815-12-10` or
 * `1815-12-10T06:30:00.25Z`; the bytes of text and binary. Returns 1, or 0 if the text says no value of this type. */
TABELLA_HELPER int tabella_cell_read(int32_t type, tabella_string text, tabella_buffer *out);

/* Appends the text of a value, which tabella_cell_read reads as the same value. A missing value has no text. */
TABELLA_HELPER void tabella_cell_write(const tabella_value *value, tabella_buffer *out);

/* ------------------------------------------------------------------------------------------------
 * Helpers for formats of lines
 * --------------------------------------------------------------------------------------------- */

/* The end of the line that contains `at`, behind its line feed. */
TABELLA_HELPER const char *tabella_line_end(const char *at, const char *end) {
  const char *feed = at < end ? (const char *)memchr(at, '\n', (size_t)(end - at)) : NULL;
  return feed != NULL ? feed + 1 : end;
}

/* The bytes without white space at both ends. */
TABELLA_HELPER tabella_string tabella_trimmed(const char *at, const char *end) {
  tabella_string text;
  while (at < end && (*at == ' ' || (*at >= '\t' && *at <= '\r'))) at++;
  while (end > at && (end[-1] == ' ' || (end[-1] >= '\t' && end[-1] <= '\r'))) end--;
  text.bytes = at;
  text.length = end - at;
  return text;
}

/* Appends a string. */
TABELLA_HELPER void tabella_buffer_string(tabella_buffer *buffer, tabella_string string) {
  tabella_buffer_put(buffer, string.bytes, (size_t)string.length);
}

/* ------------------------------------------------------------------------------------------------
 * Cells as text
 * --------------------------------------------------------------------------------------------- */

/* Reads up to `most` digits and moves `at` behind them. Returns -1 if there are none. */
TABELLA_HELPER int64_t tabella_digits_(const char **at, const char *end, int most) {
  int64_t value = -1;
  for (; *at < end && most > 0 && **at >= '0' && **at <= '9'; (*at)++, most--)
    value = (value < 0 ? 0 : value * 10) + (**at - '0');
  return value;
}

TABELLA_HELPER int tabella_integer_of_(tabella_string text, int64_t *out) {
  const char *at = text.bytes, *end = text.bytes + text.length;
  int is_negative = at < end && *at == '-';
  uint64_t value = 0, limit = (uint64_t)INT64_MAX + (uint64_t)is_negative;
  if (at < end && (*at == '-' || *at == '+')) at++;
  if (at == end) return 0;
  for (; at < end; at++) {
    uint64_t digit = (uint64_t)(*at - '0');
    if (*at < '0' || *at > '9' || value > (limit - digit) / 10) return 0;
    value = value * 10 + digit;
  }
  *out = is_negative ? (int64_t)(0 - value) : (int64_t)value;
  return 1;
}

/* The text and the C library can have different decimal points. */
TABELLA_HELPER char tabella_decimal_point_(void) {
  char text[8];
  snprintf(text, sizeof text, "%.1f", 0.5);
  return text[1];
}

TABELLA_HELPER int tabella_real_of_(tabella_string text, double *out) {
  char copy[128];
  char *end;
  int64_t i;
  if (text.length < 1 || text.length >= (int64_t)sizeof copy) return 0;
  for (i = 0; i < text.length; i++) {
    if (strchr("0123456789+-.eE", text.bytes[i]) == NULL || text.bytes[i] == '\0') return 0;
    copy[i] = text.bytes[i] == '.' ? tabella_decimal_point_() : text.bytes[i];
  }
  copy[i] = '\0';
  *out = strtod(copy, &end);
  return *end == '\0' && end != copy && *out - *out == 0;
}

TABELLA_HELPER int tabella_date_of_(tabella_string text, int64_t *out) {
  static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
  const char *at = text.bytes, *end = text.bytes + text.length, *start;
  int64_t year, month, day, hour = 0, minute = 0, second = 0, fraction = 0, days;
  int is_leap;
  year = tabella_digits_(&at, end, 4);
  if (at - text.bytes != 4 || at == end || *at++ != '-') return 0;
  month = tabella_digits_(&at, end, 2);
  if (at == end || *at++ != '-') return 0;
  day = tabella_digits_(&at, end, 2);
  if (at < end && (*at == 'T' || *at == ' ')) {
    at++;
    hour = tabella_digits_(&at, end, 2);
    if (at == end || *at++ != ':') return 0;
    minute = tabella_digits_(&at, end, 2);
    if (at < end && *at == ':') {
      at++;
      second = tabella_digits_(&at, end, 2);
    }
    if (at < end && *at == '.') {
      start = ++at;
      fraction = tabella_digits_(&at, end, 9);
      if (fraction < 0) return 0;
      for (days = at - start; days < 9; days++) fraction *= 10;
    }
    if (at < end && *at == 'Z') at++;
  }
  is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  if (at != end || month < 1 || month > 12 || day < 1 ||
      day > before[month] - before[month - 1] + (month == 2 && is_leap) || hour < 0 || hour > 23 || minute < 0 ||
      minute > 59 || second < 0 || second > 59)
    return 0;
  days = (year - 1970) * 365 + (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400 - 477 + before[month - 1] +
         (month > 2 && is_leap) + day - 1;
  second += days * 86400 + hour * 3600 + minute * 60;
  if (year < 1 || second < -9223372036 || second > 9223372035) return 0;
  *out = second * 1000000000 + fraction;
  return 1;
}

TABELLA_HELPER int tabella_cell_read(int32_t type, tabella_string text, tabella_buffer *out) {
  int64_t integer = 0;
  double real = 0;
  int is_true = tabella_string_equals(text, "true");
  switch (type) {
    case TABELLA_TYPE_INTEGER:
      if (!tabella_integer_of_(text, &integer)) return 0;
      break;
    case TABELLA_TYPE_REAL:
      if (!tabella_real_of_(text, &real)) return 0;
      tabella_cell_real(out, real);
      return 1;
    case TABELLA_TYPE_BOOLEAN:
      if (!is_true && !tabella_string_equals(text, "false")) return 0;
      integer = is_true;
      break;
    case TABELLA_TYPE_DATE:
      if (!tabella_date_of_(text, &integer)) return 0;
      break;
    default: tabella_buffer_string(out, text); return 1;
  }
  tabella_cell_integer(out, integer);
  return 1;
}

TABELLA_HELPER void tabella_put_real_(double value, tabella_buffer *out) {
  char text[40];
  char *at;
  int digits;
  for (digits = 15; digits < 18; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  at = strchr(text, tabella_decimal_point_());
  if (at != NULL) *at = '.';
  tabella_buffer_text(out, text);
}

TABELLA_HELPER void tabella_put_date_(int64_t nanoseconds, tabella_buffer *out) {
  char text[64], *at = text;
  int64_t fraction = nanoseconds % 1000000000, second, days, era, year, month, day;
  if (fraction < 0) fraction += 1000000000;
  second = nanoseconds / 1000000000 - (nanoseconds % 1000000000 < 0);
  days = second / 86400 - (second % 86400 < 0);
  second -= days * 86400;
  /* Days since March 1 of the year 0, in cycles of 400 years. All dates of the contract lie after it. */
  days += 719468;
  era = days / 146097;
  day = days % 146097;
  year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
  day -= year * 365 + year / 4 - year / 100;
  month = (5 * day + 2) / 153;
  day -= (153 * month + 2) / 5 - 1;
  month += month < 10 ? 3 : -9;
  year += era * 400 + (month < 3);
  at += snprintf(at, 16, "%04d-%02d-%02d", (int)year, (int)month, (int)day);
  if (second != 0 || fraction != 0)
    at += snprintf(at, 16, "T%02d:%02d:%02d", (int)(second / 3600), (int)(second / 60 % 60), (int)(second % 60));
  if (fraction != 0) at += snprintf(at, 16, ".%09d", (int)fraction);
  while (fraction != 0 && at[-1] == '0') at--;
  *at = '\0';
  tabella_buffer_text(out, text);
  if (second != 0 || fraction != 0) tabella_buffer_text(out, "Z");
}

TABELLA_HELPER void tabella_cell_write(const tabella_value *value, tabella_buffer *out) {
  char text[24];
  switch (value->type) {
    case TABELLA_TYPE_INTEGER:
      snprintf(text, sizeof text, "%lld", (long long)value->integer);
      tabella_buffer_text(out, text);
      break;
    case TABELLA_TYPE_REAL: tabella_put_real_(value->real, out); break;
    case TABELLA_TYPE_BOOLEAN: tabella_buffer_text(out, value->integer != 0 ? "true" : "false"); break;
    case TABELLA_TYPE_DATE: tabella_put_date_(value->integer, out); break;
    case TABELLA_TYPE_TEXT:
    case TABELLA_TYPE_BINARY: tabella_buffer_string(out, value->bytes); break;
    default: break;
  }
}

/* ------------------------------------------------------------------------------------------------
 * Reading
 * --------------------------------------------------------------------------------------------- */

TABELLA_HELPER void tabella_document_add_section(tabella_document *document, const char *start,
                                                 const char *body, tabella_string title) {
  tabella_document_section section;
  section.start = start;
  section.body = body;
  section.title = title;
  section.first = document->row_count;
  section.count = 0;
  tabella_buffer_put(&document->section_bytes, &section, sizeof section);
  if (document->section_bytes.failed) return;
  document->sections = (const tabella_document_section *)(void *)document->section_bytes.bytes;
  document->section_count++;
}

TABELLA_HELPER void tabella_document_add_row(tabella_document *document, const char *start,
                                             const char *end) {
  tabella_document_row row;
  row.start = start;
  row.end = end;
  tabella_buffer_put(&document->row_bytes, &row, sizeof row);
  if (document->row_bytes.failed || document->section_count == 0) return;
  document->rows = (const tabella_document_row *)(void *)document->row_bytes.bytes;
  document->row_count++;
  ((tabella_document_section *)(void *)document->section_bytes.bytes)[document->section_count - 1].count++;
}

TABELLA_HELPER void tabella_document_free_(tabella_document *document) {
  tabella_buffer_free(&document->section_bytes);
  tabella_buffer_free(&document->row_bytes);
  free(document->ids);
  memset(document, 0, sizeof *document);
}

/* Reads bytes, which must outlive the document. */
TABELLA_HELPER int32_t tabella_document_read_(const tabella_document_format *format, const char *bytes,
                                              size_t size, tabella_document *document,
                                              tabella_error *error) {
  int64_t s, r;
  tabella_digest *digests;
  const char *free_from = bytes;
  const char *line = tabella_line_end(bytes, bytes + size);
  memset(document, 0, sizeof *document);
  document->bytes = bytes;
  document->end = bytes + size;
  document->newline = line - bytes > 1 && line[-1] == '\n' && line[-2] == '\r' ? "\r\n" : "\n";
  format->read(document);
  digests = (tabella_digest *)calloc((size_t)document->row_count + 1, sizeof *digests);
  document->ids = (tabella_row_id *)calloc((size_t)document->row_count + 1, sizeof *document->ids);
  if (document->section_bytes.failed || document->row_bytes.failed || digests == NULL || document->ids == NULL)
    goto no_memory;
  for (r = 0; r < document->row_count; r++) {
    const tabella_document_row *row = &document->rows[r];
    if (row->start < free_from || row->end < row->start || row->end > document->end) {
      free(digests);
      tabella_document_free_(document);
      return tabella_fail(error, TABELLA_INTERNAL,
                          "row %lld overlaps the row in front of it, or is not in the file", (long long)r);
    }
    free_from = row->end;
  }
  for (s = 0; s < document->section_count; s++) {
    const tabella_document_section *section = &document->sections[s];
    if (section->title.bytes != NULL && !tabella_string_is_utf8(section->title)) {
      free(digests);
      tabella_document_free_(document);
      return tabella_fail(error, TABELLA_INVALID_ARGUMENT,
                          "the title of section %lld is not UTF-8; convert the file with iconv", (long long)s);
    }
    for (r = section->first; r < section->first + section->count; r++) {
      tabella_hash hash = tabella_hash_begin();
      tabella_string text = tabella_trimmed(document->rows[r].start, document->rows[r].end);
      tabella_hash_add(&hash, section->title.bytes, (size_t)section->title.length);
      tabella_hash_add(&hash, "\n", 1);
      tabella_hash_add(&hash, text.bytes, (size_t)text.length);
      digests[r] = tabella_hash_end(&hash);
    }
  }
  if (!tabella_ids_make(digests, document->row_count, document->ids)) goto no_memory;
  free(digests);
  return TABELLA_OK;
no_memory:
  free(digests);
  tabella_document_free_(document);
  return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
}

/* An opened file. */
typedef struct tabella_document_source_ {
  const tabella_document_format *format;
  tabella_file file;
  tabella_document document;
} tabella_document_source_;

/* ------------------------------------------------------------------------------------------------
 * Writing
 * --------------------------------------------------------------------------------------------- */

/* Ends the last line, if it is not ended. */
TABELLA_HELPER void tabella_document_end_line_(const tabella_document *document, tabella_buffer *out) {
  if (out->size > 0 && out->bytes[out->size - 1] != '\n') tabella_buffer_text(out, document->newline);
}

/* Adds an empty line, if there is none. */
TABELLA_HELPER void tabella_document_part_(const tabella_document *document, tabella_buffer *out) {
  size_t size = out->size;
  if (size == 0 || out->failed) return;
  if (size > 1 && out->bytes[size - 2] == '\r') size--;
  if (size < 2 || out->bytes[size - 2] != '\n') tabella_buffer_text(out, document->newline);
}

/* Appends bytes, which begin a line. */
TABELLA_HELPER void tabella_document_put_(const tabella_document *document, const char *start,
                                          const char *end, tabella_buffer *out) {
  if (end <= start) return;
  tabella_document_end_line_(document, out);
  tabella_buffer_put(out, start, (size_t)(end - start));
}

/* Appends the lines between a row of a section and the row in front of it. Row `count` is the end of the section. */
TABELLA_HELPER void tabella_document_put_gap_(const tabella_document *document, int64_t section, int64_t row,
                                              tabella_buffer *out) {
  const tabella_document_section *of = &document->sections[section];
  const char *end = section + 1 < document->section_count ? of[1].start : document->end;
  tabella_document_put_(document, row > 0 ? document->rows[of->first + row - 1].end : of->body,
                        row < of->count ? document->rows[of->first + row].start : end, out);
}

/* Appends the rows of a section after the batch. A row that arrives follows the row in front of it directly. The lines
 * between rows stay in their order. */
TABELLA_HELPER void tabella_document_put_rows_(const tabella_document_source_ *source,
                                               const tabella_plan *plan, int64_t section, int64_t from,
                                               tabella_buffer *out) {
  const tabella_document *document = &source->document;
  const tabella_document_section *of = &document->sections[from];
  const tabella_document_row *model = of->count > 0 ? &document->rows[of->first] : NULL;
  int64_t r, next = 0, count = tabella_plan_row_count(plan, section);
  for (r = 0; r < count; r++) {
    tabella_planned_row row = tabella_plan_row(plan, section, r);
    const tabella_document_row *old =
        row.from.row < 0 ? NULL
                         : &document->rows[document->sections[row.from.section].first + row.from.row];
    for (; !row.arrives && next <= row.from.row; next++)
      tabella_document_put_gap_(document, from, next, out);
    tabella_document_end_line_(document, out);
    if (row.edit >= 0) source->format->put_row(document, old, model, plan, row.edit, out);
    else if (old != NULL) tabella_document_put_(document, old->start, old->end, out);
  }
  for (; next <= of->count; next++) tabella_document_put_gap_(document, from, next, out);
}

/* Appends the file after the batch. A section that arrives is parted from its neighbours by an empty line. */
TABELLA_HELPER void tabella_document_write_(const tabella_document_source_ *source,
                                            const tabella_plan *plan, tabella_buffer *out) {
  const tabella_document *document = &source->document;
  int64_t s, count = tabella_plan_section_count(plan);
  int arrived = 0;
  tabella_document_put_(document, document->bytes,
                        document->section_count > 0 ? document->sections[0].start : document->end, out);
  for (s = 0; s < count; s++) {
    tabella_planned_section planned = tabella_plan_section(plan, s);
    const tabella_value *title = tabella_plan_value(plan, planned.edit, TABELLA_SECTION_TITLE);
    const tabella_document_section *from = planned.from < 0 ? NULL : &document->sections[planned.from];
    tabella_document_end_line_(document, out);
    if (planned.arrives || arrived) tabella_document_part_(document, out);
    arrived = planned.arrives;
    if (from == NULL) {
      source->format->put_header(document, title, out);
      continue;
    }
    if (title != NULL) {
      tabella_buffer_put(out, from->start, (size_t)(from->title.bytes - from->start));
      tabella_buffer_string(out, title->bytes);
      tabella_buffer_put(out, from->title.bytes + from->title.length,
                         (size_t)(from->body - from->title.bytes - from->title.length));
    } else {
      tabella_document_put_(document, from->start, from->body, out);
    }
    tabella_document_put_rows_(source, plan, s, planned.from, out);
  }
}

/* Whether a string is the expected text; null expects an absent one. */
TABELLA_HELPER int tabella_document_is_(const tabella_buffer *text, int is_present, tabella_string expected) {
  return is_present ? expected.bytes != NULL && text->size == (size_t)expected.length &&
                          (text->size == 0 || memcmp(text->bytes, expected.bytes, text->size) == 0)
                    : expected.bytes == NULL;
}

/* Appends a value as `cell` would. Returns 0 if it is missing. */
TABELLA_HELPER int tabella_document_value_(const tabella_value *value, tabella_buffer *out) {
  switch (value->type) {
    case 0: return 0;
    case TABELLA_TYPE_REAL: tabella_cell_real(out, value->real); return 1;
    case TABELLA_TYPE_BOOLEAN: tabella_cell_boolean(out, value->integer != 0); return 1;
    case TABELLA_TYPE_INTEGER:
    case TABELLA_TYPE_DATE: tabella_cell_integer(out, value->integer); return 1;
    default: tabella_buffer_string(out, value->bytes); return 1;
  }
}

/* Appends a cell of a column of this type as a reader sees it, up to 60 bytes of text. */
TABELLA_HELPER void tabella_document_show_(int32_t type, int is_present, const tabella_buffer *cell,
                                           tabella_buffer *out) {
  tabella_value value = {0, 0, 0, 0, {NULL, 0}};
  if (!is_present) {
    tabella_buffer_text(out, "missing");
  } else if (type == TABELLA_TYPE_TEXT || type == TABELLA_TYPE_BINARY) {
    tabella_buffer_text(out, "\"");
    tabella_buffer_put(out, cell->bytes, cell->size < 60 ? cell->size : 60);
    tabella_buffer_text(out, "\"");
  } else if (cell->size == 8) {
    value.type = type;
    memcpy(&value.integer, cell->bytes, 8);
    memcpy(&value.real, cell->bytes, 8);
    tabella_cell_write(&value, out);
  }
}

/* Refuses a row if it was read again with another cell than the batch gives it. */
TABELLA_HELPER int32_t tabella_document_verify_row_(const tabella_document_source_ *source,
                                                    const tabella_document *now, const tabella_plan *plan,
                                                    int64_t section, int64_t row, tabella_error *error) {
  const tabella_document *old = &source->document;
  tabella_planned_row planned = tabella_plan_row(plan, section, row);
  int64_t column;
  int32_t code = TABELLA_OK;
  for (column = 0; code == TABELLA_OK && column < source->format->column_count; column++) {
    const tabella_value *value = tabella_plan_value(plan, planned.edit, column);
    const tabella_column *shown = &source->format->columns[column];
    tabella_buffer found = {NULL, 0, 0, 0}, wanted = {NULL, 0, 0, 0}, text = {NULL, 0, 0, 0};
    tabella_string expected = {NULL, 0};
    int is_found, is_wanted = 0;
    if (value != NULL) {
      is_wanted = tabella_document_value_(value, &wanted);
    } else if (planned.from.row >= 0) {
      int64_t number = old->sections[planned.from.section].first + planned.from.row;
      is_wanted = source->format->cell(old->rows[number], column, &wanted);
    }
    expected.bytes = is_wanted ? (wanted.bytes != NULL ? wanted.bytes : "") : NULL;
    expected.length = (int64_t)wanted.size;
    is_found = source->format->cell(now->rows[now->sections[section].first + row], column, &found);
    if (found.failed || wanted.failed || !tabella_document_is_(&found, is_found, expected)) {
      tabella_document_show_(shown->type, is_found, &found, &text);
      tabella_buffer_text(&text, ", not ");
      tabella_document_show_(shown->type, is_wanted, &wanted, &text);
      if (found.failed || wanted.failed || text.failed)
        code = tabella_fail(error, TABELLA_INTERNAL, "out of memory");
      else
        code = tabella_fail(error, TABELLA_CONSTRAINT, "row %lld:%lld cannot be written so: %s would be read as %.*s",
                            (long long)section, (long long)row, shown->name, (int)text.size, text.bytes);
    }
    tabella_buffer_free(&found);
    tabella_buffer_free(&wanted);
    tabella_buffer_free(&text);
  }
  return code;
}

/* Refuses a batch if the new file would not be read as the batch says. */
TABELLA_HELPER int32_t tabella_document_verify_(const tabella_document_source_ *source,
                                                const tabella_document *now, const tabella_plan *plan,
                                                tabella_error *error) {
  int64_t s, r, count = tabella_plan_section_count(plan);
  for (s = 0; s < count; s++) {
    tabella_planned_section planned = tabella_plan_section(plan, s);
    const tabella_value *title = tabella_plan_value(plan, planned.edit, TABELLA_SECTION_TITLE);
    tabella_string expected = {NULL, 0};
    tabella_buffer text = {NULL, 0, 0, 0};
    int64_t rows = tabella_plan_row_count(plan, s);
    if (title != NULL && title->type != 0) expected = title->bytes;
    else if (title == NULL && planned.from >= 0) expected = source->document.sections[planned.from].title;
    if (s < now->section_count) {
      text.bytes = (char *)(uintptr_t)now->sections[s].title.bytes;
      text.size = (size_t)now->sections[s].title.length;
    }
    if (s >= now->section_count || !tabella_document_is_(&text, text.bytes != NULL, expected))
      return tabella_fail(error, TABELLA_CONSTRAINT,
                          "section %lld cannot be written so: it would be read differently", (long long)s);
    for (r = 0; r < rows; r++) {
      int32_t code;
      if (r >= now->sections[s].count)
        return tabella_fail(error, TABELLA_CONSTRAINT,
                            "row %lld:%lld cannot be written so: it would not be read as a row", (long long)s,
                            (long long)r);
      code = tabella_document_verify_row_(source, now, plan, s, r, error);
      if (code != TABELLA_OK) return code;
    }
    if (rows != now->sections[s].count)
      return tabella_fail(error, TABELLA_CONSTRAINT, "section %lld would have further rows", (long long)s);
  }
  if (count == now->section_count) return TABELLA_OK;
  return tabella_fail(error, TABELLA_CONSTRAINT, "there would be further sections");
}

/* ------------------------------------------------------------------------------------------------
 * The table
 * --------------------------------------------------------------------------------------------- */

TABELLA_HELPER const tabella_source_table *tabella_document_table_(void);

TABELLA_HELPER void tabella_document_release_(void *source) {
  tabella_document_source_ *self = (tabella_document_source_ *)source;
  tabella_document_free_(&self->document);
  tabella_file_close(&self->file);
  free(self);
}

TABELLA_HELPER uint64_t tabella_document_flags_(void *source) {
  (void)source;
  return 0;
}

TABELLA_HELPER int32_t tabella_document_version_(void *source, tabella_string *out, tabella_error *error) {
  (void)error;
  *out = tabella_cstring(((tabella_document_source_ *)source)->file.digest.text);
  return TABELLA_OK;
}

TABELLA_HELPER int32_t tabella_document_schema_(void *source, struct ArrowSchema *out,
                                                tabella_error *error) {
  const tabella_document_format *format = ((tabella_document_source_ *)source)->format;
  return tabella_schema_make(format->columns, format->column_count, out, error);
}

/* The section with a number; null and an error if there is none. */
TABELLA_HELPER const tabella_document_section *tabella_document_section_(void *source, int64_t section,
                                                                         tabella_error *error) {
  const tabella_document *document = &((tabella_document_source_ *)source)->document;
  if (section >= 0 && section < document->section_count) return &document->sections[section];
  tabella_fail(error, TABELLA_NOT_FOUND, "there is no section %lld", (long long)section);
  return NULL;
}

TABELLA_HELPER int32_t tabella_document_row_count_(void *source, int64_t section, int64_t at_least,
                                                   tabella_count *out, tabella_error *error) {
  const tabella_document_section *of = tabella_document_section_(source, section, error);
  (void)at_least;
  if (of == NULL) return TABELLA_NOT_FOUND;
  out->value = of->count;
  out->exact = 1;
  return TABELLA_OK;
}

/* Appends a cell that `cell` has appended to a buffer. If it has another size, the batch reports a wrong type. */
TABELLA_HELPER void tabella_document_put_cell_(tabella_batch_builder *batch, int64_t at, int32_t type,
                                               const tabella_buffer *cell) {
  uint64_t word = 0;
  if (type == TABELLA_TYPE_TEXT || type == TABELLA_TYPE_BINARY) {
    tabella_batch_put_(batch, at, type, 1, 0, cell->bytes, cell->size);
    return;
  }
  if (cell->size == sizeof word) memcpy(&word, cell->bytes, sizeof word);
  tabella_batch_put_(batch, at, cell->size == sizeof word ? type : 0, 1, word, NULL, 0);
}

TABELLA_HELPER int32_t tabella_document_rows_(void *source, const tabella_row_request *request,
                                              tabella_batch *out, tabella_error *error) {
  const tabella_document_source_ *self = (const tabella_document_source_ *)source;
  const tabella_document_section *section;
  tabella_batch_builder *batch;
  tabella_buffer text = {NULL, 0, 0, 0};
  int64_t r, i, end;
  int32_t code = tabella_rows_check(request, self->format->column_count, 1, error);
  if (code != TABELLA_OK) return code;
  section = tabella_document_section_(source, request->section, error);
  if (section == NULL) return TABELLA_NOT_FOUND;
  if (request->first > section->count)
    return tabella_fail(error, TABELLA_NOT_FOUND, "there is no row %lld", (long long)request->first);
  end = request->count < section->count - request->first ? request->first + request->count : section->count;
  batch = tabella_batch_for(request, self->format->columns);
  for (r = request->first; r < end; r++) {
    for (i = 0; i < request->column_count; i++) {
      text.size = 0;
      if (self->format->cell(self->document.rows[section->first + r], request->columns[i], &text))
        tabella_document_put_cell_(batch, i, self->format->columns[request->columns[i]].type, &text);
      else
        tabella_batch_missing(batch, i);
    }
    if ((request->flags & TABELLA_ROWS_IDS) != 0)
      tabella_batch_id(batch, self->document.ids[section->first + r].text);
  }
  if (text.failed) {
    tabella_batch_discard(batch);
    return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  }
  tabella_buffer_free(&text);
  return tabella_batch_finish_rows(batch, end - request->first, out, error);
}

TABELLA_HELPER int32_t tabella_document_sections_(void *source, int64_t at_least, tabella_count *out,
                                                  tabella_error *error) {
  (void)at_least, (void)error;
  out->value = ((tabella_document_source_ *)source)->document.section_count;
  out->exact = 1;
  return TABELLA_OK;
}

TABELLA_HELPER int32_t tabella_document_title_(void *source, int64_t section, int32_t which,
                                               tabella_string *out, tabella_error *error) {
  const tabella_document_section *of = tabella_document_section_(source, section, error);
  if (of == NULL) return TABELLA_NOT_FOUND;
  if (which == TABELLA_TITLE_HEADER) *out = of->title;
  return TABELLA_OK;
}

TABELLA_HELPER int32_t tabella_document_find_(void *source, tabella_string id, tabella_index_path *out,
                                              tabella_error *error) {
  const tabella_document *document = &((tabella_document_source_ *)source)->document;
  int64_t r;
  for (r = 0; r < document->row_count; r++) {
    /* The digests differ in most rows. */
    if (id.length < 32 || memcmp(id.bytes, document->ids[r].text, 32) != 0) continue;
    if (!tabella_string_equals(id, document->ids[r].text)) continue;
    for (out->section = 0; document->sections[out->section].first + document->sections[out->section].count <= r;)
      out->section++;
    out->row = r - document->sections[out->section].first;
    return TABELLA_OK;
  }
  return tabella_fail(error, TABELLA_NOT_FOUND, "there is no such row");
}

/* ------------------------------------------------------------------------------------------------
 * Editing
 * --------------------------------------------------------------------------------------------- */

TABELLA_HELPER int32_t tabella_document_editable_(void *source, int64_t section, int64_t first, int64_t count,
                                                  uint8_t *out, tabella_error *error) {
  const tabella_document_section *of = tabella_document_section_(source, section, error);
  if (of == NULL) return TABELLA_NOT_FOUND;
  return tabella_answer_range(first, count, of->count, TABELLA_ROW_EDITABLE | TABELLA_ROW_DELETE, out, error);
}

TABELLA_HELPER int32_t tabella_document_movable_(void *source, int64_t section, int64_t first, int64_t count,
                                                 uint8_t *out, tabella_error *error) {
  const tabella_document_section *of = tabella_document_section_(source, section, error);
  if (of == NULL) return TABELLA_NOT_FOUND;
  return tabella_answer_range(first, count, of->count, 1, out, error);
}

TABELLA_HELPER int32_t tabella_document_section_editable_(void *source, int64_t first, int64_t count,
                                                          uint8_t *out, tabella_error *error) {
  const tabella_document *document = &((tabella_document_source_ *)source)->document;
  int64_t s;
  int32_t code = tabella_answer_range(first, count, document->section_count,
                                      TABELLA_SECTION_TITLE_EDITABLE | TABELLA_SECTION_DELETABLE |
                                          TABELLA_SECTION_MOVABLE,
                                      out, error);
  for (s = 0; code == TABELLA_OK && s < count; s++)
    if (document->sections[first + s].title.bytes == NULL) out[s] = 0;
  return code;
}

TABELLA_HELPER int32_t tabella_document_insertable_(void *source, int32_t *out, tabella_error *error) {
  (void)error;
  *out = ((tabella_document_source_ *)source)->format->put_header != NULL;
  return TABELLA_OK;
}

/* Checks the new bytes, makes the result, and saves them. Without a plan, they are those of an undo. */
TABELLA_HELPER int32_t tabella_document_finish_(tabella_document_source_ *self, const tabella_plan *plan,
                                                tabella_buffer *content, uint32_t flags,
                                                tabella_edit_result *out, tabella_error *error) {
  int is_dry = (flags & TABELLA_EDITS_DRY_RUN) != 0;
  tabella_document now;
  tabella_digest version;
  tabella_buffer receipt = {NULL, 0, 0, 0};
  int64_t i;
  int32_t code;
  tabella_buffer_ensure_(content);
  if (content->failed) return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  code = tabella_document_read_(self->format, content->bytes, content->size, &now, error);
  if (code != TABELLA_OK) return code;
  version = tabella_digest_of(content->bytes, content->size);
  if (plan != NULL) code = tabella_document_verify_(self, &now, plan, error);
  if (code == TABELLA_OK) code = tabella_file_receipt(&self->file, content, &receipt, error);
  if (code == TABELLA_OK) {
    tabella_result_begin(out, plan != NULL ? plan->batch->edit_count : 1);
    tabella_result_changes(out, plan, self->file.digest.text, is_dry ? self->file.digest.text : version.text);
    if (!is_dry) tabella_result_receipt(out, receipt.bytes, receipt.size);
    for (i = 0; plan != NULL && receipt.size == 0 && i < plan->batch->edit_count; i++)
      tabella_result_final(out, i);
    for (i = 0; plan != NULL && i < plan->batch->edit_count; i++)
      if (plan->to[i].row >= 0)
        tabella_result_id(out, i, now.ids[now.sections[plan->to[i].section].first + plan->to[i].row].text);
    code = tabella_result_finish(out, error);
    if (code == TABELLA_OK) code = tabella_file_save(&self->file, content, is_dry, error);
    if (code != TABELLA_OK) tabella_result_drop(out);
    else tabella_result_remark(out, TABELLA_IO, self->file.remark);
  }
  tabella_buffer_free(&receipt);
  /* The file has the new bytes now, unless nothing was to be saved. */
  if (code == TABELLA_OK && now.bytes == self->file.bytes) {
    tabella_document_free_(&self->document);
    self->document = now;
  } else {
    tabella_document_free_(&now);
  }
  return code;
}

TABELLA_HELPER int32_t tabella_document_commit_(void *source, const tabella_edit_batch *batch,
                                                tabella_edit_result *out, tabella_error *error) {
  tabella_document_source_ *self = (tabella_document_source_ *)source;
  tabella_buffer content = {NULL, 0, 0, 0};
  tabella_plan plan;
  int32_t code = tabella_plan_make(&plan, source, tabella_document_table_(), self->format->columns,
                                   self->format->column_count, TABELLA_PLAN_IDS_OF_CONTENT, batch, error);
  if (code != TABELLA_OK) return code;
  tabella_document_write_(self, &plan, &content);
  code = tabella_document_finish_(self, &plan, &content, batch->flags, out, error);
  tabella_plan_free(&plan);
  tabella_buffer_free(&content);
  return code;
}

TABELLA_HELPER int32_t tabella_document_undo_(void *source, tabella_string receipt, uint32_t flags,
                                              tabella_edit_result *out, tabella_error *error) {
  tabella_document_source_ *self = (tabella_document_source_ *)source;
  tabella_buffer content = {NULL, 0, 0, 0};
  int32_t code = tabella_file_undo(&self->file, receipt, &content, error);
  if (code == TABELLA_OK) code = tabella_document_finish_(self, NULL, &content, flags, out, error);
  /* A receipt beside a code would undo the rest of an undo, and this undo is complete. */
  if (code == TABELLA_OK && self->file.remark != NULL) tabella_result_receipt(out, NULL, 0);
  tabella_buffer_free(&content);
  return code;
}

TABELLA_HELPER const void *tabella_document_ability_(void *source, tabella_string id) {
  static const tabella_sections sections = {tabella_document_sections_, tabella_document_title_};
  static const tabella_identity identity = {tabella_document_find_};
  static const tabella_editing editing = {tabella_document_editable_, NULL, tabella_document_commit_};
  static const tabella_section_editing section_editing = {tabella_document_section_editable_,
                                                          tabella_document_insertable_};
  static const tabella_moving moving = {tabella_document_movable_, NULL};
  static const tabella_undo undo = {tabella_document_undo_};
  (void)source;
  if (tabella_string_equals(id, TABELLA_SECTIONS_ID)) return &sections;
  if (tabella_string_equals(id, TABELLA_IDENTITY_ID)) return &identity;
  if (tabella_string_equals(id, TABELLA_EDITING_ID)) return &editing;
  if (tabella_string_equals(id, TABELLA_SECTION_EDITING_ID)) return &section_editing;
  if (tabella_string_equals(id, TABELLA_MOVING_ID)) return &moving;
  if (tabella_string_equals(id, TABELLA_UNDO_ID)) return &undo;
  return NULL;
}

TABELLA_HELPER const tabella_source_table *tabella_document_table_(void) {
  static const tabella_source_table table = {
      tabella_document_release_, NULL,                     tabella_document_ability_,   tabella_document_flags_,
      tabella_document_version_, tabella_document_schema_, tabella_document_row_count_, tabella_document_rows_};
  return &table;
}

TABELLA_HELPER int32_t tabella_document_open(const tabella_document_format *format, tabella_string path,
                                             tabella_source *out, tabella_error *error) {
  tabella_document_source_ *self = (tabella_document_source_ *)calloc(1, sizeof *self);
  int32_t code;
  if (self == NULL) return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  self->format = format;
  code = tabella_file_open(&self->file, path, format->limit, error);
  if (code == TABELLA_OK) {
    code = tabella_document_read_(format, self->file.bytes, self->file.size, &self->document, error);
    if (code != TABELLA_OK) tabella_file_close(&self->file);
  }
  if (code != TABELLA_OK) {
    free(self);
    return code;
  }
  out->table = tabella_document_table_();
  out->source = self;
  return TABELLA_OK;
}

#ifdef __cplusplus
}
#endif

#endif /* TABELLA_DOCUMENT_H */
