/*
 * tabella_batch.h: helpers for authors of providers in C: batches, errors, changes.
 * Header only; needs only libc.
 *
 *   tabella_batch_builder *b = tabella_batch_new(types, 2, 0);
 *   tabella_batch_cstring(b, 0, "Ada");
 *   tabella_batch_integer(b, 1, 36);
 *   tabella_batch_cstring(b, 0, "Grace");
 *   tabella_batch_missing(b, 1);
 *   return tabella_batch_finish(b, out, error);
 *
 * Each call appends one cell to its column. If memory runs out, the builder remembers it and
 * tabella_batch_finish reports it, so the other calls need no check. One thread at a time may use a
 * builder.
 */
#ifndef TABELLA_BATCH_H
#define TABELLA_BATCH_H

#include "tabella.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
#define TABELLA_HELPER static inline __attribute__((unused))
#define TABELLA_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define TABELLA_HELPER static inline
#define TABELLA_PRINTF(text, first)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------
 * Strings and errors
 * --------------------------------------------------------------------------------------------- */

/* Wraps a C string, which must outlive the result. Null becomes an absent string. */
TABELLA_HELPER tabella_string tabella_cstring(const char *text) {
  tabella_string string = {text, text ? (int64_t)strlen(text) : 0};
  return string;
}

/* Returns 1 if both strings contain the same bytes. */
TABELLA_HELPER int tabella_string_equals(tabella_string string, const char *text) {
  size_t length = strlen(text);
  return string.bytes != NULL && (uint64_t)string.length == (uint64_t)length &&
         memcmp(string.bytes, text, length) == 0;
}

TABELLA_HELPER void tabella_error_release_(tabella_error *error) {
  free(error->private_data);
  error->private_data = NULL;
  error->message = tabella_cstring(NULL);
  error->release = NULL;
}

/* Fills `error` with a printf-formatted message and returns `code`:
 * `return tabella_fail(error, TABELLA_NOT_FOUND, "no section %d", 4);` */
TABELLA_PRINTF(3, 4)
TABELLA_HELPER int32_t tabella_fail(tabella_error *error, int32_t code,
                                    const char *format, ...) {
  char text[512];
  char *copy;
  size_t length;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  length = strlen(text);
  copy = (char *)malloc(length + 1);
  if (copy != NULL) {
    memcpy(copy, text, length + 1);
    error->message.bytes = copy;
    error->message.length = (int64_t)length;
    error->private_data = copy;
    error->release = tabella_error_release_;
  }
  return code;
}

/* ------------------------------------------------------------------------------------------------
 * Schema
 * --------------------------------------------------------------------------------------------- */

/* A column for tabella_schema_make. */
typedef struct tabella_column {
  const char *name;
  int32_t type;                     /* TABELLA_TYPE_* */
  const char *unit; /* "bytes", "percent", "seconds", or null */
} tabella_column;

TABELLA_HELPER void tabella_schema_release_(struct ArrowSchema *schema) {
  int64_t child;
  for (child = 0; child < schema->n_children; child++) {
    struct ArrowSchema *field = schema->children[child];
    if (field != NULL) {
      if (field->release != NULL) field->release(field);
      free(field);
    }
  }
  free(schema->children);
  free((void *)schema->name);
  free((void *)schema->metadata);
  schema->release = NULL;
}

TABELLA_HELPER const char *tabella_format_(int32_t type) {
  switch (type) {
    case TABELLA_TYPE_INTEGER: return "l";
    case TABELLA_TYPE_REAL: return "g";
    case TABELLA_TYPE_BOOLEAN: return "b";
    case TABELLA_TYPE_DATE: return "tsn:UTC";
    case TABELLA_TYPE_TEXT:
    case TABELLA_TYPE_BINARY: return "z";
    default: return NULL;
  }
}

/* Appends one length-prefixed string in the format of Arrow's metadata. */
TABELLA_HELPER char *tabella_metadata_put_(char *at,
                                                           const char *text) {
  int32_t length = (int32_t)strlen(text);
  memcpy(at, &length, sizeof length);
  memcpy(at + sizeof length, text, (size_t)length);
  return at + sizeof length + (size_t)length;
}

