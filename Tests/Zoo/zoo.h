/*
 * A complete, well-behaved provider. An animal of the zoo replaces a part of it.
 *
 *   #include "zoo.h"
 *   static int32_t rows(void *self, const tabella_row_request *request, tabella_batch *out,
 *                       tabella_error *error) {
 *     int32_t code = zoo_rows(self, request, out, error);
 *     if (code == TABELLA_OK) out->array.length = -1;
 *     return code;
 *   }
 *   ANIMAL { zoo_table.rows = rows; }
 *
 * The entry point runs ANIMAL. All tables of functions are writable: zoo_table, zoo_sections, … An animal that
 * only acts at a certain moment sets zoo_act, which is called at every moment of enum zoo_moment. Nothing here
 * is static const, and nothing is clever.
 *
 * The table: 200 rows of section "Den" and 100 of section "Pool", each a word, a number and a weight.
 * ZOO_ID is the provider's id, which the build defines.
 */
#ifndef ZOO_H
#define ZOO_H

#include "tabella_batch.h"

#include <unistd.h>

#ifndef ZOO_ID
#define ZOO_ID "zoo"
#endif
#define ZOO_HELPER __attribute__((unused)) static

/* The moments at which an animal can act. */
enum zoo_moment {
  zoo_in_constructor = 1, zoo_in_entry, zoo_in_open, zoo_in_ability, zoo_in_flags, zoo_in_version,
  zoo_in_schema, zoo_in_sections, zoo_in_title, zoo_in_count, zoo_in_rows, zoo_in_find,
  zoo_in_kinds, zoo_in_element, zoo_in_display, zoo_in_diagnostics, zoo_in_editable,
  zoo_in_commit, zoo_in_undo, zoo_in_batch_release, zoo_in_release, zoo_in_destructor
};

ZOO_HELPER void (*zoo_act)(enum zoo_moment moment);
/* The host's log; null if there is none. */
ZOO_HELPER const tabella_host *zoo_host;

ZOO_HELPER void zoo_at(enum zoo_moment moment) {
  if (zoo_act != NULL) zoo_act(moment);
}

/* ------------------------------------------------------------------------------------------------
 * The rows
 * --------------------------------------------------------------------------------------------- */

enum { ZOO_SECTIONS = 2, ZOO_COLUMNS = 3, ZOO_WORD = 40 };

ZOO_HELPER tabella_column zoo_columns[ZOO_COLUMNS] = {{"word", TABELLA_TYPE_TEXT, NULL},
                                                       {"number", TABELLA_TYPE_INTEGER, NULL},
                                                       {"weight", TABELLA_TYPE_REAL, NULL}};

typedef struct zoo_row {
  int64_t id;
  int64_t number;
  double weight;
  uint8_t missing; /* one bit per column */
  uint8_t length;
  char word[ZOO_WORD];
} zoo_row;

/* The open data: one piece of memory, so that it can be stored in a file and compared byte by byte. */
typedef struct zoo_data {
  char mark[8];
  int64_t next_id;
  int64_t count[ZOO_SECTIONS];
  zoo_row rows[]; /* of the first section, then of the second */
} zoo_data;

typedef struct zoo_source {
  zoo_data *data;
  char version[24];
  /* The file with the rows, or empty: a location that begins with a slash. */
  char path[1024];
  /* The lie of an animal that knows several: the location, or the text after the last dot of a
   * path. */
  char lie[64];
} zoo_source;

ZOO_HELPER int zoo_tells(const void *self, const char *lie) {
  return strcmp(((const zoo_source *)self)->lie, lie) == 0;
}

ZOO_HELPER size_t zoo_size(const zoo_data *data) {
  return sizeof *data + (size_t)(data->count[0] + data->count[1]) * sizeof(zoo_row);
}

ZOO_HELPER zoo_row *zoo_rows_of(zoo_data *data, int64_t section) {
  return data->rows + (section == 0 ? 0 : data->count[0]);
}

ZOO_HELPER zoo_data *zoo_data_new(int64_t first, int64_t second) {
  zoo_data *data = calloc(1, sizeof *data + (size_t)(first + second) * sizeof(zoo_row));
  if (data == NULL) return NULL;
  memcpy(data->mark, "tabzoo1", 8);
  data->count[0] = first;
  data->count[1] = second;
  return data;
}

