#include "database.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_lock(void) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&lock, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

void database_lock(void) {
  pthread_once(&once, make_lock);
  pthread_mutex_lock(&lock);
}

void database_unlock(void) { pthread_mutex_unlock(&lock); }

int32_t database_fail(sqlite3 *connection, const char *what, tabella_error *error) {
  int code = connection != NULL ? sqlite3_extended_errcode(connection) : SQLITE_NOMEM;
  const char *text = connection != NULL ? sqlite3_errmsg(connection) : "out of memory";
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      error->retryable = 1;
      return tabella_fail(error, TABELLA_CONFLICT,
                          "another program has locked the database for more than %d seconds; try again",
                          LOCK_WAIT / 1000);
    case SQLITE_INTERRUPT: return tabella_fail(error, TABELLA_CANCELLED, "cancelled");
    case SQLITE_CONSTRAINT: return tabella_fail(error, TABELLA_CONSTRAINT, "%s%s", what, text);
    case SQLITE_MISMATCH: return tabella_fail(error, TABELLA_CONSTRAINT, "%s%s", what, text);
    case SQLITE_TOOBIG: return tabella_fail(error, TABELLA_CONSTRAINT, "%s%s", what, text);
    case SQLITE_READONLY: return tabella_fail(error, TABELLA_READ_ONLY, "%s%s", what, text);
    case SQLITE_PERM:
    case SQLITE_AUTH: return tabella_fail(error, TABELLA_DENIED, "%s%s", what, text);
    case SQLITE_NOMEM: return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
    case SQLITE_MISUSE: return tabella_fail(error, TABELLA_INTERNAL, "%s%s", what, text);
    default: return tabella_fail(error, TABELLA_IO, "%s%s", what, text);
  }
}

int32_t database_prepare(sqlite3 *connection, char *text, sqlite3_stmt **out, tabella_error *error) {
  int code;
  *out = NULL;
  if (text == NULL) return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  code = sqlite3_prepare_v2(connection, text, -1, out, NULL);
  sqlite3_free(text);
  return code == SQLITE_OK ? TABELLA_OK : database_fail(connection, "", error);
}

/* ------------------------------------------------------------------------------------------------
 * Cancelling and waiting
 * --------------------------------------------------------------------------------------------- */

static int is_cancelled(void *db) { return ((database *)db)->cancelled; }

/* Waits for a lock in steps of 20 ms. */
static int wait_for_lock(void *db, int attempt) {
  if (((database *)db)->cancelled || attempt * 20 >= LOCK_WAIT) return 0;
  sqlite3_sleep(20);
  return 1;
}

/* Settings of every connection. The file is not trusted, and nothing is written beside it for sorting. */
static int32_t configure(database *db, sqlite3 *connection, const char *more, tabella_error *error) {
  static const char *settings = "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; "
                                "PRAGMA temp_store=MEMORY; PRAGMA mmap_size=0;";
  sqlite3_extended_result_codes(connection, 1);
  sqlite3_progress_handler(connection, 10000, is_cancelled, db);
  sqlite3_busy_handler(connection, wait_for_lock, db);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  if (sqlite3_exec(connection, settings, NULL, NULL, NULL) != SQLITE_OK ||
      sqlite3_exec(connection, more, NULL, NULL, NULL) != SQLITE_OK)
    return database_fail(connection, "", error);
  return TABELLA_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Versions
 * --------------------------------------------------------------------------------------------- */

static int32_t fail_system(tabella_error *error, int number) {
  int32_t code = number == ENOENT || number == ENOTDIR || number == ELOOP ? TABELLA_NOT_FOUND
                 : number == EACCES || number == EPERM                    ? TABELLA_DENIED
                                                                          : TABELLA_IO;
  return tabella_fail(error, code, "the database cannot be opened: %s", strerror(number));
}

static void stat_beside(const char *path, const char *suffix, struct stat *out) {
  char name[PATH_MAX + 16];
  snprintf(name, sizeof name, "%s%s", path, suffix);
  if (stat(name, out) != 0 || out->st_size == 0) memset(out, 0, sizeof *out);
}

static int32_t read_files(const char *path, database_files *out, tabella_error *error) {
  int descriptor;
  ssize_t got;
  memset(out, 0, sizeof *out);
  if (stat(path, &out->file) != 0) return fail_system(error, errno);
  if (!S_ISREG(out->file.st_mode))
    return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "only a file can be an SQLite database");
  stat_beside(path, "-wal", &out->log);
  descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return fail_system(error, errno);
  got = pread(descriptor, out->header, sizeof out->header, 0);
  close(descriptor);
  if (got < 0) return fail_system(error, EIO);
  if (got == 0) return TABELLA_OK;
  if (got < (ssize_t)sizeof out->header || memcmp(out->header, "SQLite format 3", 16) != 0)
    return tabella_fail(error, TABELLA_IO, "the file is no SQLite database");
  return TABELLA_OK;
}