/* Fills `out` with the schema of these columns. For tabella_source_table.schema. */
TABELLA_HELPER int32_t tabella_schema_make(const tabella_column *columns,
                                           int64_t count, struct ArrowSchema *out,
                                           tabella_error *error) {
  int64_t i;
  memset(out, 0, sizeof *out);
  out->format = "+s";
  out->release = tabella_schema_release_;
  out->children = (struct ArrowSchema **)calloc(count > 0 ? (size_t)count : 1, sizeof(void *));
  if (out->children == NULL) goto no_memory;
  out->n_children = count;
  for (i = 0; i < count; i++) {
    struct ArrowSchema *field = (struct ArrowSchema *)calloc(1, sizeof *field);
    int32_t pairs = 0;
    char *metadata;
    char *at;
    size_t name_size = strlen(columns[i].name) + 1;
    char *name = (char *)malloc(name_size);
    out->children[i] = field;
    if (field == NULL || name == NULL) {
      free(name);
      goto no_memory;
    }
    memcpy(name, columns[i].name, name_size);
    field->name = name;
    field->release = tabella_schema_release_;
    field->format = tabella_format_(columns[i].type);
    field->flags = ARROW_FLAG_NULLABLE;
    if (field->format == NULL) {
      out->release(out);
      return tabella_fail(error, TABELLA_INTERNAL, "column %s has no known type",
                          columns[i].name);
    }
    metadata = (char *)malloc(64 + (columns[i].unit ? strlen(columns[i].unit) : 0));
    if (metadata == NULL) goto no_memory;
    at = metadata + sizeof pairs;
    if (columns[i].type == TABELLA_TYPE_TEXT) {
      at = tabella_metadata_put_(tabella_metadata_put_(at, "tabella.type"), "text");
      pairs++;
    }
    if (columns[i].unit != NULL) {
      at = tabella_metadata_put_(tabella_metadata_put_(at, "tabella.unit"), columns[i].unit);
      pairs++;
    }
    memcpy(metadata, &pairs, sizeof pairs);
    field->metadata = metadata;
  }
  return TABELLA_OK;
no_memory:
  out->release(out);
  return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
}

/* ------------------------------------------------------------------------------------------------
 * Batches
 * --------------------------------------------------------------------------------------------- */

typedef struct tabella_bytes_ {
  uint8_t *data;
  size_t size;
  size_t capacity;
} tabella_bytes_;

typedef struct tabella_column_builder_ {
  int32_t type;
  int64_t count;
  int64_t missing;
  tabella_bytes_ validity;
  tabella_bytes_ values;  /* fixed-width values, bits, or the bytes of text and binary */
  tabella_bytes_ offsets; /* text and binary only */
} tabella_column_builder_;

typedef struct tabella_batch_builder {
  tabella_column_builder_ *columns;
  int64_t column_count; /* ids included */
  int has_ids;
  int failed; /* 1: out of memory, 2: a cell's type differs from its column's, 3: over 2 GiB */
  int64_t failed_column;
} tabella_batch_builder;

TABELLA_HELPER int tabella_bytes_put_(tabella_bytes_ *bytes,
                                      const void *data, size_t size) {
  if (bytes->capacity - bytes->size < size) {
    size_t capacity = bytes->capacity ? bytes->capacity * 2 : 64;
    uint8_t *grown;
    while (capacity - bytes->size < size) capacity *= 2;
    grown = (uint8_t *)realloc(bytes->data, capacity);
    if (grown == NULL) return 0;
    bytes->data = grown;
    bytes->capacity = capacity;
  }
  if (size > 0) memcpy(bytes->data + bytes->size, data, size);
  bytes->size += size;
  return 1;
}

TABELLA_HELPER int tabella_bit_put_(tabella_bytes_ *bytes, int64_t index, int bit) {
  static const uint8_t zero = 0;
  if ((index & 7) == 0 && !tabella_bytes_put_(bytes, &zero, 1)) return 0;
  if (bit) bytes->data[index >> 3] = (uint8_t)(bytes->data[index >> 3] | (1u << (index & 7)));
  return 1;
}

/* Frees a builder without finishing it. */
TABELLA_HELPER void tabella_batch_discard(tabella_batch_builder *builder) {
  int64_t i;
  if (builder == NULL) return;
  for (i = 0; builder->columns != NULL && i < builder->column_count; i++) {
    free(builder->columns[i].validity.data);
    free(builder->columns[i].values.data);
    free(builder->columns[i].offsets.data);
  }
  free(builder->columns);
  free(builder);
}

