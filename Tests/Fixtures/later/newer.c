/* A provider of contract 1.3: it offers what an older host does not know, and works without it. */
#include "newer.h"

static const char *const names[] = {"one", "two", "three"};
enum { NAMES = sizeof names / sizeof *names };

static uint32_t host_version;

static void release(void *source) { free(source); }

static int32_t find(void *source, tabella_string text, tabella_index_path *out, tabella_error *error) {
  (void)source, (void)text, (void)out;
  return tabella_fail(error, TABELLA_NOT_FOUND, "nothing is found");
}

static const tabella_searching searching = {find};

static int32_t kinds(void *source, const tabella_string **out, int64_t *count, tabella_error *error) {
  static tabella_string list[2];
  (void)source, (void)error;
  list[0] = tabella_cstring("hologram");
  list[1] = tabella_cstring("badge");
  *out = list;
  *count = 2;
  return TABELLA_OK;
}

static int32_t element(void *source, tabella_string kind, tabella_index_path path,
                       tabella_element *out, tabella_error *error) {
  (void)source, (void)path, (void)error;
  if (!tabella_string_equals(kind, "badge")) return TABELLA_OK;
  out->form = TABELLA_ELEMENT_TEXT;
  out->text = tabella_cstring("new");
  return TABELLA_OK;
}

static const tabella_supplementary supplementary = {kinds, element};

static const void *ability(void *source, tabella_string id) {
  (void)source;
  if (tabella_string_equals(id, TABELLA_SEARCHING_ID)) return &searching;
  if (tabella_string_equals(id, TABELLA_SUPPLEMENTARY_ID)) return &supplementary;
  return NULL;
}

static uint64_t flags(void *source) {
  (void)source;
  return TABELLA_SOURCE_SEARCHABLE;
}

static int32_t version(void *source, tabella_string *out, tabella_error *error) {
  (void)source, (void)error;
  *out = tabella_cstring("1");
  return TABELLA_OK;
}

static const tabella_column columns[] = {{"name", TABELLA_TYPE_TEXT, NULL},
                                         {"host", TABELLA_TYPE_INTEGER, NULL}};

static int32_t schema(void *source, struct ArrowSchema *out, tabella_error *error) {
  (void)source;
  return tabella_schema_make(columns, 2, out, error);
}

static int32_t row_count(void *source, int64_t section, int64_t at_least, tabella_count *out,
                         tabella_error *error) {
  (void)source, (void)at_least;
  if (section != 0) return tabella_fail(error, TABELLA_NOT_FOUND, "there is one section");
  out->value = NAMES;
  out->exact = 1;
  return TABELLA_OK;
}

static int32_t rows(void *source, const tabella_row_request *request, tabella_batch *out,
                    tabella_error *error) {
  int64_t row, column;
  int32_t code = tabella_rows_check(request, 2, 0, error);
  tabella_batch_builder *batch;
  (void)source;
  if (code != TABELLA_OK) return code;
  if (request->section != 0 || request->first > NAMES)
    return tabella_fail(error, TABELLA_NOT_FOUND, "there are %d rows", NAMES);
  batch = tabella_batch_for(request, columns);
  for (row = request->first; row < NAMES && row - request->first < request->count; row++)
    for (column = 0; column < request->column_count; column++) {
      if (request->columns[column] == 0) tabella_batch_cstring(batch, column, names[row]);
      else tabella_batch_integer(batch, column, host_version);
    }
  return tabella_batch_finish_rows(batch, row - request->first, out, error);
}

static const tabella_source_table table = {release, NULL, ability, flags, version,
                                           schema, row_count, rows};

static int32_t open_location(void *provider, const tabella_open_request *request,
                             tabella_source *out, tabella_error *error) {
  (void)provider, (void)request;
  out->source = malloc(1);
  if (out->source == NULL) return tabella_fail(error, TABELLA_IO, "no memory");
  out->table = &table;
  return TABELLA_OK;
}

int32_t tabella_provider_entry(tabella_entry *entry) {
  entry->provider_contract = TABELLA_CONTRACT_VERSION;
  if (!TABELLA_CONTRACT_ACCEPTS(entry->contract_version)) return TABELLA_NOT_SUPPORTED;
#ifdef NEEDS_NEWER_HOST
  if (entry->contract_version < TABELLA_CONTRACT_VERSION) {
#ifdef SAYS_WHY
    return tabella_fail(&entry->error, TABELLA_NOT_SUPPORTED, "needs tabella.searching/1");
#else
    return TABELLA_NOT_SUPPORTED;
#endif
  }
#endif
  host_version = entry->contract_version;
  entry->provider.id = tabella_cstring("newer");
  entry->provider.version = tabella_cstring("1");
  entry->provider.open = open_location;
  return TABELLA_OK;
}
