/* Counting and reading rows. A position is reached from the nearest mark in front of it, not from the first row. */
#include "source.h"

/* A full count is quick enough for fewer rows than this, and exact at once. */
#define FEW 100000
/* A batch ends after this many bytes of text. */
#define BATCH_BYTES (1 << 20)

/* ------------------------------------------------------------------------------------------------
 * Counts
 * --------------------------------------------------------------------------------------------- */

static int32_t count(source *source, table *table, int64_t limit, int64_t *out, tabella_error *error) {
  sqlite3_stmt *statement;
  char *text = limit < 0 ? sqlite3_mprintf("SELECT count(*) FROM \"%w\"", table->name)
                         : sqlite3_mprintf("SELECT count(*) FROM (SELECT 1 FROM \"%w\" LIMIT %lld)",
                                           table->name, (long long)limit);
  int32_t code = database_prepare(source->db.reader, text, &statement, error);
  if (code != TABELLA_OK) return code;
  if (sqlite3_step(statement) == SQLITE_ROW) *out = sqlite3_column_int64(statement, 0);
  else code = database_fail(source->db.reader, "", error);
  sqlite3_finalize(statement);
  return code;
}

/* Learns the number of rows inside a read transaction. */
static int32_t learn(source *source, table *table, int64_t at_least, tabella_error *error) {
  int64_t limit = at_least < FEW ? (at_least > 0 ? at_least : 0) + 1 : -1, value = 0;
  int32_t code;
  if (table->is_exact || at_least <= table->known) return TABELLA_OK;
  code = count(source, table, limit, &value, error);
  if (code != TABELLA_OK) return code;
  if (limit < 0 || value < limit) table->is_exact = 1;
  if (value > table->known) table->known = value;
  return TABELLA_OK;
}

int32_t table_row_count(source *source, table *table, int64_t at_least, tabella_count *out,
                        tabella_error *error) {
  int32_t code = database_read(&source->db, error);
  if (code != TABELLA_OK) return code;
  code = learn(source, table, at_least, error);
  database_read_end(&source->db);
  out->value = table->known;
  out->exact = table->is_exact;
  return code;
}

/* ------------------------------------------------------------------------------------------------
 * Positions
 * --------------------------------------------------------------------------------------------- */

/* Remembers the key of the statement's row, if the next mark is for this row. */
static void mark(table *table, int64_t number, sqlite3_stmt *row) {
  sqlite3_value **grown;
  int i;
  if (table->key_count == 0 || number != table->mark_count * STRIDE) return;
  grown = (sqlite3_value **)realloc(
      table->marks, (size_t)(table->mark_count + 1) * (size_t)table->key_count * sizeof *grown);
  if (grown == NULL) return;
  table->marks = grown;
  grown += table->mark_count * table->key_count;
  for (i = 0; i < table->key_count; i++) grown[i] = sqlite3_value_dup(sqlite3_column_value(row, i));
  for (i = 0; i < table->key_count; i++) {
    if (grown[i] != NULL) continue;
    /* Out of memory: the mark is missing, which only costs time. */
    for (i = 0; i < table->key_count; i++) sqlite3_value_free(grown[i]);
    return;
  }
  table->mark_count++;
}

/* A statement that begins at the last mark that is not behind `first`. */
static int32_t from_mark(source *source, table *table, int64_t first, int64_t skipped, const char *list,
                         sqlite3_stmt **out, tabella_error *error) {
  const char *comma = list[0] != 0 ? "," : "";
  int64_t number = first / STRIDE;
  int32_t code;
  int i;
  if (number >= table->mark_count) number = table->mark_count - 1;
  if (number < 0)
    return database_prepare(source->db.reader,
                            sqlite3_mprintf("SELECT %s%s%s FROM \"%w\" ORDER BY %s LIMIT -1 OFFSET %lld",
                                            table->key_sql, comma, list, table->name, table->key_sql,
                                            (long long)skipped),
                            out, error);
  code = database_prepare(
      source->db.reader,
      sqlite3_mprintf("SELECT %s%s%s FROM \"%w\" WHERE (%s) >= (%s) ORDER BY %s LIMIT -1 OFFSET %lld",
                      table->key_sql, comma, list, table->name, table->key_sql, table->key_marks,
                      table->key_sql, (long long)skipped),
      out, error);
  for (i = 0; i < table->key_count && code == TABELLA_OK; i++)
    if (sqlite3_bind_value(*out, i + 1, table->marks[number * table->key_count + i]) != SQLITE_OK)
      code = database_fail(source->db.reader, "", error);
  return code;
}

