/*
 * tabella_sqlite.h: the members of SQLite's interface for loadable extensions that Tabella uses.
 *
 * SQLite passes a struct of function pointers to an extension. New versions of SQLite only append
 * members, so each member keeps its offset. This header names the members that Tabella calls, and
 * leaves room for the others. A build of Tabella thus needs no header of SQLite. Tests/SQLite compares
 * all offsets and numbers with sqlite3ext.h.
 */
#ifndef TABELLA_SQLITE_H
#define TABELLA_SQLITE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__clang__)
#pragma clang assume_nonnull begin
#define TABELLA_SQLITE_NULLABLE _Nullable
#define TABELLA_SQLITE_NONNULL _Nonnull
#else
#define TABELLA_SQLITE_NULLABLE
#define TABELLA_SQLITE_NONNULL
#endif

/* The oldest version that has all members below. */
#define TABELLA_SQLITE_OLDEST 3038000

#define TABELLA_SQLITE_OK 0
#define TABELLA_SQLITE_ERROR 1
#define TABELLA_SQLITE_ABORT 4
#define TABELLA_SQLITE_READONLY 8
#define TABELLA_SQLITE_INTERRUPT 9
#define TABELLA_SQLITE_SCHEMA 17
#define TABELLA_SQLITE_CONSTRAINT 19
#define TABELLA_SQLITE_AUTH 23

#define TABELLA_SQLITE_INTEGER 1
#define TABELLA_SQLITE_REAL 2
#define TABELLA_SQLITE_TEXT 3
#define TABELLA_SQLITE_BLOB 4
#define TABELLA_SQLITE_NULL 5

#define TABELLA_SQLITE_EQ 2
#define TABELLA_SQLITE_GT 4
#define TABELLA_SQLITE_LE 8
#define TABELLA_SQLITE_LT 16
#define TABELLA_SQLITE_GE 32
#define TABELLA_SQLITE_LIKE 65
#define TABELLA_SQLITE_GLOB 66
#define TABELLA_SQLITE_ISNULL 71
#define TABELLA_SQLITE_LIMIT 73
#define TABELLA_SQLITE_OFFSET 74

/* The row is the only one that the constraints can meet. */
#define TABELLA_SQLITE_SCAN_UNIQUE 1
#define TABELLA_SQLITE_DIRECTONLY 3

typedef struct tabella_sqlite_db tabella_sqlite_db;
typedef struct tabella_sqlite_value tabella_sqlite_value;
typedef struct tabella_sqlite_context tabella_sqlite_context;

/* The start of a virtual table. SQLite frees `error`, which comes from malloc64. */
typedef struct tabella_sqlite_vtab {
  const void *TABELLA_SQLITE_NULLABLE module;
  int references;
  char *TABELLA_SQLITE_NULLABLE error;
  /* Tabella's own member: the object of the table. */
  void *TABELLA_SQLITE_NULLABLE object;
} tabella_sqlite_vtab;

typedef struct tabella_sqlite_cursor {
  tabella_sqlite_vtab *TABELLA_SQLITE_NULLABLE table;
  /* Tabella's own member: the object of the cursor. */
  void *TABELLA_SQLITE_NULLABLE object;
} tabella_sqlite_cursor;

typedef struct tabella_sqlite_constraint {
  int column; /* -1: the row id */
  unsigned char op;
  unsigned char usable;
  int offset_of_term;
} tabella_sqlite_constraint;

typedef struct tabella_sqlite_order {
  int column;
  unsigned char descends;
} tabella_sqlite_order;

typedef struct tabella_sqlite_usage {
  int argument; /* The number of the argument for `filter`, from 1; 0: none. */
  unsigned char omits;
} tabella_sqlite_usage;

/* The question and the answer of the planner. */
typedef struct tabella_sqlite_index {
  int constraint_count;
  const tabella_sqlite_constraint *TABELLA_SQLITE_NULLABLE constraints;
  int order_count;
  const tabella_sqlite_order *TABELLA_SQLITE_NULLABLE order;
  tabella_sqlite_usage *TABELLA_SQLITE_NULLABLE usage;
  int number;
  char *TABELLA_SQLITE_NULLABLE text;
  int frees_text;
  int order_is_consumed;
  double cost;
  int64_t rows;
  int flags;
  uint64_t columns_used;
} tabella_sqlite_index;

