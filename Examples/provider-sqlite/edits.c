/* Edits and their undo: operations on rows, each with its inverse, in one transaction. */
#include "source.h"

/* A receipt with more bytes is not kept: the edit cannot be undone. */
#define RECEIPT_LIMIT (16 << 20)
#define RECEIPT_MARK "sqlite receipt 1\n"

/* A value of SQLite. The bytes are borrowed. */
typedef struct stored {
  int type; /* SQLITE_INTEGER, … */
  int64_t integer;
  double real;
  const void *bytes;
  int64_t size;
} stored;

/* An operation on one row. */
typedef struct operation {
  char kind;       /* 'U': update, 'D': delete, 'I': insert. */
  table *table;
  int key_count;   /* For an insertion, 0 or the key of a rowid table. */
  stored *key;
  char digest[33]; /* Update, delete: the content that the row must have; empty: any. */
  int64_t count;
  int64_t *columns; /* Numbers of the table's columns. */
  stored *values;
  sqlite3_value **held; /* The key, if the operation has its own copy. */
} operation;

/* The state of a batch. */
typedef struct work {
  source *source;
  sqlite3 *writer;
  tabella_buffer inverse; /* The operations that undo those that were done, in this order. */
  int64_t *starts;        /* The offset at which each of them begins. */
  int64_t done;
  int64_t statements;     /* The number of rows that the operations themselves change. */
  tabella_error *error;
} work;

/* ------------------------------------------------------------------------------------------------
 * Values
 * --------------------------------------------------------------------------------------------- */

static stored value_of(sqlite3_value *value) {
  stored out = {SQLITE_NULL, 0, 0, NULL, 0};
  out.type = sqlite3_value_type(value);
  if (out.type == SQLITE_INTEGER) out.integer = sqlite3_value_int64(value);
  else if (out.type == SQLITE_FLOAT) out.real = sqlite3_value_double(value);
  else if (out.type != SQLITE_NULL) {
    out.bytes = out.type == SQLITE_TEXT ? (const void *)sqlite3_value_text(value) : sqlite3_value_blob(value);
    out.size = sqlite3_value_bytes(value);
  }
  return out;
}

static stored value_of_cell(const tabella_value *cell) {
  stored out = {SQLITE_NULL, 0, 0, NULL, 0};
  switch (cell->type) {
    case TABELLA_TYPE_INTEGER:
      out.type = SQLITE_INTEGER;
      out.integer = cell->integer;
      break;
    case TABELLA_TYPE_REAL:
      out.type = SQLITE_FLOAT;
      out.real = cell->real;
      break;
    case TABELLA_TYPE_TEXT:
    case TABELLA_TYPE_BINARY:
      out.type = cell->type == TABELLA_TYPE_TEXT ? SQLITE_TEXT : SQLITE_BLOB;
      out.bytes = cell->bytes.bytes != NULL ? cell->bytes.bytes : "";
      out.size = cell->bytes.length;
      break;
    default: break;
  }
  return out;
}

static int bind(sqlite3_stmt *statement, int parameter, const stored *value) {
  const void *bytes = value->bytes != NULL ? value->bytes : "";
  switch (value->type) {
    case SQLITE_INTEGER: return sqlite3_bind_int64(statement, parameter, value->integer);
    case SQLITE_FLOAT: return sqlite3_bind_double(statement, parameter, value->real);
    case SQLITE_TEXT:
      return sqlite3_bind_text64(statement, parameter, (const char *)bytes, (sqlite3_uint64)value->size,
                                 SQLITE_STATIC, SQLITE_UTF8);
    case SQLITE_BLOB:
      return sqlite3_bind_blob64(statement, parameter, bytes, (sqlite3_uint64)value->size, SQLITE_STATIC);
    default: return sqlite3_bind_null(statement, parameter);
  }
}

static int bind_all(sqlite3_stmt *statement, int first, const stored *values, int64_t count) {
  int64_t i;
  for (i = 0; i < count; i++)
    if (bind(statement, first + (int)i, &values[i]) != SQLITE_OK) return 0;
  return 1;
}

/* ------------------------------------------------------------------------------------------------
 * Receipts: the mark, the path, the number of operations, the operations, and the digest of all that
 * --------------------------------------------------------------------------------------------- */

static void put_number(tabella_buffer *out, int64_t number) { tabella_buffer_put(out, &number, sizeof number); }

static void put_bytes(tabella_buffer *out, const void *bytes, int64_t size) {
  put_number(out, size);
  tabella_buffer_put(out, bytes, (size_t)size);
}

