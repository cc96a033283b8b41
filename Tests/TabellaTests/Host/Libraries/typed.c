/* A document with a column of each type: each line has five fields with tabs between them. An empty field is missing. */
#include "tabella_document.h"

enum { COLUMNS = 5 };

static const tabella_column columns[] = {{"name", TABELLA_TYPE_TEXT, NULL},
                                         {"count", TABELLA_TYPE_INTEGER, NULL},
                                         {"height", TABELLA_TYPE_REAL, NULL},
                                         {"alive", TABELLA_TYPE_BOOLEAN, NULL},
                                         {"born", TABELLA_TYPE_DATE, NULL}};

static void read_rows(tabella_document *document) {
  const tabella_string none = {NULL, 0};
  const char *at, *next;
  tabella_document_add_section(document, document->bytes, document->bytes, none);
  for (at = document->bytes; at < document->end; at = next) {
    next = tabella_line_end(at, document->end);
    /* A row that is one byte too long. */
    tabella_document_add_row(document, at, *at == '!' ? next + 1 : next);
  }
}

/* The bytes of a field, without the line end; absent if the line has no such field. */
static tabella_string field(tabella_document_row row, int64_t column) {
  tabella_string text = {NULL, 0};
  const char *at = row.start, *end = row.end, *tab;
  while (end > at && (end[-1] == '\n' || end[-1] == '\r')) end--;
  for (; at <= end; at = tab + 1, column--) {
    tab = at < end ? memchr(at, '\t', (size_t)(end - at)) : NULL;
    if (tab == NULL) tab = end;
    text.bytes = at;
    text.length = tab - at;
    if (column == 0) return text;
  }
  text.bytes = NULL;
  return text;
}

static int cell(tabella_document_row row, int64_t column, tabella_buffer *out) {
  const tabella_string text = field(row, column);
  if (text.bytes != NULL && tabella_string_equals(text, "lies")) {
    tabella_buffer_text(out, "lies");
    return 1;
  }
  return text.bytes != NULL && text.length > 0 && tabella_cell_read(columns[column].type, text, out);
}

static void put_row(const tabella_document *document, const tabella_document_row *old,
                    const tabella_document_row *model, const tabella_plan *plan, int64_t edit, tabella_buffer *out) {
  int64_t column;
  (void)model;
  for (column = 0; column < COLUMNS; column++) {
    const tabella_value *value = tabella_plan_value(plan, edit, column);
    const tabella_string none = {NULL, 0}, was = old != NULL ? field(*old, column) : none;
    if (column > 0) tabella_buffer_text(out, "\t");
    if (value != NULL) tabella_cell_write(value, out);
    else if (was.bytes != NULL) tabella_buffer_string(out, was);
  }
  tabella_buffer_text(out, document->newline);
}

static const tabella_document_format format = {columns, COLUMNS, 1 << 20, read_rows, cell, put_row, NULL};

static int32_t open_file(void *provider, const tabella_open_request *request, tabella_source *out,
                         tabella_error *error) {
  (void)provider;
  return tabella_document_open(&format, request->location, out, error);
}

int32_t tabella_provider_entry(tabella_entry *entry) {
  entry->provider_contract = TABELLA_CONTRACT_VERSION;
  if (!TABELLA_CONTRACT_ACCEPTS(entry->contract_version)) return TABELLA_NOT_SUPPORTED;
  entry->provider.id = tabella_cstring("typed");
  entry->provider.version = tabella_cstring("1");
  entry->provider.open = open_file;
  return TABELLA_OK;
}
