/*
 * A provider in C with one lie, which the location names: "liar:bad-offsets". Without a lie it is honest: eight rows
 * of a text and a number, with ids and an index over one section.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tabella_batch.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

enum { ROWS = 8 };

typedef struct source {
  char lie[64];
  int calls;
  pid_t opener;
} source;

/* Shared state of sources, for the lies about that. */
static source *last_reader;
static const tabella_host *host;

static const tabella_column columns[] = {{"word", TABELLA_TYPE_TEXT, NULL},
                                         {"number", TABELLA_TYPE_INTEGER, NULL}};
static const char *const words[] = {"ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen"};

static int tells(const source *source, const char *lie) { return strcmp(source->lie, lie) == 0; }

static void release(void *self) {
  if (last_reader == self) last_reader = NULL;
  if (!tells(self, "leaked-source")) free(self);
}

static uint64_t flags(void *self) {
  (void)self;
  return 0;
}

static int32_t version(void *self, tabella_string *out, tabella_error *error) {
  source *source = self;
  (void)error;
  *out = tabella_cstring(tells(source, "unprintable-version") ? "a b\n" : "1");
  return TABELLA_OK;
}

/* Leaves `release` set and never frees the memory. The host must notice by the mark. */
static void forgetful_schema_release(struct ArrowSchema *schema) { (void)schema; }
static void forgetful_element_release(struct tabella_element *element) { (void)element; }

static int32_t schema(void *self, struct ArrowSchema *out, tabella_error *error) {
  source *source = self;
  int32_t code = tabella_schema_make(columns, 2, out, error);
  if (code == TABELLA_OK && tells(source, "unknown-format")) out->children[1]->format = "+m";
  if (code == TABELLA_OK && tells(source, "schema-without-release")) out->release = NULL;
  if (code == TABELLA_OK && tells(source, "schema-release-not-cleared"))
    out->release = forgetful_schema_release;
  return code;
}

static int32_t row_count(void *self, int64_t section, int64_t at_least, tabella_count *out,
                         tabella_error *error) {
  source *source = self;
  source->calls++;
  if (section != 0) {
    if (tells(source, "error-without-release")) {
      error->message = tabella_cstring("nobody frees me");
      return TABELLA_NOT_FOUND;
    }
    if (tells(source, "unknown-code")) return 4711;
    if (tells(source, "accepts-any-section")) section = 0;
    else return tabella_fail(error, TABELLA_NOT_FOUND, "there is no section %lld", (long long)section);
  }
  out->value = ROWS;
  out->exact = 1;
  if (tells(source, "wrong-count")) out->value = ROWS + 1;
  if (tells(source, "endless-count")) out->value = INT64_MAX;
  if (tells(source, "negative-count")) out->value = -1;
  if (tells(source, "falling-count")) {
    out->exact = at_least == INT64_MAX;
    out->value = at_least > ROWS ? at_least : ROWS - source->calls % 3;
    if (out->exact) out->value = ROWS;
  }
  if (tells(source, "changing-count")) out->value = ROWS - source->calls % 2;
  if (tells(source, "count-neither-exact")) out->exact = 7;
  return TABELLA_OK;
}

static void keep_release(struct ArrowArray *array) { array->release = NULL; }