static void put_value(tabella_buffer *out, const stored *value) {
  put_number(out, value->type);
  if (value->type == SQLITE_INTEGER) put_number(out, value->integer);
  else if (value->type == SQLITE_FLOAT) tabella_buffer_put(out, &value->real, sizeof value->real);
  else if (value->type != SQLITE_NULL) put_bytes(out, value->bytes, value->size);
}

/* Begins an inverse operation. Its columns and values follow. */
static void put_operation(work *work, char kind, const table *table, const stored *key, int key_count,
                          const char *digest, int64_t count) {
  tabella_buffer *out = &work->inverse;
  int i;
  work->starts[work->done++] = (int64_t)out->size;
  tabella_buffer_put(out, &kind, 1);
  put_bytes(out, table->name, (int64_t)strlen(table->name));
  put_number(out, key_count);
  for (i = 0; i < key_count; i++) put_value(out, &key[i]);
  put_bytes(out, digest, (int64_t)strlen(digest));
  put_number(out, count);
}

static void put_column(work *work, const table_column *column, const stored *value) {
  put_bytes(&work->inverse, column->name, (int64_t)strlen(column->name));
  put_value(&work->inverse, value);
}

/* Bytes of a receipt that are being read. */
typedef struct reading {
  const char *at;
  int64_t left;
  int failed;
} reading;

static const char *take(reading *in, int64_t size) {
  const char *bytes = in->at;
  if (in->failed || size < 0 || size > in->left) {
    in->failed = 1;
    return "";
  }
  in->at += size;
  in->left -= size;
  return bytes;
}

static int64_t take_number(reading *in) {
  int64_t number = 0;
  const char *bytes = take(in, sizeof number);
  if (!in->failed) memcpy(&number, bytes, sizeof number);
  return number;
}

static const char *take_bytes(reading *in, int64_t *size) {
  *size = take_number(in);
  return take(in, *size);
}

static stored take_value(reading *in) {
  stored value = {SQLITE_NULL, 0, 0, NULL, 0};
  value.type = (int)take_number(in);
  if (value.type == SQLITE_INTEGER) value.integer = take_number(in);
  else if (value.type == SQLITE_FLOAT) {
    const char *bytes = take(in, sizeof value.real);
    if (!in->failed) memcpy(&value.real, bytes, sizeof value.real);
  } else if (value.type == SQLITE_TEXT || value.type == SQLITE_BLOB) {
    value.bytes = take_bytes(in, &value.size);
  } else if (value.type != SQLITE_NULL) {
    in->failed = 1;
  }
  return value;
}

/* ------------------------------------------------------------------------------------------------
 * Operations
 * --------------------------------------------------------------------------------------------- */

static int32_t fail_row(work *work) {
  return tabella_fail(work->error, TABELLA_CONFLICT,
                      "a row is no longer as it was, so nothing was changed; open the database again");
}

/* Reads the row with a key: its key columns, then all columns. */
static int32_t select_row(work *work, const table *table, const stored *key, sqlite3_stmt **out) {
  int32_t code = database_prepare(
      work->writer,
      sqlite3_mprintf("SELECT %s, %z FROM \"%w\" WHERE (%s) = (%s)", table->key_sql, table_all(table),
                      table->name, table->key_sql, table->key_marks),
      out, work->error);
  int step;
  if (code != TABELLA_OK) return code;
  if (!bind_all(*out, 1, key, table->key_count)) return database_fail(work->writer, "", work->error);
  step = sqlite3_step(*out);
  if (step == SQLITE_ROW) return TABELLA_OK;
  return step == SQLITE_DONE ? fail_row(work) : database_fail(work->writer, "", work->error);
}

/* Runs a statement that returns the key of the row, and copies it to `key` (freed with free_key). */
static int32_t run(work *work, sqlite3_stmt *statement, const table *table, sqlite3_value **key) {
  int step = sqlite3_step(statement), i;
  if (step == SQLITE_DONE) return fail_row(work);
  if (step != SQLITE_ROW) return database_fail(work->writer, "", work->error);
  for (i = 0; i < table->key_count; i++) {
    key[i] = sqlite3_value_dup(sqlite3_column_value(statement, i));
    if (key[i] == NULL) return tabella_fail(work->error, TABELLA_INTERNAL, "out of memory");
  }
  while ((step = sqlite3_step(statement)) == SQLITE_ROW) {}
  work->statements++;
  return step == SQLITE_DONE ? TABELLA_OK : database_fail(work->writer, "", work->error);
}

static void free_key(sqlite3_value **key, int count) {
  int i;
  for (i = 0; i < count; i++) sqlite3_value_free(key[i]);
}