/* The rows of every animal. */
ZOO_HELPER zoo_data *zoo_data_standard(void) {
  static const char *const words[] = {"ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen"};
  zoo_data *data = zoo_data_new(200, 100);
  int64_t i;
  if (data == NULL) return NULL;
  for (i = 0; i < 300; i++) {
    zoo_row *row = &data->rows[i];
    row->id = ++data->next_id;
    row->number = i * 7;
    row->weight = (double)i / 4;
    row->length = (uint8_t)snprintf(row->word, ZOO_WORD, "%s %d", words[i % 8], (int)i);
    if (i % 50 == 49) row->missing = 4, row->weight = 0;
  }
  return data;
}

/* FNV-1a. */
ZOO_HELPER uint64_t zoo_digest(const void *bytes, size_t size) {
  const uint8_t *at = bytes;
  uint64_t digest = 0xcbf29ce484222325u;
  size_t i;
  for (i = 0; i < size; i++) digest = (digest ^ at[i]) * 0x100000001b3u;
  return digest;
}

/* Sets the version. Equal rows always have the same version. */
ZOO_HELPER void zoo_settle(zoo_source *source) {
  size_t head = offsetof(zoo_data, count);
  snprintf(source->version, sizeof source->version, "%016llx",
           (unsigned long long)zoo_digest((char *)source->data + head,
                                          zoo_size(source->data) - head));
}

/* ------------------------------------------------------------------------------------------------
 * The core
 * --------------------------------------------------------------------------------------------- */

ZOO_HELPER void zoo_release(void *self) {
  zoo_source *source = self;
  zoo_at(zoo_in_release);
  free(source->data);
  free(source);
}

ZOO_HELPER uint64_t zoo_flags(void *self) {
  (void)self;
  zoo_at(zoo_in_flags);
  return 0;
}

ZOO_HELPER int32_t zoo_version(void *self, tabella_string *out, tabella_error *error) {
  (void)error;
  zoo_at(zoo_in_version);
  *out = tabella_cstring(((zoo_source *)self)->version);
  return TABELLA_OK;
}

ZOO_HELPER int32_t zoo_schema(void *self, struct ArrowSchema *out, tabella_error *error) {
  (void)self;
  zoo_at(zoo_in_schema);
  return tabella_schema_make(zoo_columns, ZOO_COLUMNS, out, error);
}

ZOO_HELPER int32_t zoo_check_section(int64_t section, tabella_error *error) {
  if (section >= 0 && section < ZOO_SECTIONS) return TABELLA_OK;
  return tabella_fail(error, TABELLA_NOT_FOUND, "there is no section %lld", (long long)section);
}

ZOO_HELPER int32_t zoo_row_count(void *self, int64_t section, int64_t at_least,
                                 tabella_count *out, tabella_error *error) {
  (void)at_least;
  zoo_at(zoo_in_count);
  if (zoo_check_section(section, error) != TABELLA_OK) return TABELLA_NOT_FOUND;
  out->value = ((zoo_source *)self)->data->count[section];
  out->exact = 1;
  return TABELLA_OK;
}

/* Adds the cells of a row, and its id if ids are requested. */
ZOO_HELPER void zoo_put_row(tabella_batch_builder *batch, const zoo_row *row,
                            const int64_t *columns, int64_t column_count, uint32_t flags) {
  int64_t i;
  for (i = 0; i < column_count; i++) {
    int64_t column = columns[i];
    if (row->missing >> column & 1) tabella_batch_missing(batch, i);
    else if (column == 0) tabella_batch_text(batch, i, row->word, row->length);
    else if (column == 1) tabella_batch_integer(batch, i, row->number);
    else tabella_batch_real(batch, i, row->weight);
  }
  if (flags & TABELLA_ROWS_IDS) {
    char id[32];
    snprintf(id, sizeof id, "r%lld", (long long)row->id);
    tabella_batch_id(batch, id);
  }
}

ZOO_HELPER void zoo_array_release(struct ArrowArray *array) {
  zoo_at(zoo_in_batch_release);
  tabella_array_release_(array);
}

