/* A provider of tables. `@NAME@:` shows the sample below; `@NAME@:FILE` and `FILE.@NAME@` show a file.
 *
 * A row is a line: a name, a tab, and a year. For other data, change `columns`, `parse` and `append`.
 * tabella.h says who owns what, and which thread may call. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tabella_batch.h"

static const char sample[] = "Ada\t1815\nGrace\t1906\nMargaret\t1936\n";

static const tabella_column columns[] = {
    {"name", TABELLA_TYPE_TEXT, NULL},
    {"year", TABELLA_TYPE_INTEGER, NULL},
};
enum { COLUMN_COUNT = 2, LARGEST_FILE = 64 << 20, ID_SIZE = 48 };

/* A row points into the text of its table. */
typedef struct row {
  const char *line;
  size_t length;
} row;

typedef struct table {
  char *text;
  row *rows;
  int64_t count;
  char version[ID_SIZE];
} table;

static int32_t system_error(tabella_error *error, const char *what) {
  int number = errno;
  int32_t code = number == ENOENT || number == ENOTDIR || number == ENAMETOOLONG ? TABELLA_NOT_FOUND
                 : number == EACCES || number == EPERM ? TABELLA_DENIED : TABELLA_IO;
  return tabella_fail(error, code, "%s: %s", what, strerror(number));
}

/* A digest of some bytes (FNV-1a). It names content, and protects nothing. */
static unsigned long long digest(const char *bytes, size_t length) {
  unsigned long long hash = 14695981039346656037u;
  size_t i;
  for (i = 0; i < length; i++) hash = (hash ^ (unsigned char)bytes[i]) * 1099511628211u;
  return hash;
}

/* ------------------------------------------------------------------------------------------------
 * Reading
 * --------------------------------------------------------------------------------------------- */

/* Divides the text of a table into rows. */
static int32_t parse(table *table, size_t length, tabella_error *error) {
  const char *at = table->text;
  const char *end = at + length;
  int64_t lines = 1;
  for (; at < end; at++) lines += *at == '\n';
  table->rows = malloc((size_t)lines * sizeof(row));
  if (table->rows == NULL) return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  for (at = table->text; at < end;) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    row *row = &table->rows[table->count++];
    if (stop == NULL) stop = end;
    row->line = at;
    row->length = (size_t)(stop - at);
    if (row->length > 0 && stop[-1] == '\r') row->length--;
    at = stop + 1;
  }
  snprintf(table->version, sizeof table->version, "%llx", digest(table->text, length));
  return TABELLA_OK;
}

/* Reads a file whose path is a location: bytes with a length, and no C string. */
static int32_t read_file(tabella_string location, char **text, size_t *length,
                         tabella_error *error) {
  char path[4096];
  struct stat status;
  int32_t code = TABELLA_OK;
  int file;
  if (location.length >= (int64_t)sizeof path) {
    errno = ENAMETOOLONG;
    return system_error(error, "cannot be opened");
  }
  memcpy(path, location.bytes, (size_t)location.length);
  path[location.length] = 0;
  /* Without O_NONBLOCK, opening a pipe would wait for its writer. */
  file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return system_error(error, "cannot be opened");
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > LARGEST_FILE) {
    close(file);
    return tabella_fail(error, TABELLA_NOT_SUPPORTED, "is not a file of at most 64 MiB");
  }
  *text = malloc((size_t)status.st_size + 1);
  if (*text == NULL) code = tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  while (code == TABELLA_OK && *length < (size_t)status.st_size) {
    ssize_t got = read(file, *text + *length, (size_t)status.st_size - *length);
    if (got < 0) code = system_error(error, "cannot be read");
    if (got <= 0) break;
    *length += (size_t)got;
  }
  close(file);
  if (code == TABELLA_OK) (*text)[*length] = 0;
  return code;
}

/* ------------------------------------------------------------------------------------------------
 * The source
 * --------------------------------------------------------------------------------------------- */

static void release(void *source) {
  table *table = source;
  free(table->text);
  free(table->rows);
  free(table);
}

static uint64_t flags(void *source) {
  (void)source;
  return 0;
}

static int32_t version(void *source, tabella_string *out, tabella_error *error) {
  (void)error;
  *out = tabella_cstring(((table *)source)->version);
  return TABELLA_OK;
}

static int32_t schema(void *source, struct ArrowSchema *out, tabella_error *error) {
  (void)source;
  return tabella_schema_make(columns, COLUMN_COUNT, out, error);
}

static int32_t row_count(void *source, int64_t section, int64_t at_least, tabella_count *out,
                         tabella_error *error) {
  (void)at_least;
  if (section != 0)
    return tabella_fail(error, TABELLA_NOT_FOUND, "there is no section %lld", (long long)section);
  out->value = ((table *)source)->count;
  out->exact = 1;
  return TABELLA_OK;
}

