/*
 * A provider in C whose table a test changes: "live:PATH". PATH is a named pipe. Each line that arrives there is a
 * command:
 *
 *   +TEXT     appends a row
 *   ^TEXT     inserts a row at the start
 *   -ROW      deletes a row
 *   =ROW TEXT sets the text of a row
 *   ?         from now on, pulls say only that everything may have changed
 *   !TEXT     from now on, pulls fail with this message
 *   @         ends the process
 *
 * At first the table has the rows "first" and "second". A comma at the end of a line says that the next line belongs to
 * the same batch. With -DWITHOUT_CHANGES, the table has no changes, and PATH is a text file with one row per line.
 */
#include "tabella_batch.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

enum { MOST_ROWS = 4096, TEXT = 64 };

typedef struct row {
  int64_t id;
  char text[TEXT];
} row;

typedef struct rows {
  row rows[MOST_ROWS];
  int64_t count;
} rows;

typedef struct source {
  rows shown;
  /* The state after all commands. The mutex protects it and the next members. */
  rows now;
  pthread_mutex_t mutex;
  char failure[128];
  int hides;
  int64_t next_id;
  tabella_notify notify;
  void *context;
  pthread_t thread;
  int commands;
  int end[2];
} source;

static const tabella_column columns[] = {{"word", TABELLA_TYPE_TEXT, NULL},
                                         {"length", TABELLA_TYPE_INTEGER, NULL}};

static void append(source *self, rows *to, int64_t at, const char *text) {
  if (to->count == MOST_ROWS) return;
  memmove(&to->rows[at + 1], &to->rows[at], (size_t)(to->count - at) * sizeof(row));
  to->count++;
  to->rows[at].id = self->next_id++;
  snprintf(to->rows[at].text, TEXT, "%s", text);
}

static void execute(source *self, char *line) {
  rows *now = &self->now;
  char *rest = line + 1;
  int64_t at = strtoll(rest, &rest, 10);
  if (line[0] == '+') append(self, now, now->count, line + 1);
  if (line[0] == '^') append(self, now, 0, line + 1);
  if (line[0] == '-' && at < now->count) {
    memmove(&now->rows[at], &now->rows[at + 1], (size_t)(now->count - at - 1) * sizeof(row));
    now->count--;
  }
  if (line[0] == '=' && at < now->count) snprintf(now->rows[at].text, TEXT, "%s", rest + 1);
  if (line[0] == '?') self->hides = 1;
  if (line[0] == '!') snprintf(self->failure, sizeof self->failure, "%s", line + 1);
  if (line[0] == '@') _exit(7);
}

static void *obey(void *self) {
  source *source = self;
  char line[256];
  size_t filled = 0;
  struct pollfd files[2] = {{source->commands, POLLIN, 0}, {source->end[0], POLLIN, 0}};
  while (poll(files, 2, -1) > 0 && files[1].revents == 0) {
    char byte;
    if (read(source->commands, &byte, 1) != 1) break;
    if (byte != '\n') {
      if (filled + 1 < sizeof line) line[filled++] = byte;
      continue;
    }
    int is_last = filled == 0 || line[filled - 1] != ',';
    line[filled - (size_t)!is_last] = 0;
    filled = 0;
    pthread_mutex_lock(&source->mutex);
    execute(source, line);
    if (is_last && source->notify) source->notify(source->context);
    pthread_mutex_unlock(&source->mutex);
  }
  return NULL;
}

/* The table */

static uint64_t flags(void *self) {
  (void)self;
  return 0;
}

static int32_t version(void *self, tabella_string *out, tabella_error *error) {
  (void)self, (void)error;
  *out = tabella_cstring(NULL);
  return TABELLA_OK;
}

static int32_t schema(void *self, struct ArrowSchema *out, tabella_error *error) {
  (void)self;
  return tabella_schema_make(columns, 2, out, error);
}

static int32_t row_count(void *self, int64_t section, int64_t at_least, tabella_count *out,
                         tabella_error *error) {
  (void)at_least;
  if (section != 0) return tabella_fail(error, TABELLA_NOT_FOUND, "there is no such section");
  out->value = ((source *)self)->shown.count;
  out->exact = 1;
  return TABELLA_OK;
}

static int32_t read_rows(void *self, const tabella_row_request *request, tabella_batch *out,
                         tabella_error *error) {
  const rows *shown = &((source *)self)->shown;
  tabella_count count = {0, 0, 0};
  tabella_batch_builder *batch;
  int64_t at, i;
  int32_t code = tabella_rows_check(request, 2, 1, error);
  if (code == TABELLA_OK) code = row_count(self, request->section, 0, &count, error);
  if (code != TABELLA_OK) return code;
  if (request->first > count.value) return tabella_fail(error, TABELLA_NOT_FOUND, "no such row");
  batch = tabella_batch_for(request, columns);
  for (at = request->first; at < count.value && at - request->first < request->count; at++) {
    char id[24];
    for (i = 0; i < request->column_count; i++) {
      if (request->columns[i] == 0) tabella_batch_cstring(batch, i, shown->rows[at].text);
      else tabella_batch_integer(batch, i, (int64_t)strlen(shown->rows[at].text));
    }
    snprintf(id, sizeof id, "%lld", (long long)shown->rows[at].id);
    if (request->flags & TABELLA_ROWS_IDS) tabella_batch_id(batch, id);
  }
  return tabella_batch_finish_rows(batch, at - request->first, out, error);
}

