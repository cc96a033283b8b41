/* A provider with every function of the contract, for tests of incomplete tables. The location names the functions that
 * are missing: "tabella_sections.title", or "optional" for all that may be missing. The rows are the names of all
 * functions. The functions of provider and options are missing if the library is compiled with -DMISSING. */
#include "tabella_batch.h"

#ifndef MISSING
#define MISSING ""
#endif

typedef void (*any_function)(void);

/* A function in a table of this library. */
typedef struct member {
  const char *name;
  int is_optional;
  size_t offset; /* in the tables of a source */
} member;

/* The tables of a source, changed for its location. */
typedef struct tables {
  tabella_source_table source_table;
  tabella_sections sections;
  tabella_section_index section_index;
  tabella_identity identity;
  tabella_gathering gathering;
  tabella_changes_table changes_table;
  tabella_editing editing;
  tabella_section_editing section_editing;
  tabella_moving moving;
  tabella_undo undo;
  tabella_supplementary supplementary;
  tabella_accessories accessories;
  tabella_display display;
  tabella_prefetching prefetching;
  tabella_diagnostics diagnostics;
} tables;

#define REQUIRED(table, function) {"tabella_" #table "." #function, 0, offsetof(tables, table.function)}
#define OPTIONAL(table, function) {"tabella_" #table "." #function, 1, offsetof(tables, table.function)}

static const member members[] = {
    REQUIRED(source_table, release), OPTIONAL(source_table, cancel), OPTIONAL(source_table, ability),
    REQUIRED(source_table, flags), REQUIRED(source_table, version), REQUIRED(source_table, schema),
    REQUIRED(source_table, row_count), REQUIRED(source_table, rows),
    REQUIRED(sections, count), REQUIRED(sections, title),
    REQUIRED(section_index, titles), REQUIRED(section_index, path),
    REQUIRED(identity, find), REQUIRED(gathering, rows),
    REQUIRED(changes_table, listen), REQUIRED(changes_table, pull),
    REQUIRED(editing, editable), OPTIONAL(editing, editable_columns), REQUIRED(editing, commit),
    REQUIRED(section_editing, editable), OPTIONAL(section_editing, insertable),
    REQUIRED(moving, movable), OPTIONAL(moving, target), REQUIRED(undo, undo),
    REQUIRED(supplementary, kinds), REQUIRED(supplementary, element),
    REQUIRED(accessories, location),
    REQUIRED(display, will_display), REQUIRED(display, did_end_displaying),
    REQUIRED(prefetching, prefetch), REQUIRED(prefetching, cancel_prefetch),
    REQUIRED(diagnostics, next),
};
enum { MEMBERS = sizeof members / sizeof *members };

static const tabella_column columns[] = {{"function", TABELLA_TYPE_TEXT, NULL}};

static void release(void *source) { free(source); }
static void cancel(void *source) { (void)source; }
static uint64_t flags(void *source) {
  (void)source;
  return 0;
}

static int32_t version(void *source, tabella_string *out, tabella_error *error) {
  (void)source, (void)error;
  *out = tabella_cstring("1");
  return TABELLA_OK;
}

static int32_t schema(void *source, struct ArrowSchema *out, tabella_error *error) {
  (void)source;
  return tabella_schema_make(columns, 1, out, error);
}

static int32_t row_count(void *source, int64_t section, int64_t at_least, tabella_count *out, tabella_error *error) {
  (void)source, (void)at_least;
  if (section != 0) return tabella_fail(error, TABELLA_NOT_FOUND, "there is no section %lld", (long long)section);
  out->value = MEMBERS;
  out->exact = 1;
  return TABELLA_OK;
}

static void put(tabella_batch_builder *batch, int64_t row, int64_t column_count, uint32_t flags) {
  if (column_count > 0) tabella_batch_cstring(batch, 0, members[row].name);
  if ((flags & TABELLA_ROWS_IDS) != 0) tabella_batch_id(batch, members[row].name);
}