typedef struct tabella_sqlite_module {
  int version;
  int (*TABELLA_SQLITE_NULLABLE create)(
      tabella_sqlite_db *, void *TABELLA_SQLITE_NULLABLE, int,
      const char *TABELLA_SQLITE_NULLABLE const *TABELLA_SQLITE_NONNULL,
      tabella_sqlite_vtab *TABELLA_SQLITE_NULLABLE *TABELLA_SQLITE_NONNULL, char *TABELLA_SQLITE_NULLABLE *TABELLA_SQLITE_NONNULL);
  int (*TABELLA_SQLITE_NULLABLE connect)(
      tabella_sqlite_db *, void *TABELLA_SQLITE_NULLABLE, int,
      const char *TABELLA_SQLITE_NULLABLE const *TABELLA_SQLITE_NONNULL,
      tabella_sqlite_vtab *TABELLA_SQLITE_NULLABLE *TABELLA_SQLITE_NONNULL, char *TABELLA_SQLITE_NULLABLE *TABELLA_SQLITE_NONNULL);
  int (*TABELLA_SQLITE_NULLABLE best_index)(tabella_sqlite_vtab *, tabella_sqlite_index *);
  int (*TABELLA_SQLITE_NULLABLE disconnect)(tabella_sqlite_vtab *);
  int (*TABELLA_SQLITE_NULLABLE destroy)(tabella_sqlite_vtab *);
  int (*TABELLA_SQLITE_NULLABLE open)(tabella_sqlite_vtab *,
                                      tabella_sqlite_cursor *TABELLA_SQLITE_NULLABLE *TABELLA_SQLITE_NONNULL);
  int (*TABELLA_SQLITE_NULLABLE close)(tabella_sqlite_cursor *);
  int (*TABELLA_SQLITE_NULLABLE filter)(tabella_sqlite_cursor *, int,
                                        const char *TABELLA_SQLITE_NULLABLE, int,
                                        tabella_sqlite_value *TABELLA_SQLITE_NULLABLE
                                            *TABELLA_SQLITE_NULLABLE);
  int (*TABELLA_SQLITE_NULLABLE next)(tabella_sqlite_cursor *);
  int (*TABELLA_SQLITE_NULLABLE eof)(tabella_sqlite_cursor *);
  int (*TABELLA_SQLITE_NULLABLE column)(tabella_sqlite_cursor *, tabella_sqlite_context *, int);
  int (*TABELLA_SQLITE_NULLABLE row_id)(tabella_sqlite_cursor *, int64_t *);
  int (*TABELLA_SQLITE_NULLABLE update)(tabella_sqlite_vtab *, int,
                                        tabella_sqlite_value *TABELLA_SQLITE_NULLABLE *TABELLA_SQLITE_NONNULL,
                                        int64_t *);
  int (*TABELLA_SQLITE_NULLABLE begin)(tabella_sqlite_vtab *);
  int (*TABELLA_SQLITE_NULLABLE sync)(tabella_sqlite_vtab *);
  int (*TABELLA_SQLITE_NULLABLE commit)(tabella_sqlite_vtab *);
  int (*TABELLA_SQLITE_NULLABLE rollback)(tabella_sqlite_vtab *);
  void *TABELLA_SQLITE_NULLABLE find_function;
  int (*TABELLA_SQLITE_NULLABLE rename)(tabella_sqlite_vtab *, const char *);
  int (*TABELLA_SQLITE_NULLABLE savepoint)(tabella_sqlite_vtab *, int);
  int (*TABELLA_SQLITE_NULLABLE release)(tabella_sqlite_vtab *, int);
  int (*TABELLA_SQLITE_NULLABLE rollback_to)(tabella_sqlite_vtab *, int);
} tabella_sqlite_module;

