/* A provider in C: INI files. Each [header] begins a section, and each key is a row with its value and its comment.
 * README.md describes the format. tabella_document.h does everything that is not about INI files. */
#include "tabella_document.h"

enum { KEY, VALUE, COMMENT };

static const tabella_column columns[] = {
    {"key", TABELLA_TYPE_TEXT, NULL}, {"value", TABELLA_TYPE_TEXT, NULL}, {"comment", TABELLA_TYPE_TEXT, NULL}};

static int is_comment(tabella_string text) {
  return text.length > 0 && (*text.bytes == ';' || *text.bytes == '#');
}

/* Whether the value goes on in the next line. */
static int has_backslash(tabella_string text) { return text.length > 0 && text.bytes[text.length - 1] == '\\'; }

/* The parts of a row: comment lines, and then the key and the value, which can have more lines. */
typedef struct parts {
  const char *line; /* The line of the key. */
  tabella_string key;
  tabella_string value; /* In this line; absent if there is no "=". */
} parts;

static parts split(tabella_document_row row) {
  parts parts = {row.start, {NULL, 0}, {NULL, 0}};
  tabella_string text;
  const char *end, *equals;
  for (;; parts.line = end) {
    end = tabella_line_end(parts.line, row.end);
    text = tabella_trimmed(parts.line, end);
    if (!is_comment(text) || end == row.end) break;
  }
  equals = memchr(text.bytes, '=', (size_t)text.length);
  parts.key = tabella_trimmed(text.bytes, equals != NULL ? equals : text.bytes + text.length);
  if (equals != NULL) parts.value = tabella_trimmed(equals + 1, text.bytes + text.length);
  return parts;
}

/* Finds sections and rows. A row has the comment lines directly above it. Its value goes on in lines that are
 * indented deeper, and after a backslash. */
static void read_rows(tabella_document *document) {
  const tabella_string none = {NULL, 0};
  const char *at = document->bytes, *next, *comment = NULL, *start = NULL, *close;
  int64_t indent = 0;
  int has_value = 0, goes_on = 0;
  if (document->end - at >= 3 && memcmp(at, "\xEF\xBB\xBF", 3) == 0) at += 3;
  for (; at < document->end; at = next) {
    tabella_string text = tabella_trimmed(at, next = tabella_line_end(at, document->end));
    if (start != NULL && (goes_on || (has_value && text.length > 0 && text.bytes - at > indent))) {
      goes_on = has_backslash(text);
      continue;
    }
    if (start != NULL) tabella_document_add_row(document, start, at);
    start = NULL;
    if (text.length == 0) {
      comment = NULL;
    } else if (is_comment(text)) {
      if (comment == NULL) comment = at;
    } else if (*text.bytes == '[' && (close = memchr(text.bytes, ']', (size_t)text.length)) != NULL) {
      const tabella_string title = {text.bytes + 1, close - text.bytes - 1};
      tabella_document_add_section(document, comment != NULL ? comment : at, next, title);
      comment = NULL;
    } else {
      start = comment != NULL ? comment : at;
      if (document->section_count == 0) tabella_document_add_section(document, start, start, none);
      indent = text.bytes - at;
      has_value = memchr(text.bytes, '=', (size_t)text.length) != NULL;
      goes_on = has_value && has_backslash(text);
      comment = NULL;
    }
  }
  if (start != NULL) tabella_document_add_row(document, start, document->end);
}

/* The text of a cell. Lines of a value and of a comment are joined by line feeds, without indentation and marks. */
static int cell(tabella_document_row row, int64_t column, tabella_buffer *out) {
  const parts parts = split(row);
  const char *at = column == VALUE ? parts.value.bytes : row.start, *next;
  const char *end = column == VALUE ? row.end : parts.line;
  if (column == KEY) tabella_buffer_string(out, parts.key);
  if (column == KEY) return 1;
  if (at == NULL || (column == COMMENT && at == end)) return 0;
  for (; at != NULL; at = next < end ? next : NULL) {
    const int is_first = at == row.start || at == parts.value.bytes;
    tabella_string text = tabella_trimmed(at, next = tabella_line_end(at, end));
    if (column == VALUE && !is_first && is_comment(text)) continue;
    if (column == COMMENT) text = tabella_trimmed(text.bytes + 1, text.bytes + text.length);
    if (column == VALUE && next < end && has_backslash(text))
      text = tabella_trimmed(text.bytes, text.bytes + text.length - 1);
    if (!is_first) tabella_buffer_text(out, "\n");
    tabella_buffer_string(out, text);
  }
  return 1;
}

