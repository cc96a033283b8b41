/* An open database as a source: its tables are sections, and the columns of all tables are united by name. */
#ifndef SOURCE_H
#define SOURCE_H

#include "database.h"

/* Every row with a number that is a multiple of this one has a mark: its key. */
#define STRIDE 1024

/* A column of a table. */
typedef struct table_column {
  char *name;
  int is_generated; /* It cannot be set. */
  int key;          /* Its number in the primary key, from 1; 0 if it is no part. */
  int affinity;     /* The TABELLA_TYPE_* that its declaration suggests. */
  int seen;         /* SEEN_* bits of the values in the sample. */
  int64_t column;   /* The number of its column in the source. */
} table_column;

#define SEEN_INTEGER 1
#define SEEN_LARGE 2 /* An integer that a double does not contain. */
#define SEEN_REAL 4
#define SEEN_TEXT 8
#define SEEN_BLOB 16

/* A table or a view: a section of the source. */
typedef struct table {
  char *name;
  char *label;       /* The name in ids. */
  int is_read_only;  /* A view, or a virtual table. */
  table_column *columns;
  int64_t column_count;
  char *key_sql;     /* The columns that order the rows, as SQL: `"rowid"`; null if there is no order. */
  char *key_marks;   /* As many question marks. */
  int key_count;
  int has_rowid;     /* The key is the rowid. */
  sqlite3_value **marks; /* The keys of the rows 0, STRIDE, 2 * STRIDE, … */
  int64_t mark_count;
  int64_t known;     /* At least this many rows exist. */
  int is_exact;      /* There are no more. */
} table;

typedef struct source {
  database db;
  char *only;        /* The option `table`; null: all. */
  int64_t sample;    /* 0: all rows. */
  char salt[33];
  table *tables;
  int64_t table_count;
  tabella_column *columns;
  int64_t column_count;
  char **remarks;    /* Tables that cannot be read. */
  int64_t remark_count;
  int64_t remark_next;
  char *lent_remark;
} source;

/* schema.c: opens the database and reads its tables. */
int32_t source_open(source *source, tabella_string location, tabella_error *error);
/* Reads the tables and columns through the connection db.reader, which has a transaction. */
int32_t source_read_tables(source *source, tabella_error *error);
/* Reads everything again, after an edit or a change by another program. */
int32_t source_reload(source *source, tabella_error *error);
/* Frees the content. */
void source_close(source *source);
/* The number of the table's column in the source, or -1. */
int64_t table_find(const table *table, int64_t column);
/* Frees the keys and counts, because the rows have changed. */
void table_forget(table *table);

/* rows.c */
int32_t table_row_count(source *source, table *table, int64_t at_least, tabella_count *out,
                        tabella_error *error);
int32_t table_rows(source *source, const tabella_row_request *request, tabella_batch *out,
                   tabella_error *error);
/* A statement whose first row is row number `first`, with the key columns followed by the columns of `list`. */
int32_t table_seek(source *source, table *table, int64_t first, const char *list, sqlite3_stmt **out,
                   tabella_error *error);
/* Appends the text of a value as a text column shows it. */
void value_text(sqlite3_value *value, tabella_buffer *out);

/* ids.c: an id is LABEL/KEY/DIGEST. */
/* All columns of a table, as SQL. Free with sqlite3_free. */
char *table_all(const table *table);
/* Appends the id of the row of a statement: key columns from 0 on, then all columns from `first` on. */
void row_id(const table *table, sqlite3_stmt *row, int first, int64_t number, tabella_buffer *out);
/* The digest of all columns of a row. */
tabella_digest row_digest(const table *table, sqlite3_stmt *row, int first);
int32_t source_find(source *source, tabella_string id, tabella_index_path *out, tabella_error *error);

/* edits.c */
int32_t source_commit(source *source, const tabella_source_table *table, const tabella_edit_batch *batch,
                      tabella_edit_result *out, tabella_error *error);
int32_t source_undo(source *source, tabella_string receipt, int dry_run, tabella_edit_result *out,
                    tabella_error *error);

#endif
