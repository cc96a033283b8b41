/*
 * A provider in C whose table has other columns after an edit, but whose next schema fails: "LOCATION" is the number of
 * columns after the edit. At first there are three.
 */
#include "tabella_batch.h"

typedef struct source {
  int64_t columns, columns_after;
  int edits, fails;
  char version[24], before[24];
  tabella_edit_outcome outcome;
} source;

static const tabella_column columns[] = {{"a", TABELLA_TYPE_TEXT, NULL},
                                         {"b", TABELLA_TYPE_TEXT, NULL},
                                         {"c", TABELLA_TYPE_TEXT, NULL}};

static void release(void *self) { free(self); }

static uint64_t flags(void *self) {
  (void)self;
  return 0;
}

static int32_t version(void *self, tabella_string *out, tabella_error *error) {
  source *source = self;
  (void)error;
  snprintf(source->version, sizeof source->version, "v%d", source->edits);
  *out = tabella_cstring(source->version);
  return TABELLA_OK;
}

static int32_t schema(void *self, struct ArrowSchema *out, tabella_error *error) {
  source *source = self;
  if (source->fails) {
    source->fails = 0;
    return tabella_fail(error, TABELLA_IO, "the columns cannot be read now");
  }
  return tabella_schema_make(columns, source->columns, out, error);
}

static int32_t row_count(void *self, int64_t section, int64_t at_least, tabella_count *out,
                         tabella_error *error) {
  (void)self, (void)at_least;
  if (section != 0) return tabella_fail(error, TABELLA_NOT_FOUND, "there is no such section");
  out->value = 1;
  out->exact = 1;
  return TABELLA_OK;
}

static int32_t rows(void *self, const tabella_row_request *request, tabella_batch *out,
                    tabella_error *error) {
  source *source = self;
  int64_t i, count = request->first == 0;
  tabella_batch_builder *batch;
  int32_t code = tabella_rows_check(request, source->columns, 0, error);
  if (code != TABELLA_OK) return code;
  if (request->section != 0 || request->first > 1)
    return tabella_fail(error, TABELLA_NOT_FOUND, "there is no such row");
  batch = tabella_batch_for(request, columns);
  for (i = 0; i < request->column_count && count > 0; i++) tabella_batch_cstring(batch, i, "x");
  return tabella_batch_finish_rows(batch, count, out, error);
}

static int32_t editable(void *self, int64_t section, int64_t first, int64_t count, uint8_t *out,
                        tabella_error *error) {
  (void)self, (void)section, (void)first, (void)error;
  memset(out, TABELLA_ROW_EDITABLE, (size_t)count);
  return TABELLA_OK;
}

static int32_t commit(void *self, const tabella_edit_batch *batch, tabella_edit_result *out,
                      tabella_error *error) {
  source *source = self;
  (void)error;
  memset(&source->outcome, 0, sizeof source->outcome);
  snprintf(source->before, sizeof source->before, "v%d", source->edits);
  if (!(batch->flags & TABELLA_EDITS_DRY_RUN)) {
    source->edits++;
    source->columns = source->columns_after;
    source->fails = 1;
    out->changes.flags = TABELLA_CHANGES_RELOAD;
  }
  snprintf(source->version, sizeof source->version, "v%d", source->edits);
  out->outcomes = &source->outcome;
  out->outcome_count = 1;
  out->changes.from_version = tabella_cstring(source->before);
  out->changes.to_version = tabella_cstring(source->version);
  return TABELLA_OK;
}

static const tabella_editing editing = {editable, NULL, commit};

static const void *ability(void *self, tabella_string id) {
  (void)self;
  return tabella_string_equals(id, TABELLA_EDITING_ID) ? &editing : NULL;
}

static const tabella_source_table table = {release, NULL, ability, flags,
                                           version, schema, row_count, rows};

static int32_t open_location(void *provider, const tabella_open_request *request,
                             tabella_source *out, tabella_error *error) {
  source *made = calloc(1, sizeof *made);
  (void)provider;
  if (made == NULL) return tabella_fail(error, TABELLA_IO, "no memory");
  made->columns = 3;
  made->columns_after = request->location.bytes[0] - '0';
  out->table = &table;
  out->source = made;
  return TABELLA_OK;
}

int32_t tabella_provider_entry(tabella_entry *entry) {
  entry->provider_contract = TABELLA_CONTRACT_VERSION;
  if (!TABELLA_CONTRACT_ACCEPTS(entry->contract_version)) return TABELLA_NOT_SUPPORTED;
  entry->provider.id = tabella_cstring("columns");
  entry->provider.version = tabella_cstring("1.0");
  entry->provider.open = open_location;
  return TABELLA_OK;
}