static void spoil(source *source, const tabella_row_request *request, tabella_batch *out) {
  struct ArrowArray *array = &out->array;
  int64_t i;
  for (i = 0; i < request->column_count && array->length > 1; i++) {
    struct ArrowArray *child = array->children[i];
    int32_t *offsets = (int32_t *)(uintptr_t)child->buffers[1];
    if (tells(source, "bad-null-count")) child->null_count = 1;
    if (tells(source, "huge-null-count")) child->null_count = INT64_MAX;
    if (tells(source, "bad-length")) child->length -= 1;
    if (tells(source, "uncounted-length")) {
      /* "Not counted", so that counting reads as far as the length says. */
      static const uint8_t all[8] = {255, 255, 255, 255, 255, 255, 255, 255};
      free((void *)(uintptr_t)child->buffers[0]);
      child->buffers[0] = memcpy(malloc(8), all, 8);
      child->null_count = -1;
      child->length = INT32_MAX;
    }
    if (tells(source, "misaligned-offsets") && request->columns[i] == 0) {
      /* The same offsets, one byte further. The memory is leaked on purpose. */
      char *moved = malloc((size_t)(child->length + 2) * 4);
      memcpy(moved + 1, offsets, (size_t)(child->length + 1) * 4);
      child->buffers[1] = moved + 1;
      child->release = keep_release;
    }
    if (tells(source, "negative-length")) child->length = -3;
    if (tells(source, "negative-offset")) child->offset = -1;
    if (tells(source, "missing-buffer")) child->n_buffers = 1;
    if (request->columns[i] != 0) continue;
    if (tells(source, "bad-offsets")) offsets[1] = INT32_MAX, offsets[2] = 0;
    if (tells(source, "negative-first-offset")) offsets[0] = -8;
    if (tells(source, "false-utf8")) {
      out->flags |= TABELLA_BATCH_UTF8;
      ((uint8_t *)(uintptr_t)child->buffers[2])[1] = 0xFF;
    }
  }
  if (tells(source, "missing-column") && array->n_children > 0) {
    array->n_children--;
    array->children[array->n_children]->release(array->children[array->n_children]);
    free(array->children[array->n_children]);
  }
}

/* Memory that is never freed; volatile, so that the compiler keeps it. */
static void *volatile leak;

/* Leaves `release` set and never frees the memory. The host must notice by the mark. */
static void forgetful_release(struct ArrowArray *array) { (void)array; }

static int32_t rows(void *self, const tabella_row_request *request, tabella_batch *out,
                    tabella_error *error) {
  source *source = self;
  int64_t first = request->first, count = request->count, row, i;
  tabella_batch_builder *batch;
  int32_t code = TABELLA_OK;
  source->calls++;
  if (!tells(source, "trusts-requests")) code = tabella_rows_check(request, 2, 1, error);
  if (code != TABELLA_OK) return code;
  if (request->section != 0)
    return tabella_fail(error, TABELLA_NOT_FOUND, "there is no section");
  if (first > ROWS && !tells(source, "accepts-any-row"))
    return tabella_fail(error, TABELLA_NOT_FOUND, "there is no row %lld", (long long)first);
  if (tells(source, "crashes") && first == 3) raise(SIGSEGV);
  if (tells(source, "exits") && first == 3) _exit(0);
  while (tells(source, "hangs") && first == 3) usleep(1000);
  if (tells(source, "prints")) printf("row %lld\n", (long long)first), fflush(stdout);
  if (tells(source, "overflows") && count > INT64_MAX - first) count = 0;
  if (tells(source, "thread-bound") && source->opener != gettid())
    return tabella_fail(error, TABELLA_INTERNAL, "called from another thread");
  if (tells(source, "shared-cursor")) {
    if (last_reader != NULL && last_reader != source) first = 0;
    last_reader = source;
  }
  if (tells(source, "leaked-descriptor")) (void)dup(2);
  if (tells(source, "overlapping-cut") && first > 0) first--;
  if (tells(source, "too-many-rows")) count++;
  if (tells(source, "no-release")) return TABELLA_OK;
  if (tells(source, "success-with-error"))
    (void)tabella_fail(error, TABELLA_IO, "a success that complains");
  batch = tabella_batch_for(request, columns);
  for (row = first; row < ROWS && row - first < count; row++) {
    for (i = 0; i < request->column_count; i++) {
      int64_t column = request->columns[i];
      if (tells(source, "wrong-projection")) column = i;
      if (columns[request->columns[i]].type == TABELLA_TYPE_TEXT)
        tabella_batch_cstring(batch, i, column == 0 ? words[row] : "wrong");
      else
        tabella_batch_integer(batch, i, column == 1 ? row * 10 : -1 );
      if (tells(source, "changing-cells") && request->columns[i] == 1) {
        /* A cell that counts the calls. */
        ((int64_t *)(void *)batch->columns[i].values.data)[batch->columns[i].count - 1] =
            source->calls;
      }
    }
    if (request->flags & TABELLA_ROWS_IDS) {
      char id[32];
      snprintf(id, sizeof id, "%s", words[tells(source, "duplicate-id") && row == 1 ? 0 : row]);
      if (tells(source, "changed-id")) snprintf(id, sizeof id, "%d-%d", source->calls, (int)row);
      if (tells(source, "empty-id")) id[0] = 0;
      tabella_batch_id(batch, id);
    }
  }
  code = tabella_batch_finish_rows(batch, row - first, out, error);
  if (code != TABELLA_OK) return code;
  spoil(source, request, out);
  if (tells(source, "leaked-batch")) leak = malloc(256);
  if (tells(source, "release-not-cleared")) out->array.release = forgetful_release;
  return TABELLA_OK;
}

