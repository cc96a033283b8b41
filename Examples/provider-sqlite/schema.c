/* The tables of a database, their columns and the types of these. */
#include "source.h"

#include <ctype.h>
#include <strings.h>

static char *copied(const char *text) {
  char *copy = (char *)malloc(strlen(text) + 1);
  if (copy != NULL) memcpy(copy, text, strlen(text) + 1);
  return copy;
}

void table_forget(table *table) {
  int64_t i;
  for (i = 0; i < table->mark_count * table->key_count; i++) sqlite3_value_free(table->marks[i]);
  free(table->marks);
  table->marks = NULL;
  table->mark_count = 0;
  table->known = 0;
  table->is_exact = 0;
}

static void free_table(table *table) {
  int64_t i;
  table_forget(table);
  for (i = 0; i < table->column_count; i++) free(table->columns[i].name);
  free(table->columns);
  free(table->name);
  free(table->label);
  sqlite3_free(table->key_sql);
  sqlite3_free(table->key_marks);
}

/* Frees all but the options. */
static void clear(source *source) {
  int64_t i;
  database_close(&source->db);
  for (i = 0; i < source->table_count; i++) free_table(&source->tables[i]);
  for (i = 0; i < source->column_count; i++) free((char *)source->columns[i].name);
  for (i = 0; i < source->remark_count; i++) free(source->remarks[i]);
  free(source->tables);
  free(source->columns);
  free(source->remarks);
  free(source->lent_remark);
  source->tables = NULL;
  source->columns = NULL;
  source->remarks = NULL;
  source->lent_remark = NULL;
  source->table_count = source->column_count = source->remark_count = source->remark_next = 0;
}

void source_close(source *source) {
  clear(source);
  free(source->only);
}

int64_t table_find(const table *table, int64_t column) {
  int64_t i;
  for (i = 0; i < table->column_count; i++)
    if (table->columns[i].column == column) return i;
  return -1;
}

/* ------------------------------------------------------------------------------------------------
 * Tables
 * --------------------------------------------------------------------------------------------- */

/* SQLite's rules for the affinity of a declared type. */
static int affinity_of(const char *declared) {
  char upper[64];
  size_t i;
  for (i = 0; declared[i] != 0 && i < sizeof upper - 1; i++)
    upper[i] = (char)toupper((unsigned char)declared[i]);
  upper[i] = 0;
  if (strstr(upper, "INT") != NULL) return TABELLA_TYPE_INTEGER;
  if (strstr(upper, "CHAR") != NULL || strstr(upper, "CLOB") != NULL || strstr(upper, "TEXT") != NULL)
    return TABELLA_TYPE_TEXT;
  if (strstr(upper, "BLOB") != NULL) return TABELLA_TYPE_BINARY;
  if (strstr(upper, "REAL") != NULL || strstr(upper, "FLOA") != NULL || strstr(upper, "DOUB") != NULL)
    return TABELLA_TYPE_REAL;
  return TABELLA_TYPE_TEXT;
}

/* The label of a name in ids: bytes other than letters, digits, - and _ become %XX. */
static char *label_of(const char *name) {
  char *label = (char *)malloc(3 * strlen(name) + 1), *at = label;
  if (label == NULL) return NULL;
  for (; *name != 0; name++) {
    unsigned char byte = (unsigned char)*name;
    if (byte < 0x80 && (isalnum(byte) || byte == '-' || byte == '_')) *at++ = (char)byte;
    else at += sprintf(at, "%%%02X", byte);
  }
  *at = 0;
  return label;
}

static int32_t read_columns(source *source, table *table, tabella_error *error) {
  sqlite3_stmt *list;
  int64_t room = 0;
  int32_t code = database_prepare(
      source->db.reader,
      sqlite3_mprintf("SELECT name, type, pk, hidden FROM pragma_table_xinfo(%Q)", table->name), &list,
      error);
  if (code != TABELLA_OK) return code;
  while (sqlite3_step(list) == SQLITE_ROW) {
    int hidden = sqlite3_column_int(list, 3);
    table_column *column;
    if (hidden == 1) continue;
    if (table->column_count == room) {
      table_column *grown = (table_column *)realloc(table->columns, (size_t)(room * 2 + 8) * sizeof *grown);
      if (grown == NULL) break;
      table->columns = grown;
      room = room * 2 + 8;
    }
    column = &table->columns[table->column_count];
    memset(column, 0, sizeof *column);
    column->name = copied((const char *)sqlite3_column_text(list, 0));
    column->affinity = affinity_of((const char *)sqlite3_column_text(list, 1));
    column->key = sqlite3_column_int(list, 2);
    column->is_generated = hidden != 0;
    if (column->name == NULL) break;
    table->column_count++;
  }
  if (sqlite3_finalize(list) != SQLITE_OK) return database_fail(source->db.reader, "", error);
  return TABELLA_OK;
}

static int has_column(const table *table, const char *name) {
  int64_t i;
  for (i = 0; i < table->column_count; i++)
    if (strcasecmp(table->columns[i].name, name) == 0) return 1;
  return 0;
}

