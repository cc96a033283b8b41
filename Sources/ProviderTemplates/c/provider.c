/* A provider of tables. `@NAME@:` shows the sample below; `@NAME@:FILE` and `FILE.@NAME@` show a file.
 *
 * A row is a line: a name, a tab, and a year. For other data, change `columns`, `parse` and `append`.
 * tabella.h says who owns what, and which thread may call. */
#include "tabella_save.h"

static const char sample[] = "Ada\t1815\nGrace\t1906\nMargaret\t1936\n";

static const tabella_column columns[] = {
    {"name", TABELLA_TYPE_TEXT, NULL},
    {"year", TABELLA_TYPE_INTEGER, NULL},
};
enum { COLUMN_COUNT = 2, LARGEST_FILE = 64 << 20, ID_SIZE = 64 };

/* A row points into the text of its table. */
typedef struct row {
  const char *line;
  size_t length;
} row;

typedef struct table {
  tabella_file file; /* Empty for the sample. */
  row *rows;
  int64_t count;
  tabella_digest version;
} table;

/* ------------------------------------------------------------------------------------------------
 * Reading
 * --------------------------------------------------------------------------------------------- */

/* Divides a text into rows. */
static int32_t parse(table *table, const char *at, size_t size, tabella_error *error) {
  const char *end = at + size;
  const char *line;
  int64_t lines = 1;
  for (line = at; line < end; line++) lines += *line == '\n';
  table->rows = malloc((size_t)lines * sizeof(row));
  if (table->rows == NULL) return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  table->version = tabella_digest_of(at, size);
  while (at < end) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    row *row = &table->rows[table->count++];
    if (stop == NULL) stop = end;
    row->line = at;
    row->length = (size_t)(stop - at);
    if (row->length > 0 && stop[-1] == '\r') row->length--;
    at = stop + 1;
  }
  return TABELLA_OK;
}

/* ------------------------------------------------------------------------------------------------
 * The source
 * --------------------------------------------------------------------------------------------- */

static void release(void *source) {
  table *table = source;
  tabella_file_close(&table->file);
  free(table->rows);
  free(table);
}

static uint64_t flags(void *source) {
  (void)source;
  return 0;
}

static int32_t version(void *source, tabella_string *out, tabella_error *error) {
  (void)error;
  *out = tabella_cstring(((table *)source)->version.text);
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
  tabella_digest digest = tabella_digest_of(row->line, row->length);
  snprintf(id, ID_SIZE, "%lld.%s", (long long)number, digest.text);
}

/* Appends one cell of a row. The year is missing if there is no number. */
static void append(tabella_batch_builder *batch, int64_t at, const row *row, int64_t column) {
  const char *tab = memchr(row->line, '\t', row->length);
  size_t name = tab != NULL ? (size_t)(tab - row->line) : row->length;
  size_t rest = tab != NULL ? row->length - name - 1 : 0;
  char digits[24] = "", *stop = digits;
  long long year = 0;
  if (column == 0) {
    tabella_batch_text(batch, at, row->line, name);
    return;
  }
  if (rest > 0 && rest < sizeof digits) {
    memcpy(digits, tab + 1, rest);
    year = strtoll(digits, &stop, 10);
  }
  if (stop > digits && stop == digits + rest) tabella_batch_integer(batch, at, year);
  else tabella_batch_missing(batch, at);
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
  int32_t code = TABELLA_OK;
  (void)provider;
  if (table == NULL) return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  if (request->location.length == 0) {
    code = parse(table, sample, sizeof sample - 1, error);
  } else {
    code = tabella_file_open(&table->file, request->location, LARGEST_FILE, error);
    if (code == TABELLA_OK) code = parse(table, table->file.bytes, table->file.size, error);
  }
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
  if (!TABELLA_CONTRACT_ACCEPTS(entry->contract_version)) return TABELLA_NOT_SUPPORTED;
  entry->provider.id = tabella_cstring("@NAME@");
  entry->provider.version = tabella_cstring("1.0");
  entry->provider.open = open_table;
  return TABELLA_OK;
}
