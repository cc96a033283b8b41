/* Ids of rows: LABEL/KEY/DIGEST. The key is the rowid or the primary key, for a view the number of the row. The
 * digest is that of all cells. So an id names a row with exactly this content, and a rowid that is used again
 * does not mislead. */
#include "source.h"

char *table_all(const table *table) {
  char *list = sqlite3_mprintf("");
  int64_t i;
  for (i = 0; i < table->column_count && list != NULL; i++)
    list = sqlite3_mprintf("%z%s\"%w\"", list, i > 0 ? "," : "", table->columns[i].name);
  return list;
}

static void put_hex(tabella_buffer *out, const void *bytes, size_t size) {
  static const char digits[] = "0123456789abcdef";
  const unsigned char *at = (const unsigned char *)bytes;
  size_t i;
  for (i = 0; i < size; i++) {
    tabella_buffer_put(out, &digits[at[i] >> 4], 1);
    tabella_buffer_put(out, &digits[at[i] & 15], 1);
  }
}

/* Appends a key value: i12, r and 16 digits, t or b and the bytes in hexadecimal. */
static void put_key(tabella_buffer *out, sqlite3_value *value) {
  char text[32];
  double real;
  switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
      snprintf(text, sizeof text, "i%lld", (long long)sqlite3_value_int64(value));
      tabella_buffer_text(out, text);
      return;
    case SQLITE_FLOAT:
      real = sqlite3_value_double(value);
      tabella_buffer_text(out, "r");
      put_hex(out, &real, sizeof real);
      return;
    case SQLITE_TEXT:
      tabella_buffer_text(out, "t");
      put_hex(out, sqlite3_value_text(value), (size_t)sqlite3_value_bytes(value));
      return;
    case SQLITE_BLOB:
      tabella_buffer_text(out, "b");
      put_hex(out, sqlite3_value_blob(value), (size_t)sqlite3_value_bytes(value));
      return;
    default: tabella_buffer_text(out, "n");
  }
}

tabella_digest row_digest(const table *table, sqlite3_stmt *row, int first) {
  tabella_hash hash = tabella_hash_begin();
  int64_t i;
  for (i = 0; i < table->column_count; i++) {
    sqlite3_value *value = sqlite3_column_value(row, first + (int)i);
    int type = sqlite3_value_type(value);
    int64_t integer = 0;
    double real = 0;
    const void *bytes = NULL;
    int64_t size = 0;
    tabella_hash_add(&hash, &type, sizeof type);
    if (type == SQLITE_INTEGER) {
      integer = sqlite3_value_int64(value);
      tabella_hash_add(&hash, &integer, sizeof integer);
    } else if (type == SQLITE_FLOAT) {
      real = sqlite3_value_double(value);
      tabella_hash_add(&hash, &real, sizeof real);
    } else if (type != SQLITE_NULL) {
      bytes = type == SQLITE_TEXT ? (const void *)sqlite3_value_text(value) : sqlite3_value_blob(value);
      size = sqlite3_value_bytes(value);
      tabella_hash_add(&hash, &size, sizeof size);
      tabella_hash_add(&hash, bytes, (size_t)size);
    }
  }
  return tabella_hash_end(&hash);
}

void row_id(const table *table, sqlite3_stmt *row, int first, int64_t number, tabella_buffer *out) {
  tabella_digest digest = row_digest(table, row, first);
  char text[40];
  int i;
  tabella_buffer_text(out, table->label);
  tabella_buffer_text(out, "/");
  for (i = 0; i < table->key_count; i++) {
    if (i > 0) tabella_buffer_text(out, "_");
    put_key(out, sqlite3_column_value(row, i));
  }
  if (table->key_count == 0) {
    snprintf(text, sizeof text, "row%lld", (long long)number);
    tabella_buffer_text(out, text);
  }
  snprintf(text, sizeof text, "/%.16s", digest.text);
  tabella_buffer_text(out, text);
}

/* ------------------------------------------------------------------------------------------------
 * Finding
 * --------------------------------------------------------------------------------------------- */

static int32_t gone(tabella_error *error) {
  return tabella_fail(error, TABELLA_NOT_FOUND, "no row has this id, or the row has changed");
}

