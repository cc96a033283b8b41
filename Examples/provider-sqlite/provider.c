/* A provider for SQLite databases: the functions of the contract. README.md describes it. */
#include "source.h"

/* Ends a call that the lock protects. Names of tables and columns in a message can have line ends. */
static int32_t leave(int32_t code, tabella_error *error) {
  char *text = (char *)error->message.bytes;
  int64_t i;
  database_unlock();
  for (i = 0; code != TABELLA_OK && text != NULL && i < error->message.length; i++)
    if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F) text[i] = ' ';
  return code;
}

/* ------------------------------------------------------------------------------------------------
 * The core
 * --------------------------------------------------------------------------------------------- */

static void release(void *opened) {
  database_lock();
  source_close((source *)opened);
  database_unlock();
  free(opened);
}

/* SQLite's progress handler notices this. */
static void cancel(void *opened) { ((source *)opened)->db.cancelled = 1; }

static uint64_t flags(void *opened) {
  (void)opened;
  return 0;
}

static int32_t version(void *opened, tabella_string *out, tabella_error *error) {
  (void)error;
  *out = tabella_cstring(((source *)opened)->db.version.text);
  return TABELLA_OK;
}

static int32_t schema(void *opened, struct ArrowSchema *out, tabella_error *error) {
  source *source = opened;
  return tabella_schema_make(source->columns, source->column_count, out, error);
}

/* The table of a section, or null with an error. */
static table *section(source *source, int64_t number, tabella_error *error) {
  if (number >= 0 && number < source->table_count) return &source->tables[number];
  tabella_fail(error, TABELLA_NOT_FOUND, "there is no section %lld", (long long)number);
  return NULL;
}

static int32_t row_count(void *opened, int64_t number, int64_t at_least, tabella_count *out,
                         tabella_error *error) {
  source *source = opened;
  table *table = section(source, number, error);
  int32_t code;
  if (table == NULL) return number < 0 ? TABELLA_INVALID_ARGUMENT : TABELLA_NOT_FOUND;
  if (at_least < 0) return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "a negative number of rows");
  database_lock();
  code = table_row_count(source, table, at_least, out, error);
  return leave(code, error);
}

static int32_t rows(void *opened, const tabella_row_request *request, tabella_batch *out,
                    tabella_error *error) {
  int32_t code;
  database_lock();
  code = table_rows(opened, request, out, error);
  return leave(code, error);
}

/* ------------------------------------------------------------------------------------------------
 * Abilities
 * --------------------------------------------------------------------------------------------- */

static int32_t section_count(void *opened, int64_t at_least, tabella_count *out, tabella_error *error) {
  (void)at_least, (void)error;
  out->value = ((source *)opened)->table_count;
  out->exact = 1;
  return TABELLA_OK;
}

static int32_t title(void *opened, int64_t number, int32_t which, tabella_string *out,
                     tabella_error *error) {
  table *table = section(opened, number, error);
  if (table == NULL) return TABELLA_NOT_FOUND;
  if (which == TABELLA_TITLE_HEADER) *out = tabella_cstring(table->name);
  return TABELLA_OK;
}

static int32_t find(void *opened, tabella_string id, tabella_index_path *out, tabella_error *error) {
  int32_t code;
  database_lock();
  code = source_find(opened, id, out, error);
  return leave(code, error);
}

static int32_t next_remark(void *opened, tabella_diagnostic *out) {
  source *source = opened;
  if (source->remark_next == source->remark_count) return 0;
  out->severity = TABELLA_SEVERITY_WARNING;
  out->message = tabella_cstring(source->remarks[source->remark_next++]);
  return 1;
}

static int32_t editable(void *opened, int64_t number, int64_t first, int64_t count, uint8_t *out,
                        tabella_error *error) {
  table *table = section(opened, number, error);
  uint8_t bits = TABELLA_ROW_EDITABLE | TABELLA_ROW_DELETE;
  tabella_count known = {0, 0, 0};
  int32_t code;
  if (table == NULL) return TABELLA_NOT_FOUND;
  if (first >= 0 && count >= 0 && first <= INT64_MAX - count) {
    code = row_count(opened, number, first + count, &known, error);
    if (code != TABELLA_OK) return code;
  }
  return tabella_answer_range(first, count, known.value, table->is_read_only ? 0 : bits, out, error);
}