static int32_t section_count(void *self, int64_t at_least, tabella_count *out,
                             tabella_error *error) {
  (void)at_least, (void)error;
  out->value = tells((source *)self, "phantom-section") ? 2 : 1;
  if (tells((source *)self, "endless-sections")) out->value = INT64_MAX;
  out->exact = 1;
  return TABELLA_OK;
}

static int32_t title(void *self, int64_t section, int32_t which, tabella_string *out,
                     tabella_error *error) {
  (void)which;
  if ((section < 0 || section > 0) && !tells((source *)self, "title-out-of-bounds"))
    return tabella_fail(error, TABELLA_NOT_FOUND, "there is no section");
  *out = tabella_cstring("Animals");
  if (tells((source *)self, "absurd-string")) out->length = INT64_MAX;
  return TABELLA_OK;
}

static int32_t index_titles(void *self, const tabella_string **out, int64_t *count,
                            tabella_error *error) {
  static tabella_string list[1];
  (void)self, (void)error;
  list[0] = tabella_cstring("A");
  *out = list;
  *count = 1;
  return TABELLA_OK;
}

static int32_t index_path(void *self, int64_t title, tabella_index_path *out,
                          tabella_error *error) {
  if (title != 0) return tabella_fail(error, TABELLA_NOT_FOUND, "there is no title");
  out->section = tells((source *)self, "index-out-of-bounds") ? 5 : 0;
  out->row = -1;
  return TABELLA_OK;
}

static int32_t find(void *self, tabella_string id, tabella_index_path *out,
                    tabella_error *error) {
  if (tells(self, "leaked-lookup")) leak = malloc(256);
  out->section = 0;
  for (out->row = 0; out->row < ROWS; out->row++)
    if (tabella_string_equals(id, words[out->row])) {
      if (tells((source *)self, "id-leads-elsewhere")) out->row = 0;
      return TABELLA_OK;
    }
  return tabella_fail(error, TABELLA_NOT_FOUND, "there is no such animal");
}

static const tabella_sections sections = {section_count, title};
static const tabella_sections sections_without_count = {NULL, title};
static const tabella_section_index section_index = {index_titles, index_path};
static const tabella_identity identity = {find};

static const tabella_source_table table;

/* For each row a note, a table, and text that is not UTF-8. */
static int32_t kinds(void *self, const tabella_string **out, int64_t *count, tabella_error *error) {
  static tabella_string list[3];
  if (tells((source *)self, "failing-kinds"))
    return tabella_fail(error, TABELLA_IO, "the kinds are gone");
  list[0] = tabella_cstring("table");
  list[1] = tabella_cstring("odd");
  list[2] = tabella_cstring("note");
  *out = list;
  *count = 3;
  return TABELLA_OK;
}

static int32_t element(void *self, tabella_string kind, tabella_index_path path,
                       tabella_element *out, tabella_error *error) {
  static const tabella_text_span outside = {3, 9, TABELLA_STYLE_DIM, 0};
  if (path.section != 0 || path.row < 0 || path.row >= ROWS) return TABELLA_OK;
  out->form = TABELLA_ELEMENT_TEXT;
  if (tabella_string_equals(kind, "note")) {
    if (tells((source *)self, "failing-element"))
      return tabella_fail(error, TABELLA_IO, "the note is lost");
    out->text = tabella_cstring("a note");
    if (tells((source *)self, "element-release-not-cleared"))
      out->release = forgetful_element_release;
    if (tells((source *)self, "span-beyond-text")) out->spans = &outside, out->span_count = 1;
    if (tells((source *)self, "unknown-form")) out->form = 7;
  } else if (tabella_string_equals(kind, "odd")) {
    out->text = tabella_cstring("odd \xFF\ntext \x1B[31m");
  } else if (tabella_string_equals(kind, "table")) {
    source *inner = calloc(1, sizeof *inner);
    if (inner == NULL) return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
    out->form = TABELLA_ELEMENT_TABLE;
    out->table.table = &table;
    out->table.source = inner;
    if (tells((source *)self, "lying-table")) memcpy(inner->lie, "bad-offsets", 12);
  } else {
    out->form = TABELLA_ELEMENT_NONE;
  }
  return TABELLA_OK;
}