/* Refuses requests that no section could answer, with the code that the contract wants. Call it first
 * in `rows`, and continue if it returns TABELLA_OK. `columns` is the number of the source's columns,
 * `has_ids` is 1 if rows have ids:
 *
 *   int32_t code = tabella_rows_check(request, 2, 0, error);
 *   if (code != TABELLA_OK) return code; */
TABELLA_HELPER int32_t tabella_rows_check(const tabella_row_request *request, int64_t columns,
                                          int has_ids, tabella_error *error) {
  int64_t i;
  if (request->section < 0 || request->first < 0)
    return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "asked for section %lld, row %lld",
                        (long long)request->section, (long long)request->first);
  if (request->count < 1)
    return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "asked for %lld rows",
                        (long long)request->count);
  for (i = 0; i < request->column_count; i++)
    if (request->columns[i] < 0 || request->columns[i] >= columns)
      return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "there is no column %lld",
                          (long long)request->columns[i]);
  if ((request->flags & TABELLA_ROWS_IDS) != 0 && !has_ids)
    return tabella_fail(error, TABELLA_NOT_SUPPORTED, "rows have no ids here");
  return TABELLA_OK;
}

/* Returns a builder for columns of these types. If `ids` is 1, a column of ids follows them. Returns
 * null if memory runs out; all other functions accept null, and tabella_batch_finish reports it. */
TABELLA_HELPER tabella_batch_builder *
tabella_batch_new(const int32_t *types, int64_t count, int ids) {
  static const int32_t zero = 0;
  int64_t i;
  tabella_batch_builder *builder = (tabella_batch_builder *)calloc(1, sizeof *builder);
  if (builder == NULL) return NULL;
  builder->has_ids = ids != 0;
  builder->column_count = count + (ids ? 1 : 0);
  builder->columns = (tabella_column_builder_ *)calloc((size_t)builder->column_count + 1,
                                                       sizeof *builder->columns);
  if (builder->columns == NULL) {
    free(builder);
    return NULL;
  }
  for (i = 0; i < builder->column_count; i++) {
    tabella_column_builder_ *column = &builder->columns[i];
    column->type = i < count ? types[i] : TABELLA_TYPE_BINARY;
    if ((column->type == TABELLA_TYPE_TEXT || column->type == TABELLA_TYPE_BINARY) &&
        !tabella_bytes_put_(&column->offsets, &zero, sizeof zero))
      builder->failed = 1;
  }
  return builder;
}

/* The same for the requested columns; `columns` are all columns of the source. */
TABELLA_HELPER tabella_batch_builder *
tabella_batch_for(const tabella_row_request *request,
                  const tabella_column *columns) {
  int64_t i;
  tabella_batch_builder *builder;
  int32_t *types = (int32_t *)malloc(sizeof(int32_t) * ((size_t)request->column_count + 1));
  if (types == NULL) return NULL;
  for (i = 0; i < request->column_count; i++) types[i] = columns[request->columns[i]].type;
  builder = tabella_batch_new(types, request->column_count,
                              (request->flags & TABELLA_ROWS_IDS) != 0);
  free(types);
  return builder;
}

/* Appends a cell: `word` for types of a fixed size, `data` for text and binary. */
TABELLA_HELPER void tabella_batch_put_(tabella_batch_builder *builder, int64_t index, int32_t type,
                                       int present, uint64_t word, const void *data,
                                       size_t size) {
  tabella_column_builder_ *column;
  int ok = 1;
  if (builder == NULL || builder->failed != 0) return;
  if (index < 0 || index >= builder->column_count ||
      (present && builder->columns[index].type != type)) {
    builder->failed = 2;
    builder->failed_column = index;
    return;
  }
  column = &builder->columns[index];
  ok &= tabella_bit_put_(&column->validity, column->count, present);
  if (column->type == TABELLA_TYPE_BOOLEAN) {
    ok &= tabella_bit_put_(&column->values, column->count, word != 0);
  } else if (column->type == TABELLA_TYPE_TEXT || column->type == TABELLA_TYPE_BINARY) {
    int32_t end;
    if (size > (size_t)INT32_MAX - column->values.size) {
      builder->failed = 3;
      return;
    }
    ok &= tabella_bytes_put_(&column->values, data, size);
    end = (int32_t)column->values.size;
    ok &= tabella_bytes_put_(&column->offsets, &end, sizeof end);
  } else {
    ok &= tabella_bytes_put_(&column->values, &word, sizeof word);
  }
  column->count++;
  if (!present) column->missing++;
  if (!ok) builder->failed = 1;
}