static int32_t commit(void *opened, const tabella_edit_batch *batch, tabella_edit_result *out,
                      tabella_error *error);

static int32_t undo(void *opened, tabella_string receipt, uint32_t bits, tabella_edit_result *out,
                    tabella_error *error) {
  int32_t code;
  database_lock();
  code = source_undo(opened, receipt, (bits & TABELLA_EDITS_DRY_RUN) != 0, out, error);
  return leave(code, error);
}

static const void *ability(void *opened, tabella_string id) {
  static const tabella_sections sections = {section_count, title};
  static const tabella_identity identity = {find};
  static const tabella_diagnostics diagnostics = {next_remark};
  static const tabella_editing editing = {editable, NULL, commit};
  static const tabella_undo undoing = {undo};
  (void)opened;
  if (tabella_string_equals(id, TABELLA_SECTIONS_ID)) return &sections;
  if (tabella_string_equals(id, TABELLA_IDENTITY_ID)) return &identity;
  if (tabella_string_equals(id, TABELLA_DIAGNOSTICS_ID)) return &diagnostics;
  if (tabella_string_equals(id, TABELLA_EDITING_ID)) return &editing;
  if (tabella_string_equals(id, TABELLA_UNDO_ID)) return &undoing;
  return NULL;
}

static const tabella_source_table functions = {release, cancel, ability,   flags,
                                               version, schema, row_count, rows};

static int32_t commit(void *opened, const tabella_edit_batch *batch, tabella_edit_result *out,
                      tabella_error *error) {
  int32_t code;
  database_lock();
  code = source_commit(opened, &functions, batch, out, error);
  return leave(code, error);
}

/* ------------------------------------------------------------------------------------------------
 * The provider
 * --------------------------------------------------------------------------------------------- */

static int32_t read_options(const tabella_open_request *request, source *source, tabella_error *error) {
  int64_t i;
  source->sample = 1000;
  for (i = 0; i < request->option_count; i++) {
    const tabella_option_value *option = &request->options[i];
    char number[24];
    char *end;
    if (tabella_string_equals(option->name, "table") && option->value.length > 0) {
      source->only = strndup(option->value.bytes, (size_t)option->value.length);
      if (source->only == NULL) return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
    }
    if (!tabella_string_equals(option->name, "sample")) continue;
    if (option->value.length > 0 && option->value.length < 20) {
      memcpy(number, option->value.bytes, (size_t)option->value.length);
      number[option->value.length] = 0;
      source->sample = strtoll(number, &end, 10);
      if (*end == 0 && source->sample >= 0) continue;
    }
    return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "the option sample is a number of rows");
  }
  return TABELLA_OK;
}

static int32_t open_location(void *provider, const tabella_open_request *request, tabella_source *out,
                             tabella_error *error) {
  source *opened = (source *)calloc(1, sizeof *opened);
  int32_t code;
  (void)provider;
  if (opened == NULL) return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  code = read_options(request, opened, error);
  database_lock();
  if (code == TABELLA_OK) code = source_open(opened, request->location, error);
  if (code != TABELLA_OK) source_close(opened);
  leave(code, error);
  if (code != TABELLA_OK) {
    free(opened);
    return code;
  }
  out->table = &functions;
  out->source = opened;
  return TABELLA_OK;
}

int32_t tabella_provider_entry(tabella_entry *entry) {
  entry->provider_contract = TABELLA_CONTRACT_VERSION;
  if (!TABELLA_CONTRACT_ACCEPTS(entry->contract_version)) return TABELLA_NOT_SUPPORTED;
  entry->provider.id = tabella_cstring("sqlite");
  entry->provider.version = tabella_cstring("1.0");
  entry->provider.open = open_location;
  return TABELLA_OK;
}