/* The columns that identify and order the rows: the rowid, or the primary key of a table without one. */
static void choose_key(table *table, int has_rowid) {
  static const char *const names[] = {"rowid", "_rowid_", "oid"};
  int64_t i;
  int number;
  if (table->is_read_only) return;
  if (has_rowid) {
    for (i = 0; i < 3 && has_column(table, names[i]); i++) {}
    /* All three names are columns: the rowid cannot be named, and the rows cannot be edited. */
    if (i == 3) {
      table->is_read_only = 1;
      return;
    }
    table->key_count = 1;
    table->has_rowid = 1;
    table->key_sql = sqlite3_mprintf("\"%w\"", names[i]);
    table->key_marks = sqlite3_mprintf("?");
    return;
  }
  for (number = 1; number <= (int)table->column_count; number++) {
    for (i = 0; i < table->column_count; i++) {
      if (table->columns[i].key != number) continue;
      table->key_sql = number == 1 ? sqlite3_mprintf("\"%w\"", table->columns[i].name)
                                   : sqlite3_mprintf("%z,\"%w\"", table->key_sql, table->columns[i].name);
      table->key_marks = number == 1 ? sqlite3_mprintf("?") : sqlite3_mprintf("%z,?", table->key_marks);
      table->key_count++;
    }
  }
}

/* Notes the types of the values in the first rows. */
static int32_t read_sample(source *source, table *table, tabella_error *error) {
  char *list = sqlite3_mprintf("");
  sqlite3_stmt *rows;
  int64_t i;
  int code;
  int32_t prepared;
  for (i = 0; i < table->column_count && list != NULL; i++) {
    const char *name = table->columns[i].name;
    list = sqlite3_mprintf("%z%sCASE WHEN typeof(\"%w\")='integer' AND \"%w\" NOT BETWEEN -9007199254740992 "
                           "AND 9007199254740992 THEN 'large' ELSE typeof(\"%w\") END",
                           list, i > 0 ? "," : "", name, name, name);
  }
  prepared = database_prepare(
      source->db.reader,
      sqlite3_mprintf("SELECT %z FROM \"%w\" LIMIT %lld", list, table->name,
                      (long long)(source->sample > 0 ? source->sample : -1)),
      &rows, error);
  if (prepared != TABELLA_OK) return prepared;
  while ((code = sqlite3_step(rows)) == SQLITE_ROW) {
    for (i = 0; i < table->column_count; i++) {
      switch (sqlite3_column_text(rows, (int)i)[0]) {
        case 'i': table->columns[i].seen |= SEEN_INTEGER; break;
        case 'l': table->columns[i].seen |= SEEN_INTEGER | SEEN_LARGE; break;
        case 'r': table->columns[i].seen |= SEEN_REAL; break;
        case 't': table->columns[i].seen |= SEEN_TEXT; break;
        case 'b': table->columns[i].seen |= SEEN_BLOB; break;
        default: break; /* null */
      }
    }
  }
  sqlite3_finalize(rows);
  return code == SQLITE_DONE ? TABELLA_OK : database_fail(source->db.reader, "", error);
}

static int32_t read_table(source *source, table *table, const char *name, const char *type, int has_rowid,
                          tabella_error *error) {
  int32_t code;
  memset(table, 0, sizeof *table);
  table->name = copied(name);
  table->label = label_of(name);
  table->is_read_only = strcmp(type, "table") != 0;
  if (table->name == NULL || table->label == NULL)
    return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  code = read_columns(source, table, error);
  if (code == TABELLA_OK && table->column_count == 0)
    code = tabella_fail(error, TABELLA_IO, "it has no columns");
  if (code != TABELLA_OK) return code;
  choose_key(table, has_rowid);
  return read_sample(source, table, error);
}

/* ------------------------------------------------------------------------------------------------
 * Columns of the source
 * --------------------------------------------------------------------------------------------- */

/* The type of a column with these values. Values of several types are shown as text. */
static int32_t type_of(int seen, int affinity) {
  switch (seen & ~SEEN_LARGE) {
    case 0: return affinity;
    case SEEN_INTEGER: return TABELLA_TYPE_INTEGER;
    case SEEN_REAL: return TABELLA_TYPE_REAL;
    case SEEN_INTEGER | SEEN_REAL: return seen & SEEN_LARGE ? TABELLA_TYPE_TEXT : TABELLA_TYPE_REAL;
    case SEEN_BLOB: return TABELLA_TYPE_BINARY;
    default: return TABELLA_TYPE_TEXT;
  }
}

static int64_t column_named(const source *source, const char *name) {
  int64_t i;
  for (i = 0; i < source->column_count; i++)
    if (strcmp(source->columns[i].name, name) == 0) return i;
  return -1;
}