static int64_t find_id(const rows *rows, int64_t id) {
  for (int64_t at = 0; at < rows->count; at++)
    if (rows->rows[at].id == id) return at;
  return -1;
}

static int32_t find(void *self, tabella_string id, tabella_index_path *out, tabella_error *error) {
  char text[24] = {0};
  memcpy(text, id.bytes, id.length < 23 ? (size_t)id.length : 23);
  out->section = 0;
  out->row = find_id(&((source *)self)->shown, strtoll(text, NULL, 10));
  if (out->row >= 0) return TABELLA_OK;
  return tabella_fail(error, TABELLA_NOT_FOUND, "no such row");
}

/* The changes */

static int32_t listen(void *self, tabella_notify notify, void *context, tabella_error *error) {
  source *source = self;
  (void)error;
  pthread_mutex_lock(&source->mutex);
  source->notify = notify;
  source->context = context;
  pthread_mutex_unlock(&source->mutex);
  return TABELLA_OK;
}

static int32_t pull(void *self, tabella_changes *out, tabella_error *error) {
  source *source = self;
  tabella_changes_builder changes = {0};
  rows *old = &source->shown;
  int64_t at;
  pthread_mutex_lock(&source->mutex);
  if (source->failure[0]) {
    pthread_mutex_unlock(&source->mutex);
    return tabella_fail(error, TABELLA_IO, "%s", source->failure);
  }
  for (at = 0; at < old->count; at++) {
    int64_t next = find_id(&source->now, old->rows[at].id);
    if (next < 0) tabella_changes_delete(&changes, 0, at);
    else if (strcmp(old->rows[at].text, source->now.rows[next].text) != 0)
      tabella_changes_reconfigure(&changes, 0, at);
  }
  for (at = 0; at < source->now.count; at++)
    if (find_id(old, source->now.rows[at].id) < 0) tabella_changes_insert(&changes, 0, at);
  if (source->hides) tabella_changes_reload_all(&changes);
  *old = source->now;
  pthread_mutex_unlock(&source->mutex);
  return tabella_changes_finish(&changes, NULL, NULL, out, error);
}

/* The provider */

static const tabella_identity identity = {find};
static const tabella_changes_table changes_table = {listen, pull};

static const void *ability(void *self, tabella_string id) {
  (void)self;
  if (tabella_string_equals(id, TABELLA_IDENTITY_ID)) return &identity;
#ifndef WITHOUT_CHANGES
  if (tabella_string_equals(id, TABELLA_CHANGES_ID)) return &changes_table;
#else
  (void)changes_table;
#endif
  return NULL;
}

static void release(void *self) {
  source *source = self;
#ifndef WITHOUT_CHANGES
  close(source->end[1]);
  pthread_join(source->thread, NULL);
  close(source->end[0]);
  close(source->commands);
#endif
  free(source);
}

static const tabella_source_table table = {release, NULL,   ability,   flags,
                                           version, schema, row_count, read_rows};

/* Reads the rows of a text file. The id of a row is a digest of its text. */
static int32_t read_file(source *self, const char *path, tabella_error *error) {
  char line[TEXT];
  FILE *file = fopen(path, "re");
  if (file == NULL) return tabella_fail(error, TABELLA_NOT_FOUND, "%s is gone", path);
  while (fgets(line, sizeof line, file) != NULL) {
    int64_t id = 5381;
    line[strcspn(line, "\n")] = 0;
    /* The first word is the id. */
    for (const char *at = line; *at != 0 && *at != ' '; at++) id = id * 33 % 1000003 + *at;
    self->next_id = id;
    append(self, &self->shown, self->shown.count, line);
  }
  fclose(file);
  return TABELLA_OK;
}

static int32_t open_location(void *provider, const tabella_open_request *request,
                             tabella_source *out, tabella_error *error) {
  char path[512];
  source *self = calloc(1, sizeof *self);
  int32_t code = TABELLA_OK;
  (void)provider;
  snprintf(path, sizeof path, "%.*s", (int)request->location.length, request->location.bytes);
  if (self == NULL) return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  pthread_mutex_init(&self->mutex, NULL);
  out->table = &table;
  out->source = self;
#ifdef WITHOUT_CHANGES
  (void)obey;
  code = read_file(self, path, error);
#else
  (void)read_file;
  append(self, &self->now, 0, "first");
  append(self, &self->now, 1, "second");
  self->shown = self->now;
  self->commands = open(path, O_RDWR | O_CLOEXEC);
  if (self->commands < 0 || pipe(self->end) != 0)
    code = tabella_fail(error, TABELLA_IO, "%s cannot be opened", path);
  else if (pthread_create(&self->thread, NULL, obey, self) != 0)
    code = tabella_fail(error, TABELLA_INTERNAL, "no thread");
#endif
  if (code != TABELLA_OK) free(self);
  return code;
}

int32_t tabella_provider_entry(tabella_entry *entry) {
  entry->provider_contract = TABELLA_CONTRACT_VERSION;
  if (!TABELLA_CONTRACT_ACCEPTS(entry->contract_version)) return TABELLA_NOT_SUPPORTED;
  entry->provider.id = tabella_cstring("live");
  entry->provider.version = tabella_cstring("1");
  entry->provider.open = open_location;
  return TABELLA_OK;
}
