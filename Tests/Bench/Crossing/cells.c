/* A provider of eight integer columns whose batches cost nothing to create, so that only the crossing and views are
 * measured. `cells:N` has N rows. */
#include <stdlib.h>
#include <string.h>

#include "tabella.h"

enum { COLUMNS = 8, BATCH = 4096, USUAL_ROWS = 4 << 20 };

static int64_t values[COLUMNS][BATCH];

static void nothing(struct ArrowArray *array) { array->release = NULL; }

static void end_batch(struct ArrowArray *array) {
  free(array->private_data);
  array->release = NULL;
}

typedef struct {
  struct ArrowArray columns[COLUMNS];
  struct ArrowArray *children[COLUMNS];
  const void *buffers[COLUMNS][2];
  const void *none[1];
} laid_out;

static int32_t rows(void *source, const tabella_row_request *request, tabella_batch *out,
                    tabella_error *error) {
  int64_t count = request->count < BATCH ? request->count : BATCH;
  int64_t rows = *(int64_t *)source;
  /* The values repeat, and a batch ends where they start again. */
  int64_t start = request->first % BATCH;
  laid_out *laid;
  (void)error;
  if (request->section != 0 || request->first > rows) return TABELLA_NOT_FOUND;
  if (count > rows - request->first) count = rows - request->first;
  if (count > BATCH - start) count = BATCH - start;
  laid = calloc(1, sizeof *laid);
  for (int64_t i = 0; i < request->column_count && i < COLUMNS; i++) {
    laid->buffers[i][1] = values[request->columns[i]] + start;
    laid->children[i] = &laid->columns[i];
    laid->columns[i].length = count;
    laid->columns[i].n_buffers = 2;
    laid->columns[i].buffers = laid->buffers[i];
    laid->columns[i].release = nothing;
  }
  out->array.length = count;
  out->array.n_buffers = 1;
  out->array.buffers = laid->none;
  out->array.n_children = request->column_count;
  out->array.children = laid->children;
  out->array.private_data = laid;
  out->array.release = end_batch;
  return TABELLA_OK;
}

static void release_source(void *source) { free(source); }

static uint64_t flags(void *source) {
  (void)source;
  return 0;
}

static int32_t version(void *source, tabella_string *out, tabella_error *error) {
  (void)source;
  (void)error;
  out->bytes = "1";
  out->length = 1;
  return TABELLA_OK;
}

static void end_schema(struct ArrowSchema *schema) { schema->release = NULL; }

static int32_t schema(void *source, struct ArrowSchema *out, tabella_error *error) {
  static struct ArrowSchema fields[COLUMNS];
  static struct ArrowSchema *children[COLUMNS];
  static const char *names[COLUMNS] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  (void)source;
  (void)error;
  for (int i = 0; i < COLUMNS; i++) {
    fields[i].format = "l";
    fields[i].name = names[i];
    fields[i].release = end_schema;
    children[i] = &fields[i];
  }
  out->format = "+s";
  out->n_children = COLUMNS;
  out->children = children;
  out->release = end_schema;
  return TABELLA_OK;
}

static int32_t row_count(void *source, int64_t section, int64_t at_least, tabella_count *out,
                         tabella_error *error) {
  (void)at_least;
  (void)error;
  if (section != 0) return TABELLA_NOT_FOUND;
  out->value = *(int64_t *)source;
  out->exact = 1;
  return TABELLA_OK;
}

static const tabella_source_table table = {
    release_source, NULL, NULL, flags, version, schema, row_count, rows,
};

static int32_t open_cells(void *provider, const tabella_open_request *request,
                          tabella_source *out, tabella_error *error) {
  int64_t *rows = malloc(sizeof *rows);
  (void)provider;
  (void)error;
  *rows = 0;
  for (int64_t i = 0; i < request->location.length; i++)
    *rows = *rows * 10 + (request->location.bytes[i] - '0');
  if (*rows == 0) *rows = USUAL_ROWS;
  out->table = &table;
  out->source = rows;
  return TABELLA_OK;
}

int32_t tabella_provider_entry(tabella_entry *entry) {
  entry->provider_contract = TABELLA_CONTRACT_VERSION;
  if (!TABELLA_CONTRACT_ACCEPTS(entry->contract_version)) return TABELLA_NOT_SUPPORTED;
  for (int column = 0; column < COLUMNS; column++)
    for (int row = 0; row < BATCH; row++) values[column][row] = row * 8 + column;
  entry->provider.id = (tabella_string){"cells", 5};
  entry->provider.version = (tabella_string){"1", 1};
  entry->provider.open = open_cells;
  return TABELLA_OK;
}