ZOO_HELPER int32_t zoo_rows(void *self, const tabella_row_request *request, tabella_batch *out,
                            tabella_error *error) {
  zoo_data *data = ((zoo_source *)self)->data;
  tabella_batch_builder *batch;
  int64_t end, row, i;
  int32_t code;
  zoo_at(zoo_in_rows);
  if (zoo_check_section(request->section, error) != TABELLA_OK) return TABELLA_NOT_FOUND;
  if (request->first < 0 || request->count < 1 || request->column_count < 0)
    return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "a negative number of rows or columns");
  for (i = 0; i < request->column_count; i++)
    if (request->columns[i] < 0 || request->columns[i] >= ZOO_COLUMNS)
      return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "there is no column %lld",
                          (long long)request->columns[i]);
  end = data->count[request->section];
  if (request->first > end)
    return tabella_fail(error, TABELLA_NOT_FOUND, "there is no row %lld",
                        (long long)request->first);
  if (request->count < end - request->first) end = request->first + request->count;
  batch = tabella_batch_for(request, zoo_columns);
  for (row = request->first; row < end; row++)
    zoo_put_row(batch, &zoo_rows_of(data, request->section)[row], request->columns,
                request->column_count, request->flags);
  code = tabella_batch_finish_rows(batch, end - request->first, out, error);
  if (code == TABELLA_OK) out->array.release = zoo_array_release;
  return code;
}

/* ------------------------------------------------------------------------------------------------
 * Abilities
 * --------------------------------------------------------------------------------------------- */

ZOO_HELPER int32_t zoo_section_count(void *self, int64_t at_least, tabella_count *out,
                                     tabella_error *error) {
  (void)self, (void)at_least, (void)error;
  zoo_at(zoo_in_sections);
  out->value = ZOO_SECTIONS;
  out->exact = 1;
  return TABELLA_OK;
}

ZOO_HELPER int32_t zoo_title(void *self, int64_t section, int32_t which, tabella_string *out,
                             tabella_error *error) {
  (void)self;
  zoo_at(zoo_in_title);
  if (zoo_check_section(section, error) != TABELLA_OK) return TABELLA_NOT_FOUND;
  if (which == TABELLA_TITLE_HEADER) *out = tabella_cstring(section == 0 ? "Den" : "Pool");
  return TABELLA_OK;
}

ZOO_HELPER int32_t zoo_find(void *self, tabella_string id, tabella_index_path *out,
                            tabella_error *error) {
  zoo_data *data = ((zoo_source *)self)->data;
  int64_t row;
  zoo_at(zoo_in_find);
  for (row = 0; row < data->count[0] + data->count[1]; row++) {
    char text[32];
    snprintf(text, sizeof text, "r%lld", (long long)data->rows[row].id);
    if (!tabella_string_equals(id, text)) continue;
    out->section = row >= data->count[0];
    out->row = row - (out->section ? data->count[0] : 0);
    return TABELLA_OK;
  }
  return tabella_fail(error, TABELLA_NOT_FOUND, "there is no such row");
}

ZOO_HELPER int32_t zoo_kind_list(void *self, const tabella_string **out, int64_t *count,
                                 tabella_error *error) {
  static tabella_string list[1];
  (void)self, (void)error;
  zoo_at(zoo_in_kinds);
  list[0] = tabella_cstring("badge");
  *out = list;
  *count = 1;
  return TABELLA_OK;
}

ZOO_HELPER int32_t zoo_element(void *self, tabella_string kind, tabella_index_path path,
                               tabella_element *out, tabella_error *error) {
  (void)self, (void)error;
  zoo_at(zoo_in_element);
  if (!tabella_string_equals(kind, "badge") || path.section != 0 || path.row != 0)
    return TABELLA_OK;
  out->form = TABELLA_ELEMENT_TEXT;
  out->text = tabella_cstring("first");
  return TABELLA_OK;
}

ZOO_HELPER void zoo_will_display(void *self, int64_t section, int64_t first, int64_t count) {
  (void)self, (void)section, (void)first, (void)count;
  zoo_at(zoo_in_display);
}

ZOO_HELPER void zoo_did_end_displaying(void *self, int64_t section, int64_t first,
                                       int64_t count) {
  (void)self, (void)section, (void)first, (void)count;
}

ZOO_HELPER int32_t zoo_next_diagnostic(void *self, tabella_diagnostic *out) {
  (void)self, (void)out;
  zoo_at(zoo_in_diagnostics);
  return 0;
}

ZOO_HELPER tabella_sections zoo_sections = {zoo_section_count, zoo_title};
ZOO_HELPER tabella_identity zoo_identity = {zoo_find};
ZOO_HELPER tabella_supplementary zoo_supplementary = {zoo_kind_list, zoo_element};
ZOO_HELPER tabella_display zoo_display = {zoo_will_display, zoo_did_end_displaying};
ZOO_HELPER tabella_diagnostics zoo_diagnostics = {zoo_next_diagnostic};

