/* A connection to an SQLite file: opening without changing anything, versions, errors, cancelling. */
#ifndef DATABASE_H
#define DATABASE_H

#define _GNU_SOURCE 1
#include "tabella_edit.h"

#include <limits.h>
#include <sqlite3.h>
#include <sys/stat.h>

/* The longest time that a call waits for a lock of another program, in milliseconds. */
#define LOCK_WAIT 2000

/* The facts by which a change of the files is noticed. */
typedef struct database_files {
  struct stat file;
  struct stat log; /* NAME-wal; all zero if it is missing or empty. */
  unsigned char header[100];
} database_files;

typedef struct database {
  char path[PATH_MAX]; /* Without symbolic links. */
  sqlite3 *reader;
  int is_immutable;      /* The reader takes no locks, so only `files` shows changes. */
  int64_t data_version;  /* SQLite's counter of changes by others, for this reader. */
  database_files files;  /* When the reader was opened, or after the last edit. */
  tabella_digest version;
  _Atomic int cancelled;  /* Set from any thread, read in SQLite's progress handler. */
} database;

/* All calls of this library take one lock, because closing any descriptor of a file drops all POSIX locks that the
 * process has on this file. `cancel` takes none. The lock is recursive. */
void database_lock(void);
void database_unlock(void);

/* Opens the reader. Creates and changes no file. */
int32_t database_open(database *db, tabella_string location, const char *salt, tabella_error *error);
void database_close(database *db);

/* Opens a connection that may write, and begins a transaction. *writer needs database_end in any case. */
int32_t database_begin(database *db, sqlite3 **writer, tabella_error *error);
/* Commits. Nothing is changed unless the code is TABELLA_OK. Then close the writer, and open `db` again. */
int32_t database_commit(database *db, sqlite3 *writer, tabella_error *error);
/* Closes the writer, and rolls back if it was not committed. */
void database_end(sqlite3 *writer);

/* TABELLA_CONFLICT if another program changed the data since `db` was opened. Call it inside a read transaction. */
int32_t database_check(database *db, tabella_error *error);

/* Begins and ends a read transaction. The beginning includes database_check. */
int32_t database_read(database *db, tabella_error *error);
void database_read_end(database *db);

/* The failure of SQLite's last call on this connection, with the code of the contract. */
int32_t database_fail(sqlite3 *connection, const char *what, tabella_error *error);

/* Prepares a statement, whose text is freed. Null text: memory ran out. */
int32_t database_prepare(sqlite3 *connection, char *text, sqlite3_stmt **out, tabella_error *error);

#endif