static int same_status(const struct stat *left, const struct stat *right) {
  return left->st_dev == right->st_dev && left->st_ino == right->st_ino &&
         left->st_size == right->st_size && left->st_mtim.tv_sec == right->st_mtim.tv_sec &&
         left->st_mtim.tv_nsec == right->st_mtim.tv_nsec;
}

/* The salt contains the options that change the rows. */
static tabella_digest version_of(const database_files *files, const char *salt) {
  const struct stat *each[2];
  tabella_hash hash = tabella_hash_begin();
  int i;
  each[0] = &files->file;
  each[1] = &files->log;
  for (i = 0; i < 2; i++) {
    int64_t facts[5];
    facts[0] = (int64_t)each[i]->st_dev;
    facts[1] = (int64_t)each[i]->st_ino;
    facts[2] = each[i]->st_size;
    facts[3] = each[i]->st_mtim.tv_sec;
    facts[4] = each[i]->st_mtim.tv_nsec;
    tabella_hash_add(&hash, facts, sizeof facts);
  }
  tabella_hash_add(&hash, files->header, sizeof files->header);
  tabella_hash_add(&hash, salt, strlen(salt));
  return tabella_hash_end(&hash);
}

static int64_t data_version(sqlite3 *reader) {
  sqlite3_stmt *statement = NULL;
  int64_t version = -1;
  if (sqlite3_prepare_v2(reader, "PRAGMA data_version", -1, &statement, NULL) == SQLITE_OK &&
      sqlite3_step(statement) == SQLITE_ROW)
    version = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  return version;
}

/* ------------------------------------------------------------------------------------------------
 * Reading
 * --------------------------------------------------------------------------------------------- */

/* Writes the URI of the database. Returns 0 if the path is too long. */
static int make_uri(const char *path, const char *query, char *out, size_t size) {
  static const char digits[] = "0123456789ABCDEF";
  size_t at = (size_t)snprintf(out, size, "file:");
  for (; *path != 0; path++) {
    unsigned char byte = (unsigned char)*path;
    if (at + 4 + strlen(query) > size) return 0;
    if ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
        byte == '/' || byte == '.' || byte == '-' || byte == '_') {
      out[at++] = (char)byte;
    } else {
      out[at++] = '%';
      out[at++] = digits[byte >> 4];
      out[at++] = digits[byte & 15];
    }
  }
  snprintf(out + at, size - at, "%s", query);
  return 1;
}

/* In the mode WAL, the newest changes are in NAME-wal. */
static int uses_log(const database_files *files) {
  return files->header[18] == 2 || files->header[19] == 2;
}

/* Replaces SQLite's message if a file beside the database is the reason. */
static int32_t explain(database *db, int has_log, int32_t code, tabella_error *error) {
  struct stat journal;
  int reason = sqlite3_errcode(db->reader) & 0xFF;
  stat_beside(db->path, "-journal", &journal);
  if (reason != SQLITE_CANTOPEN && reason != SQLITE_READONLY) return code;
  if (!has_log && journal.st_size == 0) return code;
  if (error->release != NULL) error->release(error);
  if (has_log)
    return tabella_fail(error, TABELLA_DENIED,
                        "the newest changes are in the file that ends in -wal, which this process cannot "
                        "read; close the program that has the database open, or use --in-process");
  return tabella_fail(error, TABELLA_DENIED,
                      "a program stopped in the middle of a change; open the database once with `sqlite3 "
                      "FILE`, which completes or undoes the change");
}

static int32_t open_reader(database *db, tabella_error *error) {
  char uri[3 * PATH_MAX + 64];
  int has_log = uses_log(&db->files) && db->files.log.st_size > 0;
  const char *query = !uses_log(&db->files) ? "?mode=ro"
                      : has_log             ? "?mode=ro&readonly_shm=1"
                                            : "?mode=ro&immutable=1";
  int32_t code;
  db->is_immutable = uses_log(&db->files) && !has_log;
  if (!make_uri(db->path, query, uri, sizeof uri))
    return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "the path is too long");
  if (sqlite3_open_v2(uri, &db->reader, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL) != SQLITE_OK)
    return database_fail(db->reader, "", error);
  code = configure(db, db->reader, "PRAGMA query_only=ON; SELECT count(*) FROM sqlite_schema", error);
  if (code != TABELLA_OK) code = explain(db, has_log, code, error);
  if (code == TABELLA_OK) db->data_version = data_version(db->reader);
  return code;
}