/* The functions of the SQLite that loads the extension. `before_NAME` is room for other members. */
typedef struct tabella_sqlite_api {
  intptr_t before_declare_vtab[50];
  int (*TABELLA_SQLITE_NONNULL declare_vtab)(tabella_sqlite_db *, const char *);
  intptr_t before_free[7];
  void (*TABELLA_SQLITE_NONNULL free)(void *TABELLA_SQLITE_NULLABLE);
  intptr_t before_libversion_number[8];
  int (*TABELLA_SQLITE_NONNULL libversion_number)(void);
  intptr_t before_result_double[11];
  void (*TABELLA_SQLITE_NONNULL result_double)(tabella_sqlite_context *, double);
  intptr_t before_result_int64[3];
  void (*TABELLA_SQLITE_NONNULL result_int64)(tabella_sqlite_context *, int64_t);
  void (*TABELLA_SQLITE_NONNULL result_null)(tabella_sqlite_context *);
  intptr_t before_value_blob[17];
  const void *TABELLA_SQLITE_NULLABLE (*TABELLA_SQLITE_NONNULL value_blob)(tabella_sqlite_value *);
  int (*TABELLA_SQLITE_NONNULL value_bytes)(tabella_sqlite_value *);
  intptr_t before_value_double[1];
  double (*TABELLA_SQLITE_NONNULL value_double)(tabella_sqlite_value *);
  intptr_t before_value_int64[1];
  int64_t (*TABELLA_SQLITE_NONNULL value_int64)(tabella_sqlite_value *);
  intptr_t before_value_text[1];
  const unsigned char *TABELLA_SQLITE_NULLABLE (*TABELLA_SQLITE_NONNULL value_text)(tabella_sqlite_value *);
  intptr_t before_value_type[3];
  int (*TABELLA_SQLITE_NONNULL value_type)(tabella_sqlite_value *);
  intptr_t before_create_module_v2[5];
  int (*TABELLA_SQLITE_NONNULL create_module_v2)(tabella_sqlite_db *, const char *, const tabella_sqlite_module *,
                          void *TABELLA_SQLITE_NULLABLE,
                          void (*TABELLA_SQLITE_NULLABLE)(void *TABELLA_SQLITE_NULLABLE));
  intptr_t before_vtab_config[57];
  int (*TABELLA_SQLITE_NONNULL vtab_config)(tabella_sqlite_db *, int, ...);
  intptr_t before_malloc64[19];
  void *TABELLA_SQLITE_NULLABLE (*TABELLA_SQLITE_NONNULL malloc64)(uint64_t);
  intptr_t before_result_blob64[3];
  void (*TABELLA_SQLITE_NONNULL result_blob64)(tabella_sqlite_context *, const void *, uint64_t,
                        void (*TABELLA_SQLITE_NULLABLE)(void *));
  void (*TABELLA_SQLITE_NONNULL result_text64)(tabella_sqlite_context *, const char *, uint64_t,
                        void (*TABELLA_SQLITE_NULLABLE)(void *), unsigned char);
  intptr_t before_vtab_nochange[19];
  int (*TABELLA_SQLITE_NONNULL vtab_nochange)(tabella_sqlite_context *);
  int (*TABELLA_SQLITE_NONNULL value_nochange)(tabella_sqlite_value *);
  const char *TABELLA_SQLITE_NULLABLE (*TABELLA_SQLITE_NONNULL vtab_collation)(tabella_sqlite_index *, int);
  intptr_t before_vtab_in[34];
  int (*TABELLA_SQLITE_NONNULL vtab_in)(tabella_sqlite_index *, int, int);
  int (*TABELLA_SQLITE_NONNULL vtab_in_first)(tabella_sqlite_value *,
                       tabella_sqlite_value *TABELLA_SQLITE_NULLABLE *TABELLA_SQLITE_NONNULL);
  int (*TABELLA_SQLITE_NONNULL vtab_in_next)(tabella_sqlite_value *, tabella_sqlite_value *TABELLA_SQLITE_NULLABLE *TABELLA_SQLITE_NONNULL);
} tabella_sqlite_api;

/* Returns a copy of the bytes as UTF-8 text. */
static inline void tabella_sqlite_result_text(const tabella_sqlite_api *api,
                                              tabella_sqlite_context *context,
                                              const void *TABELLA_SQLITE_NULLABLE bytes,
                                              int64_t count) {
  api->result_text64(context, bytes ? (const char *)bytes : "", (uint64_t)count,
                     (void (*)(void *))(intptr_t)-1, 1);
}

/* Returns a copy of the bytes as a blob. */
static inline void tabella_sqlite_result_blob(const tabella_sqlite_api *api,
                                              tabella_sqlite_context *context,
                                              const void *TABELLA_SQLITE_NULLABLE bytes,
                                              int64_t count) {
  api->result_blob64(context, bytes ? bytes : "", (uint64_t)count,
                     (void (*)(void *))(intptr_t)-1);
}

/* Declares that views and triggers of a database file may not use the table. */
static inline int tabella_sqlite_allow_direct_use_only(const tabella_sqlite_api *api,
                                                       tabella_sqlite_db *db) {
  return api->vtab_config(db, TABELLA_SQLITE_DIRECTONLY);
}

/* The first function that SQLite calls. `error` receives a message from malloc64. */
int sqlite3_extension_init(tabella_sqlite_db *db,
                           char *TABELLA_SQLITE_NULLABLE *TABELLA_SQLITE_NULLABLE error,
                           const tabella_sqlite_api *api);

#if defined(__clang__)
#pragma clang assume_nonnull end
#endif

#endif /* TABELLA_SQLITE_H */