static int32_t rows(void *source, const tabella_row_request *request, tabella_batch *out, tabella_error *error) {
  tabella_count count = {0, 0, 0};
  tabella_batch_builder *batch;
  int64_t row;
  int32_t code = tabella_rows_check(request, 1, 1, error);
  if (code == TABELLA_OK) code = row_count(source, request->section, 0, &count, error);
  if (code != TABELLA_OK) return code;
  if (request->first > MEMBERS) return tabella_fail(error, TABELLA_NOT_FOUND, "there is no such row");
  batch = tabella_batch_for(request, columns);
  for (row = request->first; row < MEMBERS && row - request->first < request->count; row++)
    put(batch, row, request->column_count, request->flags);
  return tabella_batch_finish_rows(batch, row - request->first, out, error);
}

static int32_t section_count(void *source, int64_t at_least, tabella_count *out, tabella_error *error) {
  (void)source, (void)at_least, (void)error;
  out->value = out->exact = 1;
  return TABELLA_OK;
}

static int32_t title(void *source, int64_t section, int32_t which, tabella_string *out, tabella_error *error) {
  (void)source, (void)which, (void)out;
  return section == 0 ? TABELLA_OK : tabella_fail(error, TABELLA_NOT_FOUND, "there is no such section");
}

static int32_t titles(void *source, const tabella_string **out, int64_t *count, tabella_error *error) {
  (void)source, (void)error;
  *out = NULL;
  *count = 0;
  return TABELLA_OK;
}

static int32_t path(void *source, int64_t title, tabella_index_path *out, tabella_error *error) {
  (void)source, (void)title, (void)out;
  return tabella_fail(error, TABELLA_NOT_FOUND, "there is no such title");
}

static int32_t find(void *source, tabella_string id, tabella_index_path *out, tabella_error *error) {
  (void)source;
  out->section = 0;
  for (out->row = 0; out->row < MEMBERS; out->row++)
    if (tabella_string_equals(id, members[out->row].name)) return TABELLA_OK;
  return tabella_fail(error, TABELLA_NOT_FOUND, "there is no such row");
}

static int32_t gather(void *source, const tabella_gather_request *request, tabella_batch *out, tabella_error *error) {
  tabella_row_request first = {0, 0, 1, request->columns, request->column_count, request->flags, 0};
  tabella_batch_builder *batch = tabella_batch_for(&first, columns);
  int64_t i;
  (void)source;
  for (i = 0; i < request->path_count; i++)
    put(batch, request->paths[i].row, request->column_count, request->flags);
  return tabella_batch_finish_rows(batch, request->path_count, out, error);
}

static int32_t listen_to(void *source, tabella_notify notify, void *context, tabella_error *error) {
  (void)source, (void)notify, (void)context, (void)error;
  return TABELLA_OK;
}

static int32_t pull(void *source, tabella_changes *out, tabella_error *error) {
  tabella_changes_builder changes = {{NULL, 0, 0}, 0, 0};
  (void)source;
  return tabella_changes_finish(&changes, "1", "1", out, error);
}

static int32_t no_rows(void *source, int64_t section, int64_t first, int64_t count, uint8_t *out,
                       tabella_error *error) {
  (void)source, (void)section, (void)first, (void)error;
  memset(out, 0, (size_t)count);
  return TABELLA_OK;
}

static int32_t no_columns(void *source, uint8_t *out, tabella_error *error) {
  (void)source, (void)error;
  out[0] = 0;
  return TABELLA_OK;
}

static int32_t commit(void *source, const tabella_edit_batch *batch, tabella_edit_result *out, tabella_error *error) {
  (void)source, (void)batch, (void)out;
  return tabella_fail(error, TABELLA_READ_ONLY, "nothing can be edited");
}

static int32_t no_sections(void *source, int64_t first, int64_t count, uint8_t *out, tabella_error *error) {
  return no_rows(source, 0, first, count, out, error);
}

static int32_t insertable(void *source, int32_t *out, tabella_error *error) {
  (void)source, (void)error;
  *out = 0;
  return TABELLA_OK;
}

static int32_t target(void *source, tabella_index_path from, tabella_index_path proposed, tabella_index_path *out,
                      tabella_error *error) {
  (void)source, (void)from, (void)error;
  *out = proposed;
  return TABELLA_OK;
}

static int32_t undo(void *source, tabella_string receipt, uint32_t flags, tabella_edit_result *out,
                    tabella_error *error) {
  (void)source, (void)receipt, (void)flags, (void)out;
  return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "there are no receipts");
}