int32_t database_open(database *db, tabella_string location, const char *salt, tabella_error *error) {
  char given[PATH_MAX];
  int32_t code;
  memset(db, 0, sizeof *db);
  if (sqlite3_libversion_number() < 3037000)
    return tabella_fail(error, TABELLA_NOT_SUPPORTED, "SQLite %s is older than 3.37", sqlite3_libversion());
  if (location.length <= 0 || location.length >= PATH_MAX)
    return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "the location is not the path of a file");
  memcpy(given, location.bytes, (size_t)location.length);
  given[location.length] = 0;
  if (realpath(given, db->path) == NULL) return fail_system(error, errno);
  code = read_files(db->path, &db->files, error);
  if (code == TABELLA_OK) code = open_reader(db, error);
  if (code == TABELLA_OK) db->version = version_of(&db->files, salt);
  else database_close(db);
  return code;
}

void database_close(database *db) {
  sqlite3_close_v2(db->reader);
  db->reader = NULL;
}

int32_t database_check(database *db, tabella_error *error) {
  struct stat file, log;
  int64_t counter;
  int is_same;
  if (db->is_immutable) {
    stat_beside(db->path, "-wal", &log);
    is_same = stat(db->path, &file) == 0 && same_status(&file, &db->files.file) &&
              same_status(&log, &db->files.log);
  } else {
    counter = data_version(db->reader);
    if (counter < 0) return database_fail(db->reader, "", error);
    is_same = counter == db->data_version;
  }
  if (is_same) return TABELLA_OK;
  return tabella_fail(error, TABELLA_CONFLICT, "another program changed the database; open it again");
}

int32_t database_read(database *db, tabella_error *error) {
  int32_t code;
  db->cancelled = 0;
  /* The transaction begins with the first reading, which is that of the counter. */
  if (sqlite3_exec(db->reader, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
    return database_fail(db->reader, "", error);
  code = database_check(db, error);
  if (code != TABELLA_OK) database_read_end(db);
  return code;
}

void database_read_end(database *db) { sqlite3_exec(db->reader, "COMMIT", NULL, NULL, NULL); }

/* ------------------------------------------------------------------------------------------------
 * Writing
 * --------------------------------------------------------------------------------------------- */

int32_t database_begin(database *db, sqlite3 **writer, tabella_error *error) {
  char uri[3 * PATH_MAX + 64];
  struct stat now;
  int32_t code;
  *writer = NULL;
  if (stat(db->path, &now) != 0 || now.st_dev != db->files.file.st_dev ||
      now.st_ino != db->files.file.st_ino)
    return tabella_fail(error, TABELLA_CONFLICT, "another file has the name of the database; open it again");
  if (uses_log(&db->files) && db->files.log.st_size > 0)
    return tabella_fail(error, TABELLA_CONFLICT,
                        "the newest changes are still in the file that ends in -wal; close the program that "
                        "has the database open, or run `sqlite3 FILE 'PRAGMA wal_checkpoint(TRUNCATE)'`");
  if ((now.st_mode & 0222) == 0)
    return tabella_fail(error, TABELLA_READ_ONLY, "the database is marked read-only; use chmod u+w");
  if (!make_uri(db->path, "?mode=rw", uri, sizeof uri))
    return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "the path is too long");
  if (sqlite3_open_v2(uri, writer, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, NULL) != SQLITE_OK)
    return database_fail(*writer, "", error);
  if (sqlite3_db_readonly(*writer, "main") == 1)
    return tabella_fail(error, TABELLA_READ_ONLY, "you may not write the database, or its folder");
  /* A commit survives a power cut, also the removal of the journal. */
  code = configure(db, *writer, "PRAGMA synchronous=EXTRA; PRAGMA foreign_keys=ON", error);
  if (code != TABELLA_OK) return code;
  if (sqlite3_exec(*writer, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
    return database_fail(*writer, "", error);
  return TABELLA_OK;
}

int32_t database_commit(database *db, sqlite3 *writer, tabella_error *error) {
  if (sqlite3_exec(writer, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
    return database_fail(writer, "", error);
  /* In the mode WAL: so that the file is complete by itself again. Programs that read may prevent it. */
  if (uses_log(&db->files))
    sqlite3_wal_checkpoint_v2(writer, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
  return TABELLA_OK;
}

void database_end(sqlite3 *writer) {
  if (writer == NULL) return;
  sqlite3_exec(writer, "ROLLBACK", NULL, NULL, NULL);
  sqlite3_close_v2(writer);
}
