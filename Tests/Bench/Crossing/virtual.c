/* The same cells as a virtual table of SQLite, read cell by cell as SQLite's interface requires. Prints the
 * nanoseconds per cell. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COLUMNS = 8, ROWS = 1 << 20 };

typedef struct {
  sqlite3_vtab_cursor base;
  sqlite3_int64 row;
} cursor;

static int connect_table(sqlite3 *database, void *extra, int count, const char *const *words,
                         sqlite3_vtab **out, char **error) {
  (void)extra;
  (void)count;
  (void)words;
  (void)error;
  *out = calloc(1, sizeof **out);
  return sqlite3_declare_vtab(database, "create table t(a, b, c, d, e, f, g, h)");
}

static int disconnect(sqlite3_vtab *table) {
  free(table);
  return SQLITE_OK;
}

static int best_index(sqlite3_vtab *table, sqlite3_index_info *info) {
  (void)table;
  (void)info;
  return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **out) {
  (void)table;
  *out = calloc(1, sizeof(cursor));
  return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base) {
  free(base);
  return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *text, int count,
                  sqlite3_value **values) {
  (void)number;
  (void)text;
  (void)count;
  (void)values;
  ((cursor *)base)->row = 0;
  return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base) {
  ((cursor *)base)->row++;
  return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base) { return ((cursor *)base)->row >= ROWS; }

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number) {
  sqlite3_result_int64(context, (((cursor *)base)->row & 4095) * 8 + number);
  return SQLITE_OK;
}

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *out) {
  *out = ((cursor *)base)->row;
  return SQLITE_OK;
}

int main(void) {
  static const sqlite3_module module = {
      .xConnect = connect_table, .xBestIndex = best_index, .xDisconnect = disconnect,
      .xOpen = open_cursor,      .xClose = close_cursor,   .xFilter = filter,
      .xNext = next,             .xEof = at_end,           .xColumn = column,
      .xRowid = row_id,
  };
  sqlite3 *database;
  sqlite3_stmt *statement;
  struct timespec start, end;
  sqlite3_int64 sum = 0;
  double time;
  if (sqlite3_open(":memory:", &database) != SQLITE_OK ||
      sqlite3_create_module(database, "cells", &module, NULL) != SQLITE_OK ||
      sqlite3_prepare_v2(database, "select * from cells", -1, &statement, NULL) != SQLITE_OK)
    return 1;
  clock_gettime(CLOCK_MONOTONIC, &start);
  while (sqlite3_step(statement) == SQLITE_ROW)
    for (int number = 0; number < COLUMNS; number++) sum += sqlite3_column_int64(statement, number);
  clock_gettime(CLOCK_MONOTONIC, &end);
  if (sum != (sqlite3_int64)ROWS / 4096 * (32767 * 16384LL)) return 2;
  time = (double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec);
  printf("%.3f\n", time / ((double)ROWS * COLUMNS));
  return 0;
}