/* Appends text. It should be UTF-8; other bytes are kept as they are. */
TABELLA_HELPER void tabella_batch_text(tabella_batch_builder *builder,
                                       int64_t column, const char *bytes,
                                       size_t length) {
  tabella_batch_put_(builder, column, TABELLA_TYPE_TEXT, 1, 0, bytes, length);
}

/* Appends text from a C string. */
TABELLA_HELPER void tabella_batch_cstring(tabella_batch_builder *builder,
                                          int64_t column, const char *text) {
  tabella_batch_text(builder, column, text, strlen(text));
}

TABELLA_HELPER void tabella_batch_binary(tabella_batch_builder *builder,
                                         int64_t column, const void *bytes,
                                         size_t length) {
  tabella_batch_put_(builder, column, TABELLA_TYPE_BINARY, 1, 0, bytes, length);
}

TABELLA_HELPER void tabella_batch_integer(tabella_batch_builder *builder,
                                          int64_t column, int64_t value) {
  tabella_batch_put_(builder, column, TABELLA_TYPE_INTEGER, 1, (uint64_t)value, NULL, 0);
}

TABELLA_HELPER void tabella_batch_real(tabella_batch_builder *builder,
                                       int64_t column, double value) {
  uint64_t word;
  memcpy(&word, &value, sizeof word);
  tabella_batch_put_(builder, column, TABELLA_TYPE_REAL, 1, word, NULL, 0);
}

TABELLA_HELPER void tabella_batch_boolean(tabella_batch_builder *builder,
                                          int64_t column, int value) {
  tabella_batch_put_(builder, column, TABELLA_TYPE_BOOLEAN, 1, value != 0, NULL, 0);
}

/* Appends a date, in nanoseconds since 1970-01-01T00:00:00Z. */
TABELLA_HELPER void tabella_batch_date(tabella_batch_builder *builder,
                                       int64_t column, int64_t nanoseconds) {
  tabella_batch_put_(builder, column, TABELLA_TYPE_DATE, 1, (uint64_t)nanoseconds, NULL, 0);
}

/* Appends a missing value to a column of any type. */
TABELLA_HELPER void tabella_batch_missing(tabella_batch_builder *builder,
                                          int64_t column) {
  tabella_batch_put_(builder, column, 0, 0, 0, NULL, 0);
}

/* Appends the id of a row. Only for a builder with ids. */
TABELLA_HELPER void tabella_batch_id(tabella_batch_builder *builder,
                                     const char *id) {
  if (builder == NULL) return;
  if (!builder->has_ids) {
    builder->failed = 4;
    return;
  }
  tabella_batch_binary(builder, builder->column_count - 1, id, strlen(id));
}

TABELLA_HELPER void tabella_array_release_(struct ArrowArray *array) {
  int64_t i;
  for (i = 0; i < array->n_children; i++) {
    struct ArrowArray *child = array->children[i];
    if (child != NULL) {
      if (child->release != NULL) child->release(child);
      free(child);
    }
  }
  free(array->children);
  for (i = 0; array->buffers != NULL && i < array->n_buffers; i++) free((void *)array->buffers[i]);
  free((void *)array->buffers);
  array->release = NULL;
}

/* Turns the builder into a batch of `rows` rows and frees the builder. The number is a parameter,
 * because a batch may have no columns. */