static const tabella_supplementary supplementary = {kinds, element};

static const void *ability(void *self, tabella_string id) {
  source *source = self;
  /* Ids that only begin like a supported one. */
  if (tells(source, "prefix-abilities") && id.length > (int64_t)strlen(TABELLA_IDENTITY_ID) &&
      memcmp(id.bytes, TABELLA_IDENTITY_ID, strlen(TABELLA_IDENTITY_ID)) == 0)
    return &identity;
  if (tabella_string_equals(id, TABELLA_SECTIONS_ID))
    return tells(source, "table-without-function") ? &sections_without_count : &sections;
  if (tabella_string_equals(id, TABELLA_SECTION_INDEX_ID)) return &section_index;
  if (tabella_string_equals(id, TABELLA_IDENTITY_ID)) return &identity;
  if (tabella_string_equals(id, TABELLA_SUPPLEMENTARY_ID)) return &supplementary;
  return NULL;
}

static const tabella_source_table table = {release, NULL,   ability,   flags,
                                           version, schema, row_count, rows};
static const tabella_source_table table_without_rows = {release, NULL,   ability,   flags,
                                                        version, schema, row_count, NULL};

__attribute__((unused)) static int32_t open_location(void *provider, const tabella_open_request *request,
                             tabella_source *out, tabella_error *error) {
  source *made = calloc(1, sizeof *made);
  (void)provider;
  if (made == NULL) return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  snprintf(made->lie, sizeof made->lie, "%.*s", (int)request->location.length,
           request->location.bytes);
  made->opener = gettid();
  if (tells(made, "logs-blindly")) host->log(host->host, TABELLA_LOG_INFO, tabella_cstring("open"));
  if (tells(made, "several-lines")) {
    free(made);
    return tabella_fail(error, TABELLA_IO, "first\nsecond");
  }
  if (tells(made, "no-source")) {
    free(made);
    return TABELLA_OK;
  }
  out->table = tells(made, "no-rows-function") ? &table_without_rows : &table;
  out->source = made;
  return TABELLA_OK;
}

#ifdef BUSY_ENTRY
static void *wait_for_ever(void *nothing) {
  while (1) pause();
  return nothing;
}
#endif

int32_t tabella_provider_entry(tabella_entry *entry) {
#ifdef BUSY_ENTRY
  pthread_t thread;
  (void)pthread_create(&thread, NULL, wait_for_ever, NULL);
#endif
#ifdef READING_ENTRY
  char bytes[64];
  int file = open("/proc/self/status", O_RDONLY);
  if (file >= 0 && read(file, bytes, sizeof bytes) > 0) close(file);
#endif
#ifdef SLOW_ENTRY
  usleep(200000);
#endif
#ifdef ONE_HOST
  static int calls;
  if (entry->contract_version == TABELLA_CONTRACT_VERSION && calls++ > 0) {
    entry->provider_contract = TABELLA_CONTRACT_VERSION;
    return tabella_fail(&entry->error, TABELLA_INVALID_STATE, "called before");
  }
#endif
#ifdef OTHER_CONTRACT
  entry->provider_contract = OTHER_CONTRACT;
  return TABELLA_NOT_SUPPORTED;
#else
  entry->provider_contract = TABELLA_CONTRACT_VERSION;
#ifndef ANY_CONTRACT
  if (!TABELLA_CONTRACT_ACCEPTS(entry->contract_version)) return TABELLA_NOT_SUPPORTED;
#endif
  host = entry->host;
#ifdef REFUSES
  return tabella_fail(&entry->error, TABELLA_DENIED, "no licence today");
#endif
#ifndef WITHOUT_ID
  entry->provider.id = tabella_cstring("liar");
#endif
  entry->provider.version = tabella_cstring("1");
#ifndef WITHOUT_OPEN
  entry->provider.open = open_location;
#endif
  return TABELLA_OK;
#endif
}