/* Writes the text of an UPDATE or INSERT that returns the key. */
static char *statement_text(const operation *operation) {
  const table *table = operation->table;
  int is_update = operation->kind == 'U';
  char *names = sqlite3_mprintf(""), *marks = sqlite3_mprintf("");
  int64_t i;
  if (!is_update && operation->key_count > 0) {
    names = sqlite3_mprintf("%z%s", names, table->key_sql);
    marks = sqlite3_mprintf("%z?", marks);
  }
  for (i = 0; i < operation->count && names != NULL && marks != NULL; i++) {
    const char *comma = names[0] != 0 ? "," : "";
    const char *name = table->columns[operation->columns[i]].name;
    names = sqlite3_mprintf(is_update ? "%z%s\"%w\"=?" : "%z%s\"%w\"", names, comma, name);
    marks = sqlite3_mprintf("%z%s?", marks, comma);
  }
  if (is_update) {
    sqlite3_free(marks);
    return sqlite3_mprintf("UPDATE \"%w\" SET %z WHERE (%s) = (%s) RETURNING %s", table->name, names,
                           table->key_sql, table->key_marks, table->key_sql);
  }
  if (names != NULL && names[0] == 0) {
    sqlite3_free(names);
    sqlite3_free(marks);
    return sqlite3_mprintf("INSERT INTO \"%w\" DEFAULT VALUES RETURNING %s", table->name, table->key_sql);
  }
  return sqlite3_mprintf("INSERT INTO \"%w\"(%z) VALUES (%z) RETURNING %s", table->name, names, marks,
                         table->key_sql);
}

/* The id and digest of a row after an operation, and a remark if SQLite stored another value. */
static int32_t read_back(work *work, const operation *operation, sqlite3_value **key,
                         tabella_edit_result *out, int64_t edit, tabella_digest *digest) {
  const table *table = operation->table;
  sqlite3_stmt *row = NULL;
  stored *values = (stored *)calloc((size_t)table->key_count + 1, sizeof *values);
  tabella_buffer id = {NULL, 0, 0, 0};
  int32_t code;
  int64_t i;
  if (values == NULL) return tabella_fail(work->error, TABELLA_INTERNAL, "out of memory");
  for (i = 0; i < table->key_count; i++) values[i] = value_of(key[i]);
  code = select_row(work, table, values, &row);
  free(values);
  if (code == TABELLA_OK) {
    *digest = row_digest(table, row, table->key_count);
    row_id(table, row, table->key_count, 0, &id);
    tabella_buffer_put(&id, "", 1);
    if (out != NULL && !id.failed) tabella_result_id(out, edit, id.bytes);
    for (i = 0; i < operation->count && out != NULL; i++) {
      const stored *given = &operation->values[i];
      stored now = value_of(sqlite3_column_value(row, table->key_count + (int)operation->columns[i]));
      int is_same = now.type == given->type && now.integer == given->integer &&
                    memcmp(&now.real, &given->real, sizeof now.real) == 0 && now.size == given->size &&
                    (now.size == 0 || memcmp(now.bytes, given->bytes, (size_t)now.size) == 0);
      if (!is_same) tabella_result_message(out, edit, TABELLA_OK, "the database stored the value in its own form");
    }
  }
  tabella_buffer_free(&id);
  sqlite3_finalize(row);
  return code;
}

/* Notes the inverse of a change of this row, before the change. `key` is null for a deletion. */
static void note_old(work *work, const operation *operation, sqlite3_stmt *row) {
  const table *table = operation->table;
  int64_t i;
  for (i = 0; i < operation->count; i++) {
    int64_t column = operation->columns[i];
    stored old = value_of(sqlite3_column_value(row, table->key_count + (int)column));
    put_column(work, &table->columns[column], &old);
  }
}

/* The columns of a table that can be set. */
static int64_t settable(const table *table, int64_t *columns) {
  int64_t i, count = 0;
  for (i = 0; i < table->column_count; i++)
    if (!table->columns[i].is_generated) columns[count++] = i;
  return count;
}

static int32_t delete_row(work *work, operation *operation, sqlite3_stmt *row) {
  table *table = operation->table;
  int64_t *columns = (int64_t *)calloc((size_t)table->column_count + 1, sizeof *columns);
  sqlite3_value **key = (sqlite3_value **)calloc((size_t)table->key_count + 1, sizeof *key);
  sqlite3_stmt *statement = NULL;
  stored first = value_of(sqlite3_column_value(row, 0));
  int32_t code;
  if (columns == NULL || key == NULL) {
    free(columns);
    free(key);
    return tabella_fail(work->error, TABELLA_INTERNAL, "out of memory");
  }
  operation->columns = columns;
  operation->count = settable(table, columns);
  put_operation(work, 'I', table, &first, table->has_rowid, "", operation->count);
  note_old(work, operation, row);
  sqlite3_reset(row);
  code = database_prepare(work->writer,
                          sqlite3_mprintf("DELETE FROM \"%w\" WHERE (%s) = (%s) RETURNING %s", table->name,
                                          table->key_sql, table->key_marks, table->key_sql),
                          &statement, work->error);
  if (code == TABELLA_OK && !bind_all(statement, 1, operation->key, table->key_count))
    code = database_fail(work->writer, "", work->error);
  if (code == TABELLA_OK) code = run(work, statement, table, key);
  sqlite3_finalize(statement);
  free_key(key, table->key_count);
  free(key);
  free(columns);
  operation->columns = NULL;
  operation->count = 0;
  return code;
}

