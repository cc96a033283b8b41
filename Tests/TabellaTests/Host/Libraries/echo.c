/*
 * A provider in C that repeats its location in all its texts: names of columns, cells, titles, index, elements,
 * diagnostics, and in the error that ends its rows.
 */
#include "tabella_batch.h"

enum { ROWS = 4, MOST = 256 };

static char said[MOST];
static tabella_column columns[2] = {{said, TABELLA_TYPE_TEXT, NULL}, {said, TABELLA_TYPE_TEXT, NULL}};
static int remarks;

static tabella_string echo(void) { return tabella_cstring(said); }

static void release(void *source) { (void)source; }

static uint64_t flags(void *source) {
  (void)source;
  return 0;
}

static int32_t version(void *source, tabella_string *out, tabella_error *error) {
  (void)source, (void)out, (void)error;
  return TABELLA_OK;
}

static int32_t schema(void *source, struct ArrowSchema *out, tabella_error *error) {
  (void)source;
  return tabella_schema_make(columns, 2, out, error);
}

static int32_t row_count(void *source, int64_t section, int64_t at_least, tabella_count *out,
                         tabella_error *error) {
  (void)source, (void)at_least;
  if (section < 0 || section > 1) return tabella_fail(error, TABELLA_NOT_FOUND, "%s", said);
  out->value = ROWS;
  out->exact = 1;
  return TABELLA_OK;
}

/* The second section fails at its first row. */
static int32_t rows(void *source, const tabella_row_request *request, tabella_batch *out,
                    tabella_error *error) {
  tabella_batch_builder *batch;
  int64_t row, column;
  (void)source;
  if (request->section != 0) return tabella_fail(error, TABELLA_IO, "%s", said);
  if (request->first > ROWS) return tabella_fail(error, TABELLA_NOT_FOUND, "%s", said);
  batch = tabella_batch_for(request, columns);
  for (row = request->first; row < ROWS && row - request->first < request->count; row++)
    for (column = 0; column < request->column_count; column++)
      tabella_batch_cstring(batch, column, said);
  return tabella_batch_finish_rows(batch, row - request->first, out, error);
}

static int32_t section_count(void *source, int64_t at_least, tabella_count *out,
                             tabella_error *error) {
  (void)source, (void)at_least, (void)error;
  out->value = 2;
  out->exact = 1;
  return TABELLA_OK;
}

static int32_t title(void *source, int64_t section, int32_t which, tabella_string *out,
                     tabella_error *error) {
  (void)source, (void)which;
  if (section < 0 || section > 1) return tabella_fail(error, TABELLA_NOT_FOUND, "%s", said);
  *out = echo();
  return TABELLA_OK;
}

static int32_t index_titles(void *source, const tabella_string **out, int64_t *count,
                            tabella_error *error) {
  static tabella_string list[1];
  (void)source, (void)error;
  list[0] = echo();
  *out = list;
  *count = 1;
  return TABELLA_OK;
}

static int32_t index_path(void *source, int64_t number, tabella_index_path *out,
                          tabella_error *error) {
  (void)source;
  if (number != 0) return tabella_fail(error, TABELLA_NOT_FOUND, "%s", said);
  out->section = 0;
  out->row = -1;
  return TABELLA_OK;
}

static int32_t kinds(void *source, const tabella_string **out, int64_t *count, tabella_error *error) {
  static tabella_string list[4];
  (void)source, (void)error;
  list[0] = tabella_cstring("badge");
  list[1] = tabella_cstring("footer");
  list[2] = tabella_cstring("header");
  list[3] = echo();
  *out = list;
  *count = 4;
  return TABELLA_OK;
}

/* The titles of the first section are elements. */
static int32_t element(void *source, tabella_string kind, tabella_index_path path,
                       tabella_element *out, tabella_error *error) {
  static tabella_text_span span = {0, 1, TABELLA_STYLE_STRONG, 0};
  int is_row = path.row >= 0 && path.row < ROWS;
  (void)source, (void)error;
  if (path.section != 0) return TABELLA_OK;
  if (is_row == (tabella_string_equals(kind, "header") || tabella_string_equals(kind, "footer")))
    return TABELLA_OK;
  out->form = TABELLA_ELEMENT_TEXT;
  out->text = echo();
  if (said[0] != 0) out->spans = &span, out->span_count = 1;
  return TABELLA_OK;
}

static int32_t leads_to(void *source, tabella_index_path path, tabella_string *out,
                        tabella_error *error) {
  (void)source, (void)error;
  if (path.row >= 0) *out = echo();
  return TABELLA_OK;
}

static int32_t next(void *source, tabella_diagnostic *out) {
  (void)source;
  out->severity = TABELLA_SEVERITY_WARNING;
  out->message = echo();
  return remarks-- > 0;
}

static const tabella_sections sections = {section_count, title};
static const tabella_section_index section_index = {index_titles, index_path};
static const tabella_supplementary supplementary = {kinds, element};
static const tabella_accessories accessories = {leads_to};
static const tabella_diagnostics diagnostics = {next};

static const void *ability(void *source, tabella_string id) {
  (void)source;
  if (tabella_string_equals(id, TABELLA_SECTIONS_ID)) return &sections;
  if (tabella_string_equals(id, TABELLA_SECTION_INDEX_ID)) return &section_index;
  if (tabella_string_equals(id, TABELLA_SUPPLEMENTARY_ID)) return &supplementary;
  if (tabella_string_equals(id, TABELLA_ACCESSORIES_ID)) return &accessories;
  if (tabella_string_equals(id, TABELLA_DIAGNOSTICS_ID)) return &diagnostics;
  return NULL;
}

static const tabella_source_table table = {release, NULL,   ability,   flags,
                                           version, schema, row_count, rows};

static int32_t open_location(void *provider, const tabella_open_request *request,
                             tabella_source *out, tabella_error *error) {
  (void)provider, (void)error;
  snprintf(said, sizeof said, "%.*s", (int)request->location.length, request->location.bytes);
  remarks = 2;
  out->table = &table;
  out->source = said;
  return TABELLA_OK;
}

int32_t tabella_provider_entry(tabella_entry *entry) {
  entry->provider_contract = TABELLA_CONTRACT_VERSION;
  if (!TABELLA_CONTRACT_ACCEPTS(entry->contract_version)) return TABELLA_NOT_SUPPORTED;
  entry->provider.id = tabella_cstring("echo");
  entry->provider.version = tabella_cstring("1");
  entry->provider.open = open_location;
  return TABELLA_OK;
}