TABELLA_HELPER int32_t tabella_batch_finish_rows(tabella_batch_builder *builder,
                                                 int64_t rows, tabella_batch *out,
                                                 tabella_error *error) {
  int64_t i;
  struct ArrowArray *array = &out->array;
  memset(out, 0, sizeof *out);
  if (builder == NULL || builder->failed == 1) goto no_memory;
  if (builder->failed != 0) {
    int reason = builder->failed;
    long long index = (long long)builder->failed_column;
    long long count = (long long)builder->column_count;
    tabella_batch_discard(builder);
    if (reason == 4)
      return tabella_fail(error, TABELLA_INTERNAL,
                          "tabella_batch_id: the builder has no ids; create it with ids = 1 if the "
                          "request has the flag TABELLA_ROWS_IDS, and append ids only then");
    if (reason != 2)
      return tabella_fail(error, TABELLA_CONSTRAINT,
                          "a batch with more than 2 GiB of text: return fewer rows per batch");
    if (index < 0 || index >= count)
      return tabella_fail(error, TABELLA_INTERNAL,
                          "a cell was appended to column %lld, but the batch has %lld columns: those "
                          "of the request, in its order, counted from 0", index, count);
    return tabella_fail(error, TABELLA_INTERNAL,
                        "a cell of another type was appended to column %lld of the batch (counted "
                        "from 0): use the function of the type that tabella_batch_new got", index);
  }
  for (i = 0; i < builder->column_count; i++) {
    if (builder->columns[i].count != rows) {
      long long has = (long long)builder->columns[i].count;
      int is_ids = builder->has_ids && i == builder->column_count - 1;
      tabella_batch_discard(builder);
      if (is_ids)
        return tabella_fail(error, TABELLA_INTERNAL,
                            "the batch has %lld ids for %lld rows: call tabella_batch_id once for "
                            "each row, as the request has the flag TABELLA_ROWS_IDS",
                            has, (long long)rows);
      return tabella_fail(error, TABELLA_INTERNAL,
                          "column %lld of the batch (counted from 0) has %lld cells for %lld rows: "
                          "append one cell for each row, tabella_batch_missing if it is missing",
                          (long long)i, has, (long long)rows);
    }
  }
  array->length = rows;
  array->release = tabella_array_release_;
  array->n_buffers = 1;
  array->buffers = (const void **)calloc(1, sizeof(void *));
  array->children = (struct ArrowArray **)calloc((size_t)builder->column_count + 1, sizeof(void *));
  if (array->buffers == NULL || array->children == NULL) goto no_memory;
  array->n_children = builder->column_count;
  for (i = 0; i < builder->column_count; i++) {
    tabella_column_builder_ *column = &builder->columns[i];
    struct ArrowArray *child = (struct ArrowArray *)calloc(1, sizeof *child);
    int binary = column->type == TABELLA_TYPE_TEXT || column->type == TABELLA_TYPE_BINARY;
    array->children[i] = child;
    if (child == NULL) goto no_memory;
    child->release = tabella_array_release_;
    child->length = rows;
    child->null_count = column->missing;
    child->buffers = (const void **)calloc(3, sizeof(void *));
    if (child->buffers == NULL) goto no_memory;
    child->n_buffers = binary ? 3 : 2;
    /* Arrow requires a pointer, even if there are no bytes. */
    if (column->values.data == NULL && !tabella_bytes_put_(&column->values, NULL, 0))
      goto no_memory;
    if (column->values.data == NULL) {
      column->values.data = (uint8_t *)malloc(8);
      if (column->values.data == NULL) goto no_memory;
    }
    if (column->missing > 0) {
      child->buffers[0] = column->validity.data;
      column->validity.data = NULL;
    }
    child->buffers[1] = binary ? column->offsets.data : column->values.data;
    if (binary) {
      child->buffers[2] = column->values.data;
      column->offsets.data = NULL;
    }
    column->values.data = NULL;
  }
  tabella_batch_discard(builder);
  return TABELLA_OK;
no_memory:
  if (array->release != NULL) array->release(array);
  tabella_batch_discard(builder);
  return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
}

/* The same; the number of rows is the number of cells in the first column. */
TABELLA_HELPER int32_t tabella_batch_finish(tabella_batch_builder *builder,
                                            tabella_batch *out,
                                            tabella_error *error) {
  int64_t rows = builder != NULL && builder->column_count > 0 ? builder->columns[0].count : 0;
  return tabella_batch_finish_rows(builder, rows, out, error);
}

/* ------------------------------------------------------------------------------------------------
 * Changes
 * --------------------------------------------------------------------------------------------- */

/* The changes of a pull, for tabella_changes_table.pull:
 *
 *   tabella_changes_builder changes = {0};
 *   tabella_changes_delete(&changes, 0, 4);
 *   tabella_changes_insert(&changes, 0, 0);
 *   return tabella_changes_finish(&changes, "v1", "v2", out, error);
 *
 * Paths count by UIKit's rule: deleted, reloaded, reconfigured rows and sources of moves as before all
 * changes, inserted rows and targets of moves as after them. Row -1 stands for the section itself. */
typedef struct tabella_changes_builder {
  tabella_bytes_ changes;
  int reloads; /* 1: the host must read everything again */
  int failed;
} tabella_changes_builder;