/* Updates or inserts. `row` is the row of an update. */
static int32_t write_row(work *work, operation *operation, sqlite3_stmt *row, tabella_edit_result *out,
                         int64_t edit) {
  table *table = operation->table;
  sqlite3_value **key = (sqlite3_value **)calloc((size_t)table->key_count + 1, sizeof *key);
  stored *stored_key = (stored *)calloc((size_t)table->key_count + 1, sizeof *stored_key);
  tabella_buffer old = {NULL, 0, 0, 0};
  tabella_digest digest;
  sqlite3_stmt *statement = NULL;
  int is_update = operation->kind == 'U', first = 1;
  int32_t code = TABELLA_OK;
  int64_t i;
  if (key == NULL || stored_key == NULL)
    code = tabella_fail(work->error, TABELLA_INTERNAL, "out of memory");
  if (code == TABELLA_OK && is_update) {
    /* The old values, before the key and the digest of the new row are known. */
    tabella_buffer inverse = work->inverse;
    work->inverse = old;
    note_old(work, operation, row);
    old = work->inverse;
    work->inverse = inverse;
    sqlite3_reset(row);
  }
  if (code == TABELLA_OK)
    code = database_prepare(work->writer, statement_text(operation), &statement, work->error);
  if (code == TABELLA_OK && !is_update && operation->key_count > 0)
    bind_all(statement, first++, operation->key, 1);
  if (code == TABELLA_OK && (!bind_all(statement, first, operation->values, operation->count) ||
                             (is_update && !bind_all(statement, first + (int)operation->count, operation->key,
                                                     table->key_count))))
    code = database_fail(work->writer, "", work->error);
  if (code == TABELLA_OK) code = run(work, statement, table, key);
  sqlite3_finalize(statement);
  if (code == TABELLA_OK) code = read_back(work, operation, key, out, edit, &digest);
  if (code == TABELLA_OK) {
    for (i = 0; i < table->key_count; i++) stored_key[i] = value_of(key[i]);
    put_operation(work, is_update ? 'U' : 'D', table, stored_key, table->key_count, digest.text,
                  is_update ? operation->count : 0);
    tabella_buffer_put(&work->inverse, old.bytes, old.size);
    if (old.failed) work->inverse.failed = 1;
  }
  tabella_buffer_free(&old);
  if (key != NULL) free_key(key, table->key_count);
  free(key);
  free(stored_key);
  return code;
}

/* Does one operation, and notes its inverse. `out` and `edit` receive the id of the row; null for an undo. */
static int32_t operate(work *work, operation *operation, tabella_edit_result *out, int64_t edit) {
  sqlite3_stmt *row = NULL;
  int32_t code = TABELLA_OK;
  if (operation->kind == 'I') return write_row(work, operation, NULL, out, edit);
  code = select_row(work, operation->table, operation->key, &row);
  if (code == TABELLA_OK && operation->digest[0] != 0) {
    tabella_digest digest = row_digest(operation->table, row, operation->table->key_count);
    if (strcmp(digest.text, operation->digest) != 0) code = fail_row(work);
  }
  if (code == TABELLA_OK)
    code = operation->kind == 'D' ? delete_row(work, operation, row)
                                  : write_row(work, operation, row, out, edit);
  sqlite3_finalize(row);
  return code;
}

/* ------------------------------------------------------------------------------------------------
 * The end of a batch
 * --------------------------------------------------------------------------------------------- */

/* Sets the receipt: the inverse operations, the last first. */
static void set_receipt(work *work, tabella_edit_result *out, int64_t outcomes) {
  tabella_buffer receipt = {NULL, 0, 0, 0};
  tabella_digest digest;
  int64_t i;
  if (work->inverse.size <= RECEIPT_LIMIT) {
    tabella_buffer_text(&receipt, RECEIPT_MARK);
    put_bytes(&receipt, work->source->db.path, (int64_t)strlen(work->source->db.path));
    put_number(&receipt, work->done);
    for (i = work->done - 1; i >= 0; i--) {
      int64_t end = i + 1 < work->done ? work->starts[i + 1] : (int64_t)work->inverse.size;
      tabella_buffer_put(&receipt, work->inverse.bytes + work->starts[i], (size_t)(end - work->starts[i]));
    }
    digest = tabella_digest_of(receipt.bytes, receipt.size);
    tabella_buffer_text(&receipt, digest.text);
    if (!receipt.failed) tabella_result_receipt(out, receipt.bytes, receipt.size);
  }
  for (i = 0; i < outcomes && (work->inverse.size > RECEIPT_LIMIT || receipt.failed); i++) {
    tabella_result_message(out, i, TABELLA_OK, "the edit is too large to be undone");
    tabella_result_final(out, i);
  }
  tabella_buffer_free(&receipt);
}