/* Sets marks up to the block of row `first`. */
static int32_t walk(source *source, table *table, int64_t first, tabella_error *error) {
  int64_t number = table->mark_count > 0 ? (table->mark_count - 1) * STRIDE : 0;
  sqlite3_stmt *keys;
  int code = SQLITE_ROW;
  int32_t prepared;
  if (first / STRIDE < table->mark_count) return TABELLA_OK;
  prepared = from_mark(source, table, number, 0, "", &keys, error);
  if (prepared != TABELLA_OK) return prepared;
  while (number <= first && (code = sqlite3_step(keys)) == SQLITE_ROW) mark(table, number++, keys);
  sqlite3_finalize(keys);
  return code == SQLITE_ROW || code == SQLITE_DONE ? TABELLA_OK
                                                    : database_fail(source->db.reader, "", error);
}

int32_t table_seek(source *source, table *table, int64_t first, const char *list, sqlite3_stmt **out,
                   tabella_error *error) {
  int64_t marked;
  int32_t code;
  *out = NULL;
  if (table->key_count == 0)
    return database_prepare(source->db.reader,
                            sqlite3_mprintf("SELECT %s FROM \"%w\" LIMIT -1 OFFSET %lld",
                                            list[0] != 0 ? list : "1", table->name, (long long)first),
                            out, error);
  code = walk(source, table, first, error);
  if (code != TABELLA_OK) return code;
  marked = first / STRIDE < table->mark_count ? first / STRIDE : table->mark_count - 1;
  return from_mark(source, table, first, first - (marked > 0 ? marked : 0) * STRIDE, list, out, error);
}

/* ------------------------------------------------------------------------------------------------
 * Cells
 * --------------------------------------------------------------------------------------------- */

void value_text(sqlite3_value *value, tabella_buffer *out) {
  char text[40];
  const unsigned char *bytes;
  double real;
  int i, digits;
  switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
      snprintf(text, sizeof text, "%lld", (long long)sqlite3_value_int64(value));
      tabella_buffer_text(out, text);
      return;
    case SQLITE_FLOAT:
      /* The shortest text that is the same number again. */
      real = sqlite3_value_double(value);
      for (digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, real);
        if (strtod(text, NULL) == real) break;
      }
      if (strpbrk(text, ".einEIN") == NULL) strcat(text, ".0");
      tabella_buffer_text(out, text);
      return;
    case SQLITE_TEXT:
      bytes = sqlite3_value_text(value);
      tabella_buffer_put(out, bytes, (size_t)sqlite3_value_bytes(value));
      return;
    case SQLITE_BLOB:
      bytes = (const unsigned char *)sqlite3_value_blob(value);
      tabella_buffer_text(out, "X'");
      for (i = 0; i < sqlite3_value_bytes(value); i++) {
        snprintf(text, sizeof text, "%02X", bytes[i]);
        tabella_buffer_text(out, text);
      }
      tabella_buffer_text(out, "'");
      return;
    default: return;
  }
}

/* Appends a cell. Returns 0 if the value does not fit the type of the column. */
static int put_cell(tabella_batch_builder *batch, int64_t at, int32_t type, sqlite3_value *value,
                    int64_t *size) {
  static const int64_t exact = 9007199254740992;
  tabella_buffer text = {NULL, 0, 0, 0};
  int64_t integer;
  int stored = sqlite3_value_type(value);
  if (stored == SQLITE_NULL) {
    tabella_batch_missing(batch, at);
    return 1;
  }
  switch (type) {
    case TABELLA_TYPE_INTEGER:
      if (stored != SQLITE_INTEGER) return 0;
      tabella_batch_integer(batch, at, sqlite3_value_int64(value));
      return 1;
    case TABELLA_TYPE_REAL:
      integer = stored == SQLITE_INTEGER ? sqlite3_value_int64(value) : 0;
      if ((stored != SQLITE_FLOAT && stored != SQLITE_INTEGER) || integer > exact || integer < -exact)
        return 0;
      tabella_batch_real(batch, at, sqlite3_value_double(value));
      return 1;
    case TABELLA_TYPE_BINARY:
      if (stored != SQLITE_BLOB) return 0;
      *size += sqlite3_value_bytes(value);
      tabella_batch_binary(batch, at, sqlite3_value_blob(value), (size_t)sqlite3_value_bytes(value));
      return 1;
    default:
      value_text(value, &text);
      *size += (int64_t)text.size;
      tabella_batch_text(batch, at, text.bytes != NULL ? text.bytes : "", text.size);
      if (text.failed && batch != NULL) batch->failed = 1;
      tabella_buffer_free(&text);
      return 1;
  }
}

static int32_t misfit(const table *table, const char *column, int64_t number, int stored,
                      const tabella_row_request *request, tabella_error *error) {
  static const char *const names[] = {"", "an integer", "a real number", "text", "a blob", "null"};
  error->path.section = request->section;
  error->path.row = number;
  error->located = TABELLA_ERROR_HAS_SECTION | TABELLA_ERROR_HAS_ROW;
  return tabella_fail(error, TABELLA_IO,
                      "table %s: the value of %s is %s, unlike the values in the first rows; -o sample=0 "
                      "reads the types of all rows",
                      table->name, column, names[stored]);
}

/* ------------------------------------------------------------------------------------------------
 * Rows
 * --------------------------------------------------------------------------------------------- */