/* Further abilities of an animal; this function is called first. */
ZOO_HELPER const void *(*zoo_more_abilities)(void *self, tabella_string id);

ZOO_HELPER const void *zoo_ability(void *self, tabella_string id) {
  const void *found = zoo_more_abilities != NULL ? zoo_more_abilities(self, id) : NULL;
  zoo_at(zoo_in_ability);
  if (found != NULL) return found;
  if (tabella_string_equals(id, TABELLA_SECTIONS_ID)) return &zoo_sections;
  if (tabella_string_equals(id, TABELLA_IDENTITY_ID)) return &zoo_identity;
  if (tabella_string_equals(id, TABELLA_SUPPLEMENTARY_ID)) return &zoo_supplementary;
  if (tabella_string_equals(id, TABELLA_DISPLAY_ID)) return &zoo_display;
  if (tabella_string_equals(id, TABELLA_DIAGNOSTICS_ID)) return &zoo_diagnostics;
  return NULL;
}

ZOO_HELPER tabella_source_table zoo_table = {zoo_release, NULL,       zoo_ability,   zoo_flags,
                                              zoo_version, zoo_schema, zoo_row_count, zoo_rows};

/* ------------------------------------------------------------------------------------------------
 * Opening
 * --------------------------------------------------------------------------------------------- */

/* Loads the rows from a file. Returns null if they cannot be read. */
ZOO_HELPER zoo_data *zoo_load(const char *path) {
  FILE *file = fopen(path, "rb");
  zoo_data head, *data = NULL;
  if (file == NULL) return NULL;
  if (fread(&head, 1, sizeof head, file) == sizeof head && memcmp(head.mark, "tabzoo1", 8) == 0 &&
      head.count[0] >= 0 && head.count[0] < 1000000 && head.count[1] >= 0 &&
      head.count[1] < 1000000 && (data = zoo_data_new(head.count[0], head.count[1])) != NULL) {
    size_t rest = zoo_size(&head) - sizeof head;
    data->next_id = head.next_id;
    if (fread(data->rows, 1, rest, file) != rest) free(data), data = NULL;
  }
  fclose(file);
  return data;
}

/* Whether the file is empty. An empty file means the standard rows. */
ZOO_HELPER int zoo_is_empty(const char *path) {
  FILE *file = fopen(path, "rb");
  int is = file != NULL && fgetc(file) == EOF;
  if (file != NULL) fclose(file);
  return is;
}

ZOO_HELPER int32_t zoo_open(void *provider, const tabella_open_request *request,
                            tabella_source *out, tabella_error *error) {
  zoo_source *source = calloc(1, sizeof *source);
  const char *dot;
  (void)provider;
  zoo_at(zoo_in_open);
  if (source == NULL) return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  if (request->location.length >= (int64_t)sizeof source->path) {
    free(source);
    return tabella_fail(error, TABELLA_NOT_FOUND, "the location is too long");
  }
  snprintf(source->path, sizeof source->path, "%.*s", (int)request->location.length,
           request->location.bytes);
  dot = source->path[0] == '/' ? strrchr(source->path, '.') : source->path - 1;
  if (dot != NULL) snprintf(source->lie, sizeof source->lie, "%s", dot + 1);
  if (source->path[0] != '/') source->path[0] = 0;
  source->data = source->path[0] == 0 || zoo_is_empty(source->path) ? zoo_data_standard()
                                                                    : zoo_load(source->path);
  if (source->data == NULL) {
    free(source);
    return tabella_fail(error, TABELLA_NOT_FOUND, "there are no rows");
  }
  zoo_settle(source);
  out->table = &zoo_table;
  out->source = source;
  return TABELLA_OK;
}

static void zoo_animal(tabella_entry *entry);
/* The entry runs the following code, when `entry` is already that of a good provider. */
#define ANIMAL static void zoo_animal(__attribute__((unused)) tabella_entry *entry)

#ifndef ZOO_OWN_ENTRY
int32_t tabella_provider_entry(tabella_entry *entry) {
  entry->provider_contract = TABELLA_CONTRACT_VERSION;
  if (!TABELLA_CONTRACT_ACCEPTS(entry->contract_version)) return TABELLA_NOT_SUPPORTED;
  zoo_host = entry->host;
  entry->provider.id = tabella_cstring(ZOO_ID);
  entry->provider.version = tabella_cstring("1");
  entry->provider.open = zoo_open;
  zoo_animal(entry);
  zoo_at(zoo_in_entry);
  return TABELLA_OK;
}
#endif

#endif