static int hex_digit(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

/* Binds a key value to parameter number `parameter`. Returns 0 if the text is none. */
static int bind_key(sqlite3_stmt *statement, int parameter, const char *text, size_t size) {
  unsigned char *bytes;
  double real;
  size_t i, count = size / 2;
  int code = SQLITE_ERROR;
  if (size == 0) return 0;
  if (text[0] == 'i') {
    char digits[24], again[24];
    long long value;
    if (size > 21) return 0;
    memcpy(digits, text + 1, size - 1);
    digits[size - 1] = 0;
    value = strtoll(digits, NULL, 10);
    snprintf(again, sizeof again, "%lld", value);
    return strcmp(digits, again) == 0 && sqlite3_bind_int64(statement, parameter, value) == SQLITE_OK;
  }
  if (size % 2 == 0 || strchr("rtb", text[0]) == NULL) return 0;
  bytes = (unsigned char *)malloc(count + 1);
  if (bytes == NULL) return 0;
  for (i = 0; i < count; i++) {
    int high = hex_digit(text[1 + 2 * i]), low = hex_digit(text[2 + 2 * i]);
    if (high < 0 || low < 0) break;
    bytes[i] = (unsigned char)(high << 4 | low);
  }
  if (i == count && text[0] == 'r' && count == sizeof real) {
    memcpy(&real, bytes, sizeof real);
    code = sqlite3_bind_double(statement, parameter, real);
  } else if (i == count && text[0] == 't') {
    code = sqlite3_bind_text64(statement, parameter, (char *)bytes, count, SQLITE_TRANSIENT, SQLITE_UTF8);
  } else if (i == count && text[0] == 'b') {
    code = sqlite3_bind_blob64(statement, parameter, bytes, count, SQLITE_TRANSIENT);
  }
  free(bytes);
  return code == SQLITE_OK;
}

static int bind_keys(const table *table, sqlite3_stmt *statement, const char *text, size_t size) {
  int number;
  for (number = 1; number <= table->key_count; number++) {
    const char *end = (const char *)memchr(text, '_', size);
    size_t length = end == NULL ? size : (size_t)(end - text);
    if ((end == NULL) != (number == table->key_count)) return 0;
    if (!bind_key(statement, number, text, length)) return 0;
    if (end != NULL) {
      size -= length + 1;
      text = end + 1;
    }
  }
  return size > 0;
}

/* Whether the id of the statement's row is this text. */
static int is_id(const table *table, sqlite3_stmt *row, int64_t number, tabella_string id) {
  tabella_buffer text = {NULL, 0, 0, 0};
  int same;
  row_id(table, row, table->key_count, number, &text);
  same = !text.failed && (int64_t)text.size == id.length &&
         memcmp(text.bytes, id.bytes, text.size) == 0;
  tabella_buffer_free(&text);
  return same;
}

/* The number of the row with this key: the number of rows in front of it. */
static int32_t find_keyed(source *source, table *table, tabella_string id, const char *key, size_t size,
                          int64_t *out, tabella_error *error) {
  sqlite3_stmt *row, *before;
  int32_t code = database_prepare(
      source->db.reader,
      sqlite3_mprintf("SELECT %s, %z FROM \"%w\" WHERE (%s) = (%s)", table->key_sql, table_all(table),
                      table->name, table->key_sql, table->key_marks),
      &row, error);
  if (code != TABELLA_OK) return code;
  if (!bind_keys(table, row, key, size) || sqlite3_step(row) != SQLITE_ROW || !is_id(table, row, 0, id)) {
    sqlite3_finalize(row);
    return gone(error);
  }
  sqlite3_finalize(row);
  code = database_prepare(source->db.reader,
                          sqlite3_mprintf("SELECT count(*) FROM \"%w\" WHERE (%s) < (%s)", table->name,
                                          table->key_sql, table->key_marks),
                          &before, error);
  if (code != TABELLA_OK) return code;
  if (bind_keys(table, before, key, size) && sqlite3_step(before) == SQLITE_ROW)
    *out = sqlite3_column_int64(before, 0);
  else
    code = database_fail(source->db.reader, "", error);
  sqlite3_finalize(before);
  return code;
}

static int32_t find_numbered(source *source, table *table, tabella_string id, const char *key, size_t size,
                             int64_t *out, tabella_error *error) {
  sqlite3_stmt *row;
  char digits[24];
  char *all;
  int32_t code;
  if (size < 4 || size > 22 || memcmp(key, "row", 3) != 0) return gone(error);
  memcpy(digits, key + 3, size - 3);
  digits[size - 3] = 0;
  *out = strtoll(digits, NULL, 10);
  if (*out < 0) return gone(error);
  all = table_all(table);
  code = table_seek(source, table, *out, all, &row, error);
  sqlite3_free(all);
  if (code != TABELLA_OK) return code;
  if (sqlite3_step(row) != SQLITE_ROW || !is_id(table, row, *out, id)) code = gone(error);
  sqlite3_finalize(row);
  return code;
}

int32_t source_find(source *source, tabella_string id, tabella_index_path *out, tabella_error *error) {
  const char *end = id.bytes + (id.length > 0 ? id.length : 0);
  const char *slash = id.length > 0 ? (const char *)memchr(id.bytes, '/', (size_t)id.length) : NULL;
  const char *last = slash != NULL ? (const char *)memrchr(id.bytes, '/', (size_t)id.length) : NULL;
  int64_t number;
  if (slash == NULL || last == slash || end - last != 17) return gone(error);
  for (number = 0; number < source->table_count; number++) {
    table *table = &source->tables[number];
    size_t size = strlen(table->label);
    int32_t code;
    if (size != (size_t)(slash - id.bytes) || memcmp(table->label, id.bytes, size) != 0) continue;
    code = database_read(&source->db, error);
    if (code != TABELLA_OK) return code;
    out->section = number;
    code = table->key_count > 0
               ? find_keyed(source, table, id, slash + 1, (size_t)(last - slash - 1), &out->row, error)
               : find_numbered(source, table, id, slash + 1, (size_t)(last - slash - 1), &out->row, error);
    database_read_end(&source->db);
    return code;
  }
  return gone(error);
}
