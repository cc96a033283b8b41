/* A provider in C with one table of every type, with missing values, made with tabella_batch.h. "batches:mistyped"
 * and "batches:ragged" make the mistakes that the helpers must report. */
#include "tabella_batch.h"

enum { ROWS = 20 };

static const tabella_column columns[] = {
    {"text", TABELLA_TYPE_TEXT, NULL},       {"integer", TABELLA_TYPE_INTEGER, "bytes"},
    {"real", TABELLA_TYPE_REAL, "percent"},  {"boolean", TABELLA_TYPE_BOOLEAN, NULL},
    {"date", TABELLA_TYPE_DATE, NULL},       {"binary", TABELLA_TYPE_BINARY, NULL},
    {"always missing", TABELLA_TYPE_TEXT, NULL}, {"empty", TABELLA_TYPE_TEXT, NULL},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static char mistake[32];

static void release(void *source) { (void)source; }

static uint64_t flags(void *source) {
  (void)source;
  return TABELLA_SOURCE_VOLATILE_ORDER;
}

static int32_t version(void *source, tabella_string *out, tabella_error *error) {
  (void)source, (void)out, (void)error;
  return TABELLA_OK;
}

static int32_t schema(void *source, struct ArrowSchema *out, tabella_error *error) {
  (void)source;
  return tabella_schema_make(columns, COLUMNS, out, error);
}

static int32_t row_count(void *source, int64_t section, int64_t at_least, tabella_count *out,
                         tabella_error *error) {
  (void)source, (void)at_least;
  if (section != 0) return tabella_fail(error, TABELLA_NOT_FOUND, "there is no section");
  out->value = ROWS;
  out->exact = 1;
  return TABELLA_OK;
}

static void add(tabella_batch_builder *batch, int64_t at, int64_t column, int64_t row) {
  char text[32];
  int length = snprintf(text, sizeof text, "row %lld", (long long)row);
  if ((row + column) % 5 == 0) {
    tabella_batch_missing(batch, at);
    return;
  }
  switch (column) {
    case 0: tabella_batch_text(batch, at, text, (size_t)length); break;
    case 1: tabella_batch_integer(batch, at, INT64_MIN + row); break;
    case 2: tabella_batch_real(batch, at, (double)row / 4); break;
    case 3: tabella_batch_boolean(batch, at, row % 2 == 0); break;
    case 4: tabella_batch_date(batch, at, row * INT64_C(1000000000)); break;
    case 5: tabella_batch_binary(batch, at, "\0\xff", (size_t)(row % 3)); break;
    case 6: tabella_batch_missing(batch, at); break;
    default: tabella_batch_cstring(batch, at, ""); break;
  }
}

static int32_t rows(void *source, const tabella_row_request *request, tabella_batch *out,
                    tabella_error *error) {
  int64_t row, i;
  int32_t code;
  tabella_batch_builder *batch;
  (void)source;
  if (request->section != 0) return tabella_fail(error, TABELLA_NOT_FOUND, "there is no section");
  if (request->first > ROWS)
    return tabella_fail(error, TABELLA_NOT_FOUND, "there is no row %lld",
                        (long long)request->first);
  if (request->flags & TABELLA_ROWS_IDS)
    return tabella_fail(error, TABELLA_NOT_SUPPORTED, "rows have no ids");
  batch = tabella_batch_for(request, columns);
  if (strcmp(mistake, "id-forgotten") == 0) {
    const int32_t types[] = {TABELLA_TYPE_TEXT, TABELLA_TYPE_INTEGER};
    tabella_batch_discard(batch);
    batch = tabella_batch_new(types, 2, 1);
  }
  for (row = request->first; row < ROWS && row - request->first < request->count; row++)
    for (i = 0; i < request->column_count; i++) add(batch, i, request->columns[i], row);
  if (strcmp(mistake, "mistyped") == 0) tabella_batch_real(batch, 0, 1.5);
  if (strcmp(mistake, "ragged") == 0) tabella_batch_missing(batch, 0);
  if (strcmp(mistake, "no-such-column") == 0) tabella_batch_missing(batch, COLUMNS);
  if (strcmp(mistake, "id-unasked") == 0) tabella_batch_id(batch, "id");
  code = tabella_batch_finish_rows(batch, row - request->first, out, error);
  /* Arrow allows -1 for "not counted". */
  for (i = 0; code == TABELLA_OK && i < out->array.n_children; i++)
    if (strcmp(mistake, "uncounted") == 0) out->array.children[i]->null_count = -1;
  return code;
}

/* Lists one change of each kind. */
static int32_t pull(void *source, tabella_changes *out, tabella_error *error) {
  tabella_changes_builder changes = {0};
  (void)source;
  tabella_changes_insert(&changes, 0, 3);
  tabella_changes_delete(&changes, 0, 4);
  tabella_changes_move(&changes, 0, 5, 0, 6);
  tabella_changes_reload(&changes, 0, 7);
  tabella_changes_reconfigure(&changes, 0, 8);
  tabella_changes_insert(&changes, 1, -1);
  if (strcmp(mistake, "reload-all") == 0) tabella_changes_reload_all(&changes);
  if (strcmp(mistake, "no-versions") == 0)
    return tabella_changes_finish(&changes, NULL, NULL, out, error);
  return tabella_changes_finish(&changes, "old", "new", out, error);
}

static int32_t listen(void *source, tabella_notify notify, void *context, tabella_error *error) {
  (void)source, (void)error;
  if (notify != NULL) notify(context);
  return TABELLA_OK;
}

static const tabella_changes_table changes_table = {listen, pull};

static const void *ability(void *source, tabella_string id) {
  (void)source;
  if (strcmp(mistake, "") == 0 || strcmp(mistake, "uncounted") == 0) return NULL;
  return tabella_string_equals(id, TABELLA_CHANGES_ID) ? &changes_table : NULL;
}

static const tabella_source_table table = {release, NULL,   ability,   flags,
                                           version, schema, row_count, rows};

static int32_t open_location(void *provider, const tabella_open_request *request,
                             tabella_source *out, tabella_error *error) {
  (void)provider, (void)error;
  snprintf(mistake, sizeof mistake, "%.*s", (int)request->location.length,
           request->location.bytes);
  out->table = &table;
  out->source = mistake;
  return TABELLA_OK;
}

int32_t tabella_provider_entry(tabella_entry *entry) {
  entry->provider_contract = TABELLA_CONTRACT_VERSION;
  if (!TABELLA_CONTRACT_ACCEPTS(entry->contract_version)) return TABELLA_NOT_SUPPORTED;
  entry->provider.id = tabella_cstring("batches");
  entry->provider.version = tabella_cstring("1");
  entry->provider.open = open_location;
  return TABELLA_OK;
}