/* Remarks about rows that triggers and foreign keys changed, which the receipt does not contain. */
static int remark_others(work *work, tabella_edit_result *out, int64_t outcomes) {
  int64_t others = sqlite3_total_changes64(work->writer) - work->statements, i;
  char text[160];
  if (others <= 0) return 0;
  snprintf(text, sizeof text, "triggers or foreign keys changed %lld more %s, which an undo does not restore",
           (long long)others, others == 1 ? "row" : "rows");
  for (i = 0; i < outcomes; i++) {
    tabella_result_message(out, i, TABELLA_OK, text);
    tabella_result_final(out, i);
  }
  return 1;
}

static int32_t check_foreign_keys(work *work) {
  int now = 0, highest = 0;
  sqlite3_db_status(work->writer, SQLITE_DBSTATUS_DEFERRED_FKS, &now, &highest, 0);
  return now == 0 ? TABELLA_OK
                  : tabella_fail(work->error, TABELLA_CONSTRAINT, "FOREIGN KEY constraint failed");
}

/* Completes the result, commits, and moves the source to the new version. A dry run stops before the commit. */
static int32_t finish(work *work, const tabella_plan *plan, const char *from, int reloads, int dry_run,
                      tabella_edit_result *out) {
  source *source = work->source;
  int64_t outcomes = out->outcome_count;
  int32_t code = check_foreign_keys(work);
  tabella_error ignored;
  if (work->inverse.failed && code == TABELLA_OK)
    code = tabella_fail(work->error, TABELLA_INTERNAL, "out of memory");
  if (remark_others(work, out, outcomes)) reloads = 1;
  if (!dry_run) set_receipt(work, out, outcomes);
  /* All versions have 32 digits, so the new one is written over the old one. Nothing may fail after the commit. */
  tabella_result_changes(out, reloads || dry_run ? NULL : plan, from, from);
  if (code == TABELLA_OK) code = tabella_result_finish(out, work->error);
  else tabella_result_drop(out);
  if (code != TABELLA_OK) return code;
  if (dry_run) {
    out->changes.flags = 0;
    return TABELLA_OK;
  }
  code = database_commit(&source->db, work->writer, work->error);
  if (code != TABELLA_OK) {
    tabella_result_drop(out);
    return code;
  }
  database_end(work->writer);
  work->writer = NULL;
  memset(&ignored, 0, sizeof ignored);
  if (source_reload(source, &ignored) != TABELLA_OK) {
    if (ignored.release != NULL) ignored.release(&ignored);
    tabella_result_remark(out, TABELLA_OK, "the edit is stored, but the database cannot be read again");
  }
  memcpy((char *)out->changes.to_version.bytes, source->db.version.text, 32);
  return TABELLA_OK;
}

static int32_t begin(work *work, source *source, int64_t operations, tabella_error *error) {
  memset(work, 0, sizeof *work);
  work->source = source;
  work->error = error;
  work->starts = (int64_t *)calloc((size_t)operations + 1, sizeof *work->starts);
  if (work->starts == NULL) return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  return database_begin(&source->db, &work->writer, error);
}

static void end(work *work) {
  database_end(work->writer);
  tabella_buffer_free(&work->inverse);
  free(work->starts);
}

/* ------------------------------------------------------------------------------------------------
 * Commit
 * --------------------------------------------------------------------------------------------- */

/* If other rows changed meanwhile, an edit by id is still possible: the id contains the row's digest. */
static int only_ids(const tabella_edit_batch *batch) {
  int64_t i;
  if (batch->version.bytes != NULL && batch->version.length > 0) return 0;
  for (i = 0; i < batch->edit_count; i++)
    if (batch->edits[i].id.bytes == NULL || batch->edits[i].kind == TABELLA_EDIT_INSERT) return 0;
  return 1;
}

/* Checks under the write lock that nobody changed the data since the source was opened. */
static int32_t settle(work *work, const tabella_edit_batch *batch) {
  int32_t code = database_read(&work->source->db, work->error);
  if (code == TABELLA_OK) {
    database_read_end(&work->source->db);
    return TABELLA_OK;
  }
  if (code != TABELLA_CONFLICT || work->error->retryable || !only_ids(batch)) return code;
  if (work->error->release != NULL) work->error->release(work->error);
  memset(work->error, 0, sizeof *work->error);
  return source_reload(work->source, work->error);
}

