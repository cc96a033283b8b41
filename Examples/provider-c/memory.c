/* A live provider in C: the lines of /proc/meminfo, with changes. `pull` reads the file again and lists the rows that
 * came, went or have another value. A thread tells the host once a second that a pull may find something. */
#define _POSIX_C_SOURCE 200809L

#include "tabella_batch.h"

#include <inttypes.h>
#include <pthread.h>
#include <time.h>

#define MOST_ROWS 256

typedef struct row {
  char name[48];
  int64_t bytes;
} row;

/* The lines of one reading. */
typedef struct reading {
  row rows[MOST_ROWS];
  int64_t count;
  uint64_t version; /* a digest of the names: equal versions mean the same rows */
} reading;

typedef struct source {
  reading shown;
  char version[24];
  /* The listener, and the thread that calls it. The mutex protects these members. */
  pthread_mutex_t mutex;
  pthread_cond_t stop;
  pthread_t thread;
  int listens;
  tabella_notify notify;
  void *context;
} source;

static const tabella_column columns[] = {
    {"name", TABELLA_TYPE_TEXT, NULL},
    {"size", TABELLA_TYPE_INTEGER, "bytes"},
};

static int32_t read_memory(reading *out, tabella_error *error) {
  char line[128], unit[8];
  FILE *file = fopen("/proc/meminfo", "re");
  if (file == NULL) return tabella_fail(error, TABELLA_IO, "/proc/meminfo cannot be read");
  out->count = 0;
  out->version = UINT64_C(14695981039346656037);
  while (out->count < MOST_ROWS && fgets(line, sizeof line, file) != NULL) {
    row *next = &out->rows[out->count];
    const char *at;
    /* "MemTotal:  24 kB", or a number of pages without a unit. */
    int fields = sscanf(line, "%47[^:]: %" SCNd64 " %7s", next->name, &next->bytes, unit);
    if (fields < 2 || (fields == 3 && strcmp(unit, "kB") != 0)) continue;
    if (fields == 3) next->bytes *= 1024;
    for (at = next->name;; at++) {
      out->version = (out->version ^ (uint8_t)*at) * UINT64_C(1099511628211);
      if (*at == 0) break;
    }
    out->count++;
  }
  fclose(file);
  return TABELLA_OK;
}

/* Shows a reading. */
static void show(source *self, const reading *reading) {
  self->shown = *reading;
  snprintf(self->version, sizeof self->version, "%" PRIx64, reading->version);
}

static int64_t find_name(const reading *reading, tabella_string name) {
  int64_t i;
  for (i = 0; i < reading->count; i++)
    if (tabella_string_equals(name, reading->rows[i].name)) return i;
  return -1;
}

/* ------------------------------------------------------------------------------------------------
 * The table
 * --------------------------------------------------------------------------------------------- */

static uint64_t flags(void *self) {
  (void)self;
  return 0;
}

static int32_t version(void *self, tabella_string *out, tabella_error *error) {
  (void)error;
  *out = tabella_cstring(((source *)self)->version);
  return TABELLA_OK;
}

static int32_t schema(void *self, struct ArrowSchema *out, tabella_error *error) {
  (void)self;
  return tabella_schema_make(columns, 2, out, error);
}

static int32_t row_count(void *self, int64_t section, int64_t at_least, tabella_count *out,
                         tabella_error *error) {
  (void)at_least;
  if (section != 0)
    return tabella_fail(error, TABELLA_NOT_FOUND, "there is no section %" PRId64, section);
  out->value = ((source *)self)->shown.count;
  out->exact = 1;
  return TABELLA_OK;
}

static int32_t rows(void *self, const tabella_row_request *request, tabella_batch *out,
                    tabella_error *error) {
  const reading *shown = &((source *)self)->shown;
  tabella_count count = {0, 0, 0};
  tabella_batch_builder *batch;
  int64_t row, i;
  int32_t code = tabella_rows_check(request, 2, 1, error);
  if (code == TABELLA_OK) code = row_count(self, request->section, 0, &count, error);
  if (code != TABELLA_OK) return code;
  if (request->first > count.value)
    return tabella_fail(error, TABELLA_NOT_FOUND, "there is no row %" PRId64, request->first);
  batch = tabella_batch_for(request, columns);
  for (row = request->first; row < count.value && row - request->first < request->count; row++) {
    for (i = 0; i < request->column_count; i++) {
      if (request->columns[i] == 0) tabella_batch_cstring(batch, i, shown->rows[row].name);
      else tabella_batch_integer(batch, i, shown->rows[row].bytes);
    }
    if (request->flags & TABELLA_ROWS_IDS) tabella_batch_id(batch, shown->rows[row].name);
  }
  return tabella_batch_finish_rows(batch, row - request->first, out, error);
}