static int32_t element(void *source, tabella_string kind, tabella_index_path path, tabella_element *out,
                       tabella_error *error) {
  (void)source, (void)kind, (void)path, (void)out, (void)error;
  return TABELLA_OK;
}

static int32_t location(void *source, tabella_index_path path, tabella_string *out, tabella_error *error) {
  (void)source, (void)path, (void)out, (void)error;
  return TABELLA_OK;
}

static void notice(void *source, int64_t section, int64_t first, int64_t count) {
  (void)source, (void)section, (void)first, (void)count;
}

static int32_t next(void *source, tabella_diagnostic *out) {
  (void)source, (void)out;
  return 0;
}

static const void *ability(void *source, tabella_string id);

static const tables all = {
    {release, cancel, ability, flags, version, schema, row_count, rows},
    {section_count, title},
    {titles, path},
    {find},
    {gather},
    {listen_to, pull},
    {no_rows, no_columns, commit},
    {no_sections, insertable},
    {no_rows, target},
    {undo},
    {titles, element},
    {location},
    {notice, notice},
    {notice, notice},
    {next},
};

static const void *ability(void *source, tabella_string id) {
  const tables *own = source;
  if (tabella_string_equals(id, TABELLA_SECTIONS_ID)) return &own->sections;
  if (tabella_string_equals(id, TABELLA_SECTION_INDEX_ID)) return &own->section_index;
  if (tabella_string_equals(id, TABELLA_IDENTITY_ID)) return &own->identity;
  if (tabella_string_equals(id, TABELLA_GATHERING_ID)) return &own->gathering;
  if (tabella_string_equals(id, TABELLA_CHANGES_ID)) return &own->changes_table;
  if (tabella_string_equals(id, TABELLA_EDITING_ID)) return &own->editing;
  if (tabella_string_equals(id, TABELLA_SECTION_EDITING_ID)) return &own->section_editing;
  if (tabella_string_equals(id, TABELLA_MOVING_ID)) return &own->moving;
  if (tabella_string_equals(id, TABELLA_UNDO_ID)) return &own->undo;
  if (tabella_string_equals(id, TABELLA_SUPPLEMENTARY_ID)) return &own->supplementary;
  if (tabella_string_equals(id, TABELLA_ACCESSORIES_ID)) return &own->accessories;
  if (tabella_string_equals(id, TABELLA_DISPLAY_ID)) return &own->display;
  if (tabella_string_equals(id, TABELLA_PREFETCHING_ID)) return &own->prefetching;
  if (tabella_string_equals(id, TABELLA_DIAGNOSTICS_ID)) return &own->diagnostics;
  return NULL;
}

static int32_t open_location(void *provider, const tabella_open_request *request, tabella_source *out,
                             tabella_error *error) {
  tables *own = malloc(sizeof *own);
  int is_optional = tabella_string_equals(request->location, "optional"), i;
  (void)provider;
  if (own == NULL) return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  *own = all;
  for (i = 0; i < MEMBERS; i++)
    if (tabella_string_equals(request->location, members[i].name) || (is_optional && members[i].is_optional))
      memset((char *)own + members[i].offset, 0, sizeof(any_function));
  out->table = &own->source_table;
  out->source = own;
  return TABELLA_OK;
}

static const tabella_option *declared(void *provider, int64_t *count) {
  (void)provider;
  *count = 0;
  return NULL;
}

static const void *provider_ability(void *provider, tabella_string id) {
  static tabella_options options;
  (void)provider;
  if (!tabella_string_equals(id, TABELLA_OPTIONS_ID)) return NULL;
  if (strcmp(MISSING, "tabella_options.declared") != 0) options.declared = declared;
  return &options;
}

int32_t tabella_provider_entry(tabella_entry *entry) {
  entry->provider_contract = TABELLA_CONTRACT_VERSION;
  if (!TABELLA_CONTRACT_ACCEPTS(entry->contract_version)) return TABELLA_NOT_SUPPORTED;
  entry->provider.id = tabella_cstring("members");
  entry->provider.version = tabella_cstring("1");
  if (strcmp(MISSING, "tabella_provider.open") != 0) entry->provider.open = open_location;
  if (strcmp(MISSING, "tabella_provider.ability") != 0) entry->provider.ability = provider_ability;
  return TABELLA_OK;
}