/* Reads the keys of the edited rows, with the reader, before anything changes. */
static int32_t read_keys(source *source, const tabella_plan *plan, int64_t edit, operation *operation,
                         tabella_error *error) {
  table *table = operation->table;
  sqlite3_value **key = (sqlite3_value **)calloc((size_t)table->key_count + 1, sizeof *key);
  sqlite3_stmt *row = NULL;
  char *all = table_all(table);
  int i;
  int32_t code = key == NULL || all == NULL ? tabella_fail(error, TABELLA_INTERNAL, "out of memory")
                                            : database_read(&source->db, error);
  operation->key = (stored *)calloc((size_t)table->key_count + 1, sizeof(stored));
  if (code == TABELLA_OK) {
    code = table_seek(source, table, plan->from[edit].row, all, &row, error);
    if (code == TABELLA_OK && sqlite3_step(row) != SQLITE_ROW)
      code = database_fail(source->db.reader, "", error);
    for (i = 0; i < table->key_count && code == TABELLA_OK; i++) {
      key[i] = sqlite3_value_dup(sqlite3_column_value(row, i));
      if (key[i] == NULL || operation->key == NULL)
        code = tabella_fail(error, TABELLA_INTERNAL, "out of memory");
      else
        operation->key[i] = value_of(key[i]);
    }
    if (code == TABELLA_OK)
      memcpy(operation->digest, row_digest(table, row, table->key_count).text, sizeof operation->digest);
    sqlite3_finalize(row);
    database_read_end(&source->db);
  }
  sqlite3_free(all);
  operation->key_count = table->key_count;
  operation->held = key;
  return code;
}

/* The cells of an edit, as columns and values of the table. */
static int32_t read_cells(const source *source, const tabella_edit *edit, operation *operation,
                          int *reloads, tabella_error *error) {
  int64_t i;
  operation->columns = (int64_t *)calloc((size_t)edit->cell_count + 1, sizeof *operation->columns);
  operation->values = (stored *)calloc((size_t)edit->cell_count + 1, sizeof *operation->values);
  if (operation->columns == NULL || operation->values == NULL)
    return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  for (i = 0; i < edit->cell_count; i++) {
    const char *name = source->columns[edit->cells[i].column].name;
    int64_t column = table_find(operation->table, edit->cells[i].column);
    if (column < 0)
      return tabella_fail(error, TABELLA_CONSTRAINT, "table %s has no column %s", operation->table->name, name);
    if (operation->table->columns[column].is_generated)
      return tabella_fail(error, TABELLA_CONSTRAINT, "the column %s is computed from others", name);
    if (operation->table->columns[column].key > 0) *reloads = 1; /* The key decides the position. */
    operation->columns[i] = column;
    operation->values[i] = value_of_cell(&edit->cells[i].value);
    operation->count++;
  }
  return TABELLA_OK;
}

/* Remarks on sets whose columns have another type by now, so that their cells look different. */
static int remark_types(work *work, const tabella_edit_batch *batch, tabella_edit_result *out) {
  source after;
  tabella_error ignored;
  int64_t i, cell;
  int differs;
  memset(&after, 0, sizeof after);
  memset(&ignored, 0, sizeof ignored);
  after.only = work->source->only;
  after.sample = work->source->sample;
  after.db.reader = work->writer;
  differs = source_read_tables(&after, &ignored) != TABELLA_OK ||
            after.column_count != work->source->column_count;
  for (i = 0; i < after.column_count && !differs; i++)
    differs = after.columns[i].type != work->source->columns[i].type ||
              strcmp(after.columns[i].name, work->source->columns[i].name) != 0;
  for (i = 0; i < batch->edit_count && differs; i++)
    for (cell = 0; cell < batch->edits[i].cell_count; cell++) {
      int64_t column = batch->edits[i].cells[cell].column;
      if (column < after.column_count && after.columns[column].type == work->source->columns[column].type)
        continue;
      tabella_result_message(out, i, TABELLA_OK, "the column has another type now, as its values show");
    }
  if (ignored.release != NULL) ignored.release(&ignored);
  after.db.reader = NULL;
  after.only = NULL;
  source_close(&after);
  return differs;
}

static char kind_of(const tabella_edit *edit) {
  return edit->kind == TABELLA_EDIT_DELETE ? 'D' : edit->kind == TABELLA_EDIT_SET ? 'U' : 'I';
}