/* The columns to select: all of the table if the ids need them, else the requested ones. `at` receives the column
 * of the statement for each requested column; -1: the table does not have it. */
static char *selection(const table *table, const tabella_row_request *request, int *at) {
  int has_ids = (request->flags & TABELLA_ROWS_IDS) != 0, selected = table->key_count;
  char *list = has_ids ? table_all(table) : sqlite3_mprintf("");
  int64_t i;
  for (i = 0; i < request->column_count; i++) {
    int64_t column = table_find(table, request->columns[i]);
    at[i] = -1;
    if (column < 0) continue;
    at[i] = has_ids ? table->key_count + (int)column : selected++;
    if (!has_ids && list != NULL)
      list = sqlite3_mprintf("%z%s\"%w\"", list, list[0] != 0 ? "," : "", table->columns[column].name);
  }
  return list;
}

/* Appends the row of the statement. */
static int32_t put_row(const source *source, const table *table, sqlite3_stmt *row, int64_t number,
                       const tabella_row_request *request, const int *at, tabella_batch_builder *batch,
                       int64_t *size, tabella_error *error) {
  int64_t i;
  for (i = 0; i < request->column_count; i++) {
    const tabella_column *column = &source->columns[request->columns[i]];
    sqlite3_value *value;
    if (at[i] < 0) {
      tabella_batch_missing(batch, i);
      continue;
    }
    value = sqlite3_column_value(row, at[i]);
    if (!put_cell(batch, i, column->type, value, size))
      return misfit(table, column->name, number, sqlite3_value_type(value), request, error);
  }
  if (request->flags & TABELLA_ROWS_IDS) {
    tabella_buffer id = {NULL, 0, 0, 0};
    row_id(table, row, table->key_count, number, &id);
    if (id.size > 16384) {
      tabella_buffer_free(&id);
      return tabella_fail(error, TABELLA_IO, "table %s: the primary key of row %lld is too long for an id",
                          table->name, (long long)number);
    }
    tabella_buffer_put(&id, "", 1);
    if (!id.failed) tabella_batch_id(batch, id.bytes);
    tabella_buffer_free(&id);
  }
  return TABELLA_OK;
}

/* Reads rows inside a read transaction. If a row cannot be shown, `shown` is the number of rows in front of it. */
static int32_t read(source *source, table *table, const tabella_row_request *request, int64_t *shown,
                    tabella_batch *out, tabella_error *error) {
  int *at = (int *)calloc((size_t)request->column_count + 1, sizeof *at);
  char *list = at != NULL ? selection(table, request, at) : NULL;
  tabella_batch_builder *batch = tabella_batch_for(request, source->columns);
  int64_t number = request->first, size = 0;
  sqlite3_stmt *row = NULL;
  int code = SQLITE_ROW;
  int32_t result = list == NULL ? tabella_fail(error, TABELLA_INTERNAL, "out of memory")
                                : table_seek(source, table, number, list, &row, error);
  while (result == TABELLA_OK && number - request->first < request->count && size < BATCH_BYTES &&
         (code = sqlite3_step(row)) == SQLITE_ROW) {
    mark(table, number, row);
    result = put_row(source, table, row, number, request, at, batch, &size, error);
    if (result == TABELLA_OK) number++;
  }
  if (result == TABELLA_OK && code != SQLITE_ROW && code != SQLITE_DONE)
    result = database_fail(source->db.reader, "", error);
  sqlite3_finalize(row);
  sqlite3_free(list);
  free(at);
  if (result == TABELLA_OK && number == request->first) {
    result = learn(source, table, number, error);
    if (result == TABELLA_OK && number > table->known)
      result = tabella_fail(error, TABELLA_NOT_FOUND, "there is no row %lld", (long long)number);
  }
  *shown = number - request->first;
  if (result != TABELLA_OK) {
    tabella_batch_discard(batch);
    return result;
  }
  return tabella_batch_finish_rows(batch, number - request->first, out, error);
}

int32_t table_rows(source *source, const tabella_row_request *request, tabella_batch *out,
                   tabella_error *error) {
  int64_t shown = 0;
  int32_t code = tabella_rows_check(request, source->column_count, 1, error);
  if (code != TABELLA_OK) return code;
  if (request->section >= source->table_count)
    return tabella_fail(error, TABELLA_NOT_FOUND, "there is no section %lld", (long long)request->section);
  code = database_read(&source->db, error);
  if (code != TABELLA_OK) return code;
  code = read(source, &source->tables[request->section], request, &shown, out, error);
  if (code == TABELLA_IO && error->located != 0 && shown > 0) {
    /* The rows in front of a row that cannot be shown. */
    tabella_row_request shorter = *request;
    shorter.count = shown;
    if (error->release != NULL) error->release(error);
    memset(error, 0, sizeof *error);
    code = read(source, &source->tables[request->section], &shorter, &shown, out, error);
  }
  database_read_end(&source->db);
  return code;
}
