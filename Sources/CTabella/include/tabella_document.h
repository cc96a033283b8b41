/*
 * tabella_document.h: a provider in C for a format of small text files: INI files, lists, logs, notes.
 * Header only; needs only libc, on Linux. Include it before the headers of libc (tabella_save.h says why).
 *
 * An author writes four functions: they find the rows of a file, read a cell, and write a row and the header of a
 * section. This header makes an editable source of them. Rows and sections can be inserted, set, deleted and moved,
 * with dry runs, undo, ids and versions. Every byte that no edit names stays as it is. Before a save, the new file is
 * read again: if a cell would not be the one that the edit names, the edit is refused.
 *
 * All cells are text. An id is a digest of the row with its section's title, a version a digest of the file.
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
  const tabella_column *columns; /* All of TABELLA_TYPE_TEXT. */
  int64_t column_count;
  size_t limit; /* The maximum size of a file in bytes. */

  /* Finds sections and rows between document->bytes and document->end, and reports them in order with
   * tabella_document_add_section and tabella_document_add_row. */
  void (*read)(tabella_document *document);

  /* Appends a cell of a row to `out`. Returns 1, or 0 if the cell is missing. */
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

/* For `read`: adds a row to the last section. */
TABELLA_HELPER void tabella_document_add_row(tabella_document *document, const char *start,
                                             const char *end);

/* Opens a file as an editable source: the whole of a provider's `open`. `format` lives as long as the library. */
TABELLA_HELPER int32_t tabella_document_open(const tabella_document_format *format,
                                             tabella_string path, tabella_source *out,
                                             tabella_error *error);

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

/* Whether a row that was read again has the cells that the batch gives it. */
TABELLA_HELPER int tabella_document_row_is_(const tabella_document_source_ *source,
                                            const tabella_document *now, const tabella_plan *plan,
                                            tabella_planned_row planned, int64_t row) {
  const tabella_document *old = &source->document;
  int64_t column;
  int is_same = 1;
  for (column = 0; is_same && column < source->format->column_count; column++) {
    const tabella_value *value = tabella_plan_value(plan, planned.edit, column);
    tabella_buffer text = {NULL, 0, 0, 0}, was = {NULL, 0, 0, 0};
    tabella_string expected = {NULL, 0};
    if (value != NULL) {
      if (value->type != 0) expected = value->bytes;
      if (value->type != 0 && expected.bytes == NULL) expected.bytes = "";
    } else if (planned.from.row >= 0) {
      int64_t number = old->sections[planned.from.section].first + planned.from.row;
      int is_present = source->format->cell(old->rows[number], column, &was);
      expected.bytes = is_present ? (was.bytes != NULL ? was.bytes : "") : NULL;
      expected.length = (int64_t)was.size;
    }
    is_same = tabella_document_is_(&text, source->format->cell(now->rows[row], column, &text), expected) &&
              !text.failed && !was.failed;
    tabella_buffer_free(&text);
    tabella_buffer_free(&was);
  }
  return is_same;
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
    for (r = 0; r < rows; r++)
      if (r >= now->sections[s].count ||
          !tabella_document_row_is_(source, now, plan, tabella_plan_row(plan, s, r), now->sections[s].first + r))
        return tabella_fail(error, TABELLA_CONSTRAINT,
                            "row %lld:%lld cannot be written so: it would be read differently", (long long)s,
                            (long long)r);
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
        tabella_batch_text(batch, i, text.bytes, text.size);
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
  if (code == TABELLA_OK && !is_dry) code = tabella_file_receipt(&self->file, content, &receipt, error);
  if (code == TABELLA_OK) {
    tabella_result_begin(out, plan != NULL ? plan->batch->edit_count : 1);
    tabella_result_changes(out, plan, self->file.digest.text, is_dry ? self->file.digest.text : version.text);
    tabella_result_receipt(out, receipt.bytes, receipt.size);
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
