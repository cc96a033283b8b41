/* The lines of a small file, which it reads at the opening and at each pull. It never calls its listener.
 *
 * It reads the file by its path. With the option "open" it reads the file that it opened, whatever its name is now. */
#include "tabella_batch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const tabella_column columns[] = {{"line", TABELLA_TYPE_TEXT, NULL}};

typedef struct source {
  char path[4096];
  int file; /* -1: it is opened by its path each time. */
  char bytes[1 << 16];
  size_t size;
  char version[32];
  int64_t displayed; /* The ranges on display. */
} source;

/* Reads the file into `out`, an array of the size of source.bytes. Returns the number of bytes, or -1. */
static ssize_t read_file(const source *self, char *out) {
  int file = self->file >= 0 ? self->file : open(self->path, O_RDONLY | O_CLOEXEC);
  ssize_t size = file < 0 ? -1 : pread(file, out, sizeof self->bytes, 0);
  if (file >= 0 && file != self->file) close(file);
  return size;
}

static void show(source *self, const char *bytes, size_t size) {
  uint64_t digest = UINT64_C(14695981039346656037);
  size_t i;
  memcpy(self->bytes, bytes, size);
  self->size = size;
  for (i = 0; i < size; i++) digest = (digest ^ (uint8_t)bytes[i]) * UINT64_C(1099511628211);
  snprintf(self->version, sizeof self->version, "%llx", (unsigned long long)digest);
}

/* The line with a number; absent behind the last one. */
static tabella_string line(const source *self, int64_t number) {
  const char *at = self->bytes, *end = self->bytes + self->size;
  tabella_string none = {NULL, 0};
  for (; at < end; number--) {
    const char *feed = memchr(at, '\n', (size_t)(end - at));
    tabella_string text = {at, (feed != NULL ? feed : end) - at};
    if (number == 0) return text;
    if (feed == NULL) return none;
    at = feed + 1;
  }
  return none;
}

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
  return tabella_schema_make(columns, 1, out, error);
}

static int32_t row_count(void *self, int64_t section, int64_t at_least, tabella_count *out, tabella_error *error) {
  (void)at_least;
  if (section != 0) return tabella_fail(error, TABELLA_NOT_FOUND, "there is one section");
  out->value = 0;
  while (line(self, out->value).bytes != NULL) out->value++;
  out->exact = 1;
  return TABELLA_OK;
}

static int32_t rows(void *self, const tabella_row_request *request, tabella_batch *out, tabella_error *error) {
  tabella_count count = {0, 0, 0};
  tabella_batch_builder *batch;
  int64_t row, i;
  int32_t code = tabella_rows_check(request, 1, 0, error);
  if (code == TABELLA_OK) code = row_count(self, request->section, 0, &count, error);
  if (code != TABELLA_OK) return code;
  if (request->first > count.value) return tabella_fail(error, TABELLA_NOT_FOUND, "there is no such row");
  batch = tabella_batch_for(request, columns);
  for (row = request->first; row < count.value && row - request->first < request->count; row++)
    for (i = 0; i < request->column_count; i++) tabella_batch_text(batch, i, line(self, row).bytes, line(self, row).length);
  return tabella_batch_finish_rows(batch, row - request->first, out, error);
}

static int32_t listen_for(void *self, tabella_notify notify, void *context, tabella_error *error) {
  (void)self, (void)notify, (void)context, (void)error;
  return TABELLA_OK;
}

static int32_t pull(void *self, tabella_changes *out, tabella_error *error) {
  source *source = self;
  tabella_changes_builder changes = {0};
  static char bytes[sizeof source->bytes];
  char before[sizeof source->version];
  ssize_t size = read_file(source, bytes);
  if (size < 0) return tabella_fail(error, TABELLA_IO, "%s cannot be opened", source->path);
  memcpy(before, source->version, sizeof before);
  if ((size_t)size != source->size || memcmp(bytes, source->bytes, source->size) != 0) {
    show(source, bytes, (size_t)size);
    tabella_changes_reload_all(&changes);
  }
  return tabella_changes_finish(&changes, before, source->version, out, error);
}

/* Aborts if the notices are not paired. */
static void will_display(void *self, int64_t section, int64_t first, int64_t count) {
  (void)section, (void)first, (void)count;
  ((source *)self)->displayed++;
}

static void did_end_displaying(void *self, int64_t section, int64_t first, int64_t count) {
  (void)section, (void)first, (void)count;
  if (--((source *)self)->displayed < 0) abort();
}

static const tabella_changes_table changes_table = {listen_for, pull};
static const tabella_display display = {will_display, did_end_displaying};

static const void *ability(void *self, tabella_string id) {
  (void)self;
  if (tabella_string_equals(id, TABELLA_CHANGES_ID)) return &changes_table;
  if (tabella_string_equals(id, TABELLA_DISPLAY_ID)) return &display;
  return NULL;
}

static void release(void *self) {
  source *source = self;
  if (source->displayed != 0) abort();
  if (source->file >= 0) close(source->file);
  free(source);
}

static const tabella_source_table table = {release, NULL, ability, flags, version, schema, row_count, rows};

static int32_t open_location(void *provider, const tabella_open_request *request, tabella_source *out,
                             tabella_error *error) {
  static char bytes[sizeof ((source *)NULL)->bytes];
  source *self = calloc(1, sizeof *self);
  ssize_t size;
  (void)provider;
  if (self == NULL || (size_t)request->location.length >= sizeof self->path)
    return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  memcpy(self->path, request->location.bytes, (size_t)request->location.length);
  self->file = -1;
  if (request->option_count > 0) self->file = open(self->path, O_RDONLY | O_CLOEXEC);
  size = read_file(self, bytes);
  if (size < 0) {
    free(self);
    return tabella_fail(error, TABELLA_NOT_FOUND, "cannot be opened");
  }
  show(self, bytes, (size_t)size);
  out->table = &table;
  out->source = self;
  return TABELLA_OK;
}

int32_t tabella_provider_entry(tabella_entry *entry) {
  entry->provider_contract = TABELLA_CONTRACT_VERSION;
  if (!TABELLA_CONTRACT_ACCEPTS(entry->contract_version)) return TABELLA_NOT_SUPPORTED;
  entry->provider.id = tabella_cstring("reread");
  entry->provider.version = tabella_cstring("1.0");
  entry->provider.open = open_location;
  return TABELLA_OK;
}