/* Appends text. Its further lines begin with an indentation and a mark. */
static void put_lines(const tabella_document *document, tabella_string text, tabella_string indent, const char *mark,
                      tabella_buffer *out) {
  int64_t i;
  for (i = 0; i < text.length; i++) {
    if (text.bytes[i] != '\n') {
      tabella_buffer_put(out, text.bytes + i, 1);
      continue;
    }
    tabella_buffer_text(out, document->newline);
    tabella_buffer_string(out, indent);
    tabella_buffer_text(out, mark);
  }
}

/* Writes a row as its old lines or another row of the section are written. */
static void put_row(const tabella_document *document, const tabella_document_row *old,
                    const tabella_document_row *model, const tabella_plan *plan, int64_t edit, tabella_buffer *out) {
  const tabella_value *key = tabella_plan_value(plan, edit, KEY), *value = tabella_plan_value(plan, edit, VALUE);
  const tabella_value *comment = tabella_plan_value(plan, edit, COMMENT);
  const parts none = {NULL, {NULL, 0}, {NULL, 0}}, was = old != NULL ? split(*old) : none;
  const parts like = old != NULL ? was : model != NULL ? split(*model) : none;
  const char *separator = like.key.bytes + like.key.length;
  const tabella_string indent = {like.line, like.key.bytes - like.line};
  if (comment != NULL && comment->type != 0) {
    tabella_buffer_string(out, indent);
    tabella_buffer_text(out, "; ");
    put_lines(document, comment->bytes, indent, "; ", out);
    tabella_buffer_text(out, document->newline);
  } else if (comment == NULL && old != NULL) {
    tabella_buffer_put(out, old->start, (size_t)(was.line - old->start));
  }
  tabella_buffer_string(out, indent);
  tabella_buffer_string(out, key != NULL ? key->bytes : was.key);
  if (value != NULL ? value->type != 0 : was.value.bytes != NULL) {
    if (like.value.bytes == NULL) tabella_buffer_text(out, " = ");
    else tabella_buffer_put(out, separator, (size_t)(like.value.bytes - separator));
    if (like.value.bytes != NULL && like.value.length == 0 && *separator == ' ') tabella_buffer_text(out, " ");
    if (value == NULL) tabella_buffer_put(out, was.value.bytes, (size_t)(old->end - was.value.bytes));
    else put_lines(document, value->bytes, indent, "    ", out);
    if (value == NULL) return;
  }
  if (old == NULL || old->end[-1] == '\n') tabella_buffer_text(out, document->newline);
}

static void put_header(const tabella_document *document, const tabella_value *title, tabella_buffer *out) {
  if (title == NULL || title->type == 0) return;
  tabella_buffer_text(out, "[");
  tabella_buffer_string(out, title->bytes);
  tabella_buffer_text(out, "]");
  tabella_buffer_text(out, document->newline);
}

static const tabella_document_format format = {columns, 3, (size_t)16 << 20, read_rows, cell, put_row, put_header};

static int32_t open_file(void *provider, const tabella_open_request *request, tabella_source *out,
                         tabella_error *error) {
  (void)provider;
  return tabella_document_open(&format, request->location, out, error);
}

int32_t tabella_provider_entry(tabella_entry *entry) {
  entry->provider_contract = TABELLA_CONTRACT_VERSION;
  if (!TABELLA_CONTRACT_ACCEPTS(entry->contract_version)) return TABELLA_NOT_SUPPORTED;
  entry->provider.id = tabella_cstring("ini");
  entry->provider.version = tabella_cstring("1.0");
  entry->provider.open = open_file;
  return TABELLA_OK;
}