/* Whether a section shows rows of others, which an edit can add, change and remove. */
static int has_view(const source *source) {
  int64_t i;
  for (i = 0; i < source->table_count; i++)
    if (source->tables[i].key_count == 0) return 1;
  return 0;
}

/* Does all edits of a plan: deletions first, because they make room for keys. */
static int32_t edit_rows(work *work, const tabella_plan *plan, operation *operations,
                         tabella_edit_result *out, int *reloads) {
  static const char order[] = "DUI";
  const tabella_edit_batch *batch = plan->batch;
  int32_t code = TABELLA_OK;
  int64_t i;
  int pass;
  if (has_view(work->source)) *reloads = 1;
  for (i = 0; i < batch->edit_count && code == TABELLA_OK; i++) {
    int64_t section = batch->edits[i].kind == TABELLA_EDIT_INSERT ? batch->edits[i].target.section
                                                                  : plan->from[i].section;
    operation *operation = &operations[i];
    operation->kind = kind_of(&batch->edits[i]);
    operation->table = &work->source->tables[section];
    if (operation->table->is_read_only)
      return tabella_fail(work->error, TABELLA_READ_ONLY, "%s is a view, and cannot be edited",
                          operation->table->name);
    if (operation->kind == 'I') *reloads = 1;
    else code = read_keys(work->source, plan, i, operation, work->error);
    if (code == TABELLA_OK && operation->kind != 'D')
      code = read_cells(work->source, &batch->edits[i], operation, reloads, work->error);
  }
  for (pass = 0; pass < 3; pass++)
    for (i = 0; i < batch->edit_count && code == TABELLA_OK; i++)
      if (operations[i].kind == order[pass] && (operations[i].count > 0 || order[pass] != 'U'))
        code = operate(work, &operations[i], out, i);
  return code;
}

static int32_t apply(work *work, const tabella_plan *plan, tabella_edit_result *out, int *reloads) {
  const tabella_edit_batch *batch = plan->batch;
  operation *operations = (operation *)calloc((size_t)batch->edit_count + 1, sizeof *operations);
  int32_t code = operations == NULL ? tabella_fail(work->error, TABELLA_INTERNAL, "out of memory")
                                    : edit_rows(work, plan, operations, out, reloads);
  int64_t i;
  for (i = 0; i < batch->edit_count && operations != NULL; i++) {
    if (operations[i].held != NULL) free_key(operations[i].held, operations[i].key_count);
    free(operations[i].held);
    free(operations[i].key);
    free(operations[i].columns);
    free(operations[i].values);
  }
  free(operations);
  return code;
}

int32_t source_commit(source *source, const tabella_source_table *table, const tabella_edit_batch *batch,
                      tabella_edit_result *out, tabella_error *error) {
  int dry_run = (batch->flags & TABELLA_EDITS_DRY_RUN) != 0, reloads = 0, has_plan = 0;
  char from[33];
  tabella_plan plan;
  work work;
  int64_t i;
  int32_t code;
  for (i = 0; i < batch->edit_count; i++)
    if (batch->edits[i].kind == TABELLA_EDIT_MOVE)
      return tabella_fail(error, TABELLA_NOT_SUPPORTED,
                          "rows of SQL have no order of their own, so they cannot be moved");
  memcpy(from, source->db.version.text, sizeof from);
  source->db.cancelled = 0;
  code = begin(&work, source, batch->edit_count, error);
  if (code == TABELLA_OK) code = settle(&work, batch);
  if (code == TABELLA_OK) {
    if (strcmp(from, source->db.version.text) != 0) reloads = 1;
    code = tabella_plan_make(&plan, source, table, source->columns, source->column_count,
                             TABELLA_PLAN_IDS_OF_CONTENT, batch, error);
    has_plan = code == TABELLA_OK;
  }
  if (code == TABELLA_OK) {
    tabella_result_begin(out, batch->edit_count);
    code = apply(&work, &plan, out, &reloads);
    if (code == TABELLA_OK && remark_types(&work, batch, out)) reloads = 1;
    if (code == TABELLA_OK) code = finish(&work, &plan, from, reloads, dry_run, out);
    else tabella_result_drop(out);
  }
  if (has_plan) tabella_plan_free(&plan);
  end(&work);
  return code;
}

/* ------------------------------------------------------------------------------------------------
 * Undo
 * --------------------------------------------------------------------------------------------- */

static table *table_named(source *source, const char *name, int64_t size) {
  int64_t i;
  for (i = 0; i < source->table_count; i++)
    if ((int64_t)strlen(source->tables[i].name) == size && memcmp(source->tables[i].name, name, (size_t)size) == 0)
      return &source->tables[i];
  return NULL;
}

static int32_t fail_receipt(tabella_error *error) {
  return tabella_fail(error, TABELLA_CONFLICT, "the receipt is damaged, or no receipt of this database");
}