TABELLA_HELPER void tabella_changes_put_(tabella_changes_builder *builder, int32_t kind,
                                         int64_t from_section, int64_t from_row,
                                         int64_t to_section, int64_t to_row) {
  tabella_change change;
  memset(&change, 0, sizeof change);
  change.kind = kind;
  change.from.section = from_section;
  change.from.row = from_row;
  change.to.section = to_section;
  change.to.row = to_row;
  if (!tabella_bytes_put_(&builder->changes, &change, sizeof change)) builder->failed = 1;
}

TABELLA_HELPER void tabella_changes_insert(tabella_changes_builder *builder, int64_t section,
                                           int64_t row) {
  tabella_changes_put_(builder, TABELLA_CHANGE_INSERT, -1, -1, section, row);
}

TABELLA_HELPER void tabella_changes_delete(tabella_changes_builder *builder, int64_t section,
                                           int64_t row) {
  tabella_changes_put_(builder, TABELLA_CHANGE_DELETE, section, row, -1, -1);
}

TABELLA_HELPER void tabella_changes_move(tabella_changes_builder *builder, int64_t from_section,
                                         int64_t from_row, int64_t to_section, int64_t to_row) {
  tabella_changes_put_(builder, TABELLA_CHANGE_MOVE, from_section, from_row, to_section, to_row);
}

/* Another row is at this position now. */
TABELLA_HELPER void tabella_changes_reload(tabella_changes_builder *builder, int64_t section,
                                           int64_t row) {
  tabella_changes_put_(builder, TABELLA_CHANGE_RELOAD, section, row, -1, -1);
}

/* The row has other cells and the same id. */
TABELLA_HELPER void tabella_changes_reconfigure(tabella_changes_builder *builder, int64_t section,
                                                int64_t row) {
  tabella_changes_put_(builder, TABELLA_CHANGE_RECONFIGURE, section, row, -1, -1);
}

/* The host must read everything again. The changes that were added do not count. */
TABELLA_HELPER void tabella_changes_reload_all(tabella_changes_builder *builder) {
  builder->reloads = 1;
}

/* Frees a builder without finishing it. */
TABELLA_HELPER void tabella_changes_discard(tabella_changes_builder *builder) {
  free(builder->changes.data);
  memset(builder, 0, sizeof *builder);
}

TABELLA_HELPER void tabella_changes_release_(tabella_changes *changes) {
  free(changes->private_data);
  changes->private_data = NULL;
  changes->changes = NULL;
  changes->change_count = 0;
  changes->from_version = tabella_cstring(NULL);
  changes->to_version = tabella_cstring(NULL);
  changes->release = NULL;
}

/* Fills `out` with the changes and frees the builder. Copies both versions; null is an absent one. */
TABELLA_HELPER int32_t tabella_changes_finish(tabella_changes_builder *builder, const char *from,
                                              const char *to, tabella_changes *out,
                                              tabella_error *error) {
  size_t from_size = from ? strlen(from) : 0;
  size_t to_size = to ? strlen(to) : 0;
  size_t size = builder->reloads ? 0 : builder->changes.size;
  char *memory;
  /* The changes come first, because they must be aligned. */
  memory = builder->failed ? NULL : (char *)malloc(size + from_size + to_size + 1);
  if (memory == NULL) {
    tabella_changes_discard(builder);
    return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  }
  memset(out, 0, sizeof *out);
  if (size > 0) memcpy(memory, builder->changes.data, size);
  if (from_size > 0) memcpy(memory + size, from, from_size);
  if (to_size > 0) memcpy(memory + size + from_size, to, to_size);
  if (size > 0) out->changes = (const tabella_change *)memory;
  out->change_count = (int64_t)(size / sizeof(tabella_change));
  out->flags = builder->reloads ? TABELLA_CHANGES_RELOAD : 0;
  if (from != NULL) {
    out->from_version.bytes = memory + size;
    out->from_version.length = (int64_t)from_size;
  }
  if (to != NULL) {
    out->to_version.bytes = memory + size + from_size;
    out->to_version.length = (int64_t)to_size;
  }
  out->private_data = memory;
  out->release = tabella_changes_release_;
  tabella_changes_discard(builder);
  return TABELLA_OK;
}

#ifdef __cplusplus
}
#endif

#endif /* TABELLA_BATCH_H */