/* Columns of equal names become one. Its values are those of all tables together. */
static int32_t unite(source *source, tabella_error *error) {
  int64_t number, i, total = 0;
  int *seen, *affinity;
  for (number = 0; number < source->table_count; number++) total += source->tables[number].column_count;
  source->columns = (tabella_column *)calloc((size_t)total + 1, sizeof *source->columns);
  seen = (int *)calloc((size_t)total * 2 + 1, sizeof *seen);
  if (source->columns == NULL || seen == NULL) {
    free(seen);
    return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  }
  affinity = seen + total;
  for (number = 0; number < source->table_count; number++) {
    table *table = &source->tables[number];
    for (i = 0; i < table->column_count; i++) {
      table_column *column = &table->columns[i];
      int64_t at = column_named(source, column->name);
      if (at < 0) {
        at = source->column_count;
        source->columns[at].name = copied(column->name);
        if (source->columns[at].name == NULL) break;
        source->column_count++;
        affinity[at] = column->affinity;
      }
      if (affinity[at] != column->affinity) affinity[at] = TABELLA_TYPE_TEXT;
      seen[at] |= column->seen;
      column->column = at;
    }
  }
  for (i = 0; i < source->column_count; i++) source->columns[i].type = type_of(seen[i], affinity[i]);
  free(seen);
  return TABELLA_OK;
}

/* ------------------------------------------------------------------------------------------------
 * The source
 * --------------------------------------------------------------------------------------------- */

static void remark(source *source, const char *name, tabella_error *error) {
  char *text = sqlite3_mprintf("%s cannot be shown: %.*s", name, (int)error->message.length,
                               error->message.bytes != NULL ? error->message.bytes : "");
  char *at;
  char **grown = (char **)realloc(source->remarks, (size_t)(source->remark_count + 1) * sizeof *grown);
  if (error->release != NULL) error->release(error);
  memset(error, 0, sizeof *error);
  for (at = text; at != NULL && *at != 0; at++)
    if ((unsigned char)*at < 0x20 || *at == 0x7F) *at = ' ';
  if (grown != NULL) source->remarks = grown;
  if (grown != NULL && text != NULL && (grown[source->remark_count] = copied(text)) != NULL)
    source->remark_count++;
  sqlite3_free(text);
}

/* Tables and views in the order of their creation. Tables that others use internally are left out. */
static const char *const list_sql =
    "SELECT s.name, l.type, l.wr FROM sqlite_schema AS s JOIN pragma_table_list AS l ON l.name = s.name "
    "WHERE l.schema = 'main' AND l.type IN ('table', 'view', 'virtual') AND s.type IN ('table', 'view') "
    "AND s.name NOT LIKE 'sqlite\\_%%' ESCAPE '\\' ORDER BY s.rowid";

int32_t source_read_tables(source *source, tabella_error *error) {
  sqlite3_stmt *list;
  int64_t room = 0;
  int32_t code = database_prepare(source->db.reader, sqlite3_mprintf(list_sql), &list, error);
  if (code != TABELLA_OK) return code;
  while (code == TABELLA_OK && sqlite3_step(list) == SQLITE_ROW) {
    const char *name = (const char *)sqlite3_column_text(list, 0);
    table *at;
    if (source->only != NULL && strcmp(source->only, name) != 0) continue;
    if (source->table_count == room) {
      table *grown = (table *)realloc(source->tables, (size_t)(room * 2 + 8) * sizeof *grown);
      if (grown == NULL) {
        code = tabella_fail(error, TABELLA_INTERNAL, "out of memory");
        break;
      }
      source->tables = grown;
      room = room * 2 + 8;
    }
    at = &source->tables[source->table_count];
    code = read_table(source, at, name, (const char *)sqlite3_column_text(list, 1),
                      !sqlite3_column_int(list, 2), error);
    if (code == TABELLA_OK) {
      source->table_count++;
      continue;
    }
    free_table(at);
    /* A view of a table that is gone does not hide the others. A damaged file does. */
    if (source->only == NULL && (sqlite3_errcode(source->db.reader) & 0xFF) == SQLITE_ERROR) {
      remark(source, name, error);
      code = TABELLA_OK;
    }
  }
  if (sqlite3_finalize(list) != SQLITE_OK && code == TABELLA_OK)
    code = database_fail(source->db.reader, "", error);
  if (code == TABELLA_OK && source->only != NULL && source->table_count == 0)
    code = tabella_fail(error, TABELLA_NOT_FOUND, "there is no table or view %s", source->only);
  return code == TABELLA_OK ? unite(source, error) : code;
}

static int32_t open_again(source *source, tabella_string location, tabella_error *error) {
  int32_t code = database_open(&source->db, location, source->salt, error);
  if (code == TABELLA_OK) code = database_read(&source->db, error);
  if (code != TABELLA_OK) return code;
  code = source_read_tables(source, error);
  database_read_end(&source->db);
  return code;
}

int32_t source_open(source *source, tabella_string location, tabella_error *error) {
  tabella_digest salt = tabella_digest_of(source->only != NULL ? source->only : "",
                                          source->only != NULL ? strlen(source->only) : 0);
  memcpy(source->salt, salt.text, sizeof salt.text);
  return open_again(source, location, error);
}

int32_t source_reload(source *source, tabella_error *error) {
  char path[PATH_MAX];
  memcpy(path, source->db.path, sizeof path);
  clear(source);
  return open_again(source, tabella_cstring(path), error);
}
