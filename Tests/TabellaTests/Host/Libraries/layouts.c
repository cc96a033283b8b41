/* A provider in C whose batches are slices of one array. They begin at any cell, and missing text cells hide bytes
 * that are not UTF-8. "layouts:broken" has such text in row 60, and reading row 60 of "layouts:failing" fails. */
#include "tabella_batch.h"

enum { ROWS = 100, AHEAD = 5, CELLS = ROWS + AHEAD, MOST = 37 };

static const tabella_column columns[] = {
    {"text", TABELLA_TYPE_TEXT, NULL},       {"full", TABELLA_TYPE_TEXT, NULL},
    {"integer", TABELLA_TYPE_INTEGER, NULL}, {"real", TABELLA_TYPE_REAL, "seconds"},
    {"boolean", TABELLA_TYPE_BOOLEAN, NULL}, {"date", TABELLA_TYPE_DATE, NULL},
    {"binary", TABELLA_TYPE_BINARY, NULL},   {"full boolean", TABELLA_TYPE_BOOLEAN, NULL},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

typedef struct layout {
  uint8_t validity[CELLS / 8 + 1];
  int32_t offsets[CELLS + 1];
  uint8_t bytes[CELLS * 16];
  int64_t words[CELLS];
} layout;

static layout layouts[COLUMNS];
static char kind[32];

static int is_full(int64_t column) { return column == 1 || column == 7; }
static int is_missing(int64_t column, int cell) { return !is_full(column) && cell % 3 == column % 3; }

static void fill(int64_t column) {
  layout *layout = &layouts[column];
  int cell;
  memset(layout, 0, sizeof *layout);
  for (cell = 0; cell < CELLS; cell++) {
    char *place = (char *)layout->bytes + layout->offsets[cell];
    int length = 0;
    double real = cell / 8.0;
    if (!is_missing(column, cell)) layout->validity[cell / 8] |= (uint8_t)(1 << cell % 8);
    switch (columns[column].type) {
      case TABELLA_TYPE_TEXT:
        length = snprintf(place, 16, is_missing(column, cell) ? "\xC3" : "\xC3\xA9 %d", cell);
        if (column == 1 && cell == AHEAD + 60 && strcmp(kind, "broken") == 0) place[0] = 'x';
        break;
      case TABELLA_TYPE_BINARY: length = snprintf(place, 16, "\xFF%d", cell); break;
      case TABELLA_TYPE_BOOLEAN:
        if (cell % 7 < 3) layout->bytes[cell / 8] |= (uint8_t)(1 << cell % 8);
        break;
      case TABELLA_TYPE_REAL: memcpy(&layout->words[cell], &real, sizeof real); break;
      case TABELLA_TYPE_DATE: layout->words[cell] = cell * INT64_C(86400000000001); break;
      default: layout->words[cell] = INT64_MAX - cell;
    }
    layout->offsets[cell + 1] = layout->offsets[cell] + length;
  }
}

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

static void release_column(struct ArrowArray *array) {
  free((void *)array->buffers);
  array->release = NULL;
}

static void release_batch(struct ArrowArray *array) {
  int64_t i;
  for (i = 0; i < array->n_children; i++) {
    array->children[i]->release(array->children[i]);
    free(array->children[i]);
  }
  free(array->children);
  free((void *)array->buffers);
  array->release = NULL;
}

static int32_t rows(void *source, const tabella_row_request *request, tabella_batch *out,
                    tabella_error *error) {
  int64_t i, count = request->count < MOST ? request->count : MOST;
  (void)source;
  if (request->section != 0) return tabella_fail(error, TABELLA_NOT_FOUND, "there is no section");
  if (request->first > ROWS) return tabella_fail(error, TABELLA_NOT_FOUND, "there is no row");
  if (request->flags & TABELLA_ROWS_IDS)
    return tabella_fail(error, TABELLA_NOT_SUPPORTED, "rows have no ids");
  if (request->first + count > ROWS) count = ROWS - request->first;
  if (strcmp(kind, "failing") == 0 && request->first + count > 60) {
    if (request->first == 60) return tabella_fail(error, TABELLA_IO, "the disk is gone");
    count = 60 - request->first;
  }
  memset(out, 0, sizeof *out);
  out->array.length = count;
  out->array.n_buffers = 1;
  out->array.buffers = calloc(1, sizeof(void *));
  out->array.n_children = request->column_count;
  out->array.children = calloc((size_t)request->column_count + 1, sizeof(void *));
  out->array.release = release_batch;
  for (i = 0; i < request->column_count; i++) {
    int64_t column = request->columns[i];
    int32_t type = columns[column].type;
    int binary = type == TABELLA_TYPE_TEXT || type == TABELLA_TYPE_BINARY;
    struct ArrowArray *child = calloc(1, sizeof *child);
    out->array.children[i] = child;
    child->length = count;
    child->null_count = is_full(column) ? 0 : -1;
    child->offset = AHEAD + request->first;
    child->n_buffers = binary ? 3 : 2;
    child->buffers = calloc(3, sizeof(void *));
    child->release = release_column;
    if (!is_full(column)) child->buffers[0] = layouts[column].validity;
    if (binary) {
      child->buffers[1] = layouts[column].offsets;
      child->buffers[2] = layouts[column].bytes;
    } else {
      child->buffers[1] = type == TABELLA_TYPE_BOOLEAN ? (const void *)layouts[column].bytes
                                                       : (const void *)layouts[column].words;
    }
  }
  return TABELLA_OK;
}

static const tabella_source_table table = {release, NULL,   NULL,      flags,
                                           version, schema, row_count, rows};

static int32_t open_location(void *provider, const tabella_open_request *request,
                             tabella_source *out, tabella_error *error) {
  int64_t column;
  (void)provider, (void)error;
  snprintf(kind, sizeof kind, "%.*s", (int)request->location.length, request->location.bytes);
  for (column = 0; column < COLUMNS; column++) fill(column);
  out->table = &table;
  out->source = kind;
  return TABELLA_OK;
}

int32_t tabella_provider_entry(tabella_entry *entry) {
  entry->provider_contract = TABELLA_CONTRACT_VERSION;
  if (!TABELLA_CONTRACT_ACCEPTS(entry->contract_version)) return TABELLA_NOT_SUPPORTED;
  entry->provider.id = tabella_cstring("layouts");
  entry->provider.version = tabella_cstring("1");
  entry->provider.open = open_location;
  return TABELLA_OK;
}