/* Reads an operation of a receipt, whose arrays the caller frees. */
static int32_t take_operation(source *source, reading *in, operation *out, tabella_error *error) {
  int64_t size, i, columns, number;
  const char *name;
  memset(out, 0, sizeof *out);
  out->kind = *take(in, 1);
  name = take_bytes(in, &size);
  out->table = in->failed ? NULL : table_named(source, name, size);
  if (out->table == NULL || out->table->is_read_only)
    return in->failed ? fail_receipt(error)
                      : tabella_fail(error, TABELLA_CONFLICT, "the table %.*s is not there any more",
                                     (int)(size & 0xFFF), name);
  number = take_number(in);
  if (in->failed || (out->kind != 'I' && number != out->table->key_count) || number < 0 ||
      number > out->table->key_count || strchr("UDI", out->kind) == NULL)
    return fail_receipt(error);
  out->key_count = (int)number;
  out->key = (stored *)calloc((size_t)number + 1, sizeof *out->key);
  for (i = 0; i < number && out->key != NULL; i++) out->key[i] = take_value(in);
  name = take_bytes(in, &size);
  if (in->failed || size > 32) return fail_receipt(error);
  memcpy(out->digest, name, (size_t)size);
  columns = take_number(in);
  if (in->failed || columns < 0 || columns > out->table->column_count) return fail_receipt(error);
  out->columns = (int64_t *)calloc((size_t)columns + 1, sizeof *out->columns);
  out->values = (stored *)calloc((size_t)columns + 1, sizeof *out->values);
  if (out->key == NULL || out->columns == NULL || out->values == NULL)
    return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  for (out->count = 0; out->count < columns; out->count++) {
    name = take_bytes(in, &size);
    for (i = 0; i < out->table->column_count; i++)
      if ((int64_t)strlen(out->table->columns[i].name) == size &&
          memcmp(out->table->columns[i].name, name, (size_t)size) == 0)
        break;
    if (in->failed) return fail_receipt(error);
    if (i == out->table->column_count)
      return tabella_fail(error, TABELLA_CONFLICT, "the columns of the table %s have changed", out->table->name);
    out->columns[out->count] = i;
    out->values[out->count] = take_value(in);
  }
  return in->failed ? fail_receipt(error) : TABELLA_OK;
}

/* Checks mark, digest and path of a receipt. `in` then begins with the number of operations. */
static int32_t open_receipt(const source *source, tabella_string receipt, reading *in, tabella_error *error) {
  tabella_digest digest;
  int64_t size, mark = (int64_t)strlen(RECEIPT_MARK);
  const char *path;
  if (receipt.bytes == NULL || receipt.length < mark + 32 || memcmp(receipt.bytes, RECEIPT_MARK, (size_t)mark) != 0)
    return fail_receipt(error);
  digest = tabella_digest_of(receipt.bytes, (size_t)receipt.length - 32);
  if (memcmp(digest.text, receipt.bytes + receipt.length - 32, 32) != 0) return fail_receipt(error);
  in->at = receipt.bytes + mark;
  in->left = receipt.length - mark - 32;
  in->failed = 0;
  path = take_bytes(in, &size);
  if (in->failed || size != (int64_t)strlen(source->db.path) || memcmp(path, source->db.path, (size_t)size) != 0)
    return tabella_fail(error, TABELLA_CONFLICT, "the receipt is of another database");
  return TABELLA_OK;
}

int32_t source_undo(source *source, tabella_string receipt, int dry_run, tabella_edit_result *out,
                    tabella_error *error) {
  reading in;
  work work;
  char from[33];
  int64_t count, i;
  int32_t code = open_receipt(source, receipt, &in, error);
  if (code != TABELLA_OK) return code;
  count = take_number(&in);
  if (in.failed || count < 0 || count > in.left) return fail_receipt(error);
  memcpy(from, source->db.version.text, sizeof from);
  source->db.cancelled = 0;
  code = begin(&work, source, count, error);
  if (code == TABELLA_OK) code = database_read(&source->db, error);
  if (code == TABELLA_OK) database_read_end(&source->db);
  for (i = 0; i < count && code == TABELLA_OK; i++) {
    operation operation;
    code = take_operation(source, &in, &operation, error);
    if (code == TABELLA_OK) code = operate(&work, &operation, NULL, 0);
    /* Another row has the key of a deleted one, for example. */
    if (code == TABELLA_CONSTRAINT) code = TABELLA_CONFLICT;
    free(operation.key);
    free(operation.columns);
    free(operation.values);
  }
  if (code == TABELLA_OK) {
    tabella_result_begin(out, 1);
    code = finish(&work, NULL, from, 1, dry_run, out);
  }
  end(&work);
  return code;
}