static int32_t find(void *self, tabella_string id, tabella_index_path *out, tabella_error *error) {
  out->section = 0;
  out->row = find_name(&((source *)self)->shown, id);
  if (out->row >= 0) return TABELLA_OK;
  return tabella_fail(error, TABELLA_NOT_FOUND, "/proc/meminfo has no such line");
}

/* ------------------------------------------------------------------------------------------------
 * Changes
 * --------------------------------------------------------------------------------------------- */

/* Lists the changes. The kernel never changes the order of the lines, so no row moves. */
static int32_t pull(void *self, tabella_changes *out, tabella_error *error) {
  source *source = self;
  const reading *old = &source->shown;
  tabella_changes_builder changes = {0};
  char after[sizeof source->version];
  reading now;
  int64_t i;
  int32_t code = read_memory(&now, error);
  if (code != TABELLA_OK) return code;
  for (i = 0; i < old->count; i++) {
    int64_t at = find_name(&now, tabella_cstring(old->rows[i].name));
    if (at < 0) tabella_changes_delete(&changes, 0, i);
    else if (now.rows[at].bytes != old->rows[i].bytes) tabella_changes_reconfigure(&changes, 0, i);
  }
  for (i = 0; i < now.count; i++)
    if (find_name(old, tabella_cstring(now.rows[i].name)) < 0) tabella_changes_insert(&changes, 0, i);
  snprintf(after, sizeof after, "%" PRIx64, now.version);
  code = tabella_changes_finish(&changes, source->version, after, out, error);
  /* After an error, the source shows its old version. */
  if (code == TABELLA_OK) show(source, &now);
  return code;
}

/* Calls the listener once a second, until it is removed. */
static void *call_listener(void *self) {
  source *source = self;
  struct timespec next;
  clock_gettime(CLOCK_REALTIME, &next);
  pthread_mutex_lock(&source->mutex);
  while (source->listens) {
    next.tv_sec++;
    while (source->listens &&
           pthread_cond_timedwait(&source->stop, &source->mutex, &next) == 0) {}
    if (source->listens) source->notify(source->context);
  }
  pthread_mutex_unlock(&source->mutex);
  return NULL;
}

static void stop_listening(source *source) {
  int listened;
  pthread_mutex_lock(&source->mutex);
  listened = source->listens;
  source->listens = 0;
  pthread_cond_signal(&source->stop);
  pthread_mutex_unlock(&source->mutex);
  if (listened) pthread_join(source->thread, NULL);
}

static int32_t listen(void *self, tabella_notify notify, void *context, tabella_error *error) {
  source *source = self;
  stop_listening(source);
  if (notify == NULL) return TABELLA_OK;
  source->notify = notify;
  source->context = context;
  source->listens = 1;
  if (pthread_create(&source->thread, NULL, call_listener, source) != 0) {
    source->listens = 0;
    return tabella_fail(error, TABELLA_INTERNAL, "no thread could be started");
  }
  return TABELLA_OK;
}

/* ------------------------------------------------------------------------------------------------
 * The provider
 * --------------------------------------------------------------------------------------------- */

static const tabella_identity identity = {find};
static const tabella_changes_table changes_table = {listen, pull};

static const void *ability(void *self, tabella_string id) {
  (void)self;
  if (tabella_string_equals(id, TABELLA_IDENTITY_ID)) return &identity;
  if (tabella_string_equals(id, TABELLA_CHANGES_ID)) return &changes_table;
  return NULL;
}

static void release(void *self) {
  source *source = self;
  stop_listening(source);
  pthread_cond_destroy(&source->stop);
  pthread_mutex_destroy(&source->mutex);
  free(source);
}

static const tabella_source_table table = {release, NULL,   ability,   flags,
                                           version, schema, row_count, rows};

static int32_t open_location(void *provider, const tabella_open_request *request,
                             tabella_source *out, tabella_error *error) {
  reading now;
  source *self;
  int32_t code;
  (void)provider;
  if (request->location.length > 0)
    return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "takes no path; write memory: alone");
  code = read_memory(&now, error);
  if (code != TABELLA_OK) return code;
  self = calloc(1, sizeof *self);
  if (self == NULL) return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  pthread_mutex_init(&self->mutex, NULL);
  pthread_cond_init(&self->stop, NULL);
  show(self, &now);
  out->table = &table;
  out->source = self;
  return TABELLA_OK;
}

int32_t tabella_provider_entry(tabella_entry *entry) {
  entry->provider_contract = TABELLA_CONTRACT_VERSION;
  if (!TABELLA_CONTRACT_ACCEPTS(entry->contract_version)) return TABELLA_NOT_SUPPORTED;
  entry->provider.id = tabella_cstring("memory");
  entry->provider.version = tabella_cstring("1.0");
  entry->provider.open = open_location;
  return TABELLA_OK;
}