/* The id of a row: its number, and a digest of its line. It never names another line. */
static void make_id(const row *row, int64_t number, char id[ID_SIZE]) {
  snprintf(id, ID_SIZE, "%lld.%llx", (long long)number, digest(row->line, row->length));
}

/* Appends one cell of a row. */
static void append(tabella_batch_builder *batch, int64_t at, const row *row, int64_t column) {
  const char *tab = memchr(row->line, '\t', row->length);
  const char *end = row->line + row->length;
  char *stop;
  if (column == 0) {
    tabella_batch_text(batch, at, row->line, (size_t)((tab ? tab : end) - row->line));
  } else {
    /* The text ends with a NUL, so strtoll stops. It skips blanks, but no line end follows a digit. */
    long long year = 0;
    int has_year = tab != NULL && tab + 1 < end && (tab[1] == '-' || (tab[1] >= '0' && tab[1] <= '9'));
    if (has_year) {
      year = strtoll(tab + 1, &stop, 10);
      has_year = stop == end;
    }
    if (has_year) tabella_batch_integer(batch, at, year);
    else tabella_batch_missing(batch, at);
  }
}

static int32_t rows(void *source, const tabella_row_request *request, tabella_batch *out,
                    tabella_error *error) {
  table *table = source;
  tabella_count count = {0, 0, 0};
  tabella_batch_builder *batch;
  int64_t number, i;
  int32_t code = tabella_rows_check(request, COLUMN_COUNT, 1, error);
  if (code == TABELLA_OK) code = row_count(source, request->section, 0, &count, error);
  if (code != TABELLA_OK) return code;
  if (request->first > count.value)
    return tabella_fail(error, TABELLA_NOT_FOUND, "there is no row %lld",
                        (long long)request->first);
  batch = tabella_batch_for(request, columns);
  for (number = request->first;
       number < count.value && number - request->first < request->count; number++) {
    const row *row = &table->rows[number];
    for (i = 0; i < request->column_count; i++) append(batch, i, row, request->columns[i]);
    if (request->flags & TABELLA_ROWS_IDS) {
      char id[ID_SIZE];
      make_id(row, number, id);
      tabella_batch_id(batch, id);
    }
  }
  return tabella_batch_finish_rows(batch, number - request->first, out, error);
}

static int32_t find(void *source, tabella_string id, tabella_index_path *out,
                    tabella_error *error) {
  table *table = source;
  char own[ID_SIZE];
  int64_t number = 0, i;
  for (i = 0; i < id.length && i < 12 && id.bytes[i] >= '0' && id.bytes[i] <= '9'; i++)
    number = number * 10 + (id.bytes[i] - '0');
  if (number < table->count) {
    make_id(&table->rows[number], number, own);
    out->section = 0;
    out->row = number;
    if (tabella_string_equals(id, own)) return TABELLA_OK;
  }
  return tabella_fail(error, TABELLA_NOT_FOUND, "there is no row with this id");
}

static const tabella_identity identity = {find};

static const void *ability(void *source, tabella_string id) {
  (void)source;
  return tabella_string_equals(id, TABELLA_IDENTITY_ID) ? &identity : NULL;
}

static const tabella_source_table functions = {release, NULL,   ability,   flags,
                                               version, schema, row_count, rows};

/* ------------------------------------------------------------------------------------------------
 * The provider
 * --------------------------------------------------------------------------------------------- */

static int32_t open_table(void *provider, const tabella_open_request *request, tabella_source *out,
                          tabella_error *error) {
  table *table = calloc(1, sizeof *table);
  size_t length = 0;
  int32_t code = TABELLA_OK;
  (void)provider;
  if (table == NULL) return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  if (request->location.length > 0) {
    code = read_file(request->location, &table->text, &length, error);
  } else {
    length = sizeof sample - 1;
    table->text = malloc(sizeof sample);
    if (table->text != NULL) memcpy(table->text, sample, sizeof sample);
    else code = tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  }
  if (code == TABELLA_OK) code = parse(table, length, error);
  if (code != TABELLA_OK) {
    release(table);
    return code;
  }
  out->table = &functions;
  out->source = table;
  return TABELLA_OK;
}

int32_t tabella_provider_entry(tabella_entry *entry) {
  entry->provider_contract = TABELLA_CONTRACT_VERSION;
  if (entry->contract_version != TABELLA_CONTRACT_VERSION) return TABELLA_NOT_SUPPORTED;
  entry->provider.id = tabella_cstring("@NAME@");
  entry->provider.version = tabella_cstring("1.0");
  entry->provider.open = open_table;
  return TABELLA_OK;
}
