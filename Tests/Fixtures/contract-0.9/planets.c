/* A provider in C: the planets in two sections, with a cell of every type except binary. */
#include "tabella_batch.h"

typedef struct planet {
  const char *name;
  int64_t moons;
  double mass; /* unit: mass of the Earth */
  int has_rings;
  int64_t found; /* seconds since 1970; 0 if known since antiquity */
} planet;

static const planet inner[] = {
    {"Mercury", 0, 0.055, 0, 0}, {"Venus", 0, 0.815, 0, 0},
    {"Earth", 1, 1, 0, 0},       {"Mars", 2, 0.107, 0, 0},
};
static const planet outer[] = {
    {"Jupiter", 95, 317.8, 1, 0},          {"Saturn", 146, 95.2, 1, 0},
    {"Uranus", 28, 14.5, 1, -5958057600},  {"Neptune", 16, 17.1, 1, -3890160000},
};

static const tabella_column columns[] = {
    {"name", TABELLA_TYPE_TEXT, NULL},      {"moons", TABELLA_TYPE_INTEGER, NULL},
    {"mass", TABELLA_TYPE_REAL, NULL},      {"rings", TABELLA_TYPE_BOOLEAN, NULL},
    {"found", TABELLA_TYPE_DATE, NULL},
};

static const planet *rows_of(int64_t section) { return section == 0 ? inner : outer; }

static void release(void *source) { (void)source; }

static uint64_t flags(void *source) {
  (void)source;
  return 0;
}

static int32_t version(void *source, tabella_string *out, tabella_error *error) {
  (void)source, (void)error;
  *out = tabella_cstring("2006-08-24");
  return TABELLA_OK;
}

static int32_t schema(void *source, struct ArrowSchema *out, tabella_error *error) {
  (void)source;
  return tabella_schema_make(columns, 5, out, error);
}

static int32_t row_count(void *source, int64_t section, int64_t at_least, tabella_count *out,
                         tabella_error *error) {
  (void)source, (void)at_least;
  if (section < 0 || section > 1)
    return tabella_fail(error, TABELLA_NOT_FOUND, "there is no section %lld", (long long)section);
  out->value = 4;
  out->exact = 1;
  return TABELLA_OK;
}

static int32_t rows(void *source, const tabella_row_request *request, tabella_batch *out,
                    tabella_error *error) {
  tabella_count count = {0, 0, 0};
  int64_t row, i;
  tabella_batch_builder *batch;
  int32_t code = tabella_rows_check(request, 5, 1, error);
  if (code == TABELLA_OK) code = row_count(source, request->section, 0, &count, error);
  if (code != TABELLA_OK) return code;
  if (request->first > count.value)
    return tabella_fail(error, TABELLA_NOT_FOUND, "there is no row %lld",
                        (long long)request->first);
  batch = tabella_batch_for(request, columns);
  for (row = request->first; row < count.value && row - request->first < request->count; row++) {
    const planet *planet = &rows_of(request->section)[row];
    for (i = 0; i < request->column_count; i++) {
      switch (request->columns[i]) {
        case 0: tabella_batch_cstring(batch, i, planet->name); break;
        case 1: tabella_batch_integer(batch, i, planet->moons); break;
        case 2: tabella_batch_real(batch, i, planet->mass); break;
        case 3: tabella_batch_boolean(batch, i, planet->has_rings); break;
        default:
          if (planet->found == 0) tabella_batch_missing(batch, i);
          else tabella_batch_date(batch, i, planet->found * 1000000000);
      }
    }
    if (request->flags & TABELLA_ROWS_IDS) tabella_batch_id(batch, planet->name);
  }
  return tabella_batch_finish_rows(batch, row - request->first, out, error);
}

static int32_t section_count(void *source, int64_t at_least, tabella_count *out,
                             tabella_error *error) {
  (void)source, (void)at_least, (void)error;
  out->value = 2;
  out->exact = 1;
  return TABELLA_OK;
}

static int32_t title(void *source, int64_t section, int32_t which, tabella_string *out,
                     tabella_error *error) {
  (void)source;
  if (section < 0 || section > 1)
    return tabella_fail(error, TABELLA_NOT_FOUND, "there is no section %lld", (long long)section);
  if (which == TABELLA_TITLE_HEADER) *out = tabella_cstring(section ? "Outer" : "Inner");
  return TABELLA_OK;
}

static int32_t find(void *source, tabella_string id, tabella_index_path *out,
                    tabella_error *error) {
  (void)source;
  for (out->section = 0; out->section < 2; out->section++)
    for (out->row = 0; out->row < 4; out->row++)
      if (tabella_string_equals(id, rows_of(out->section)[out->row].name)) return TABELLA_OK;
  return tabella_fail(error, TABELLA_NOT_FOUND, "there is no such planet");
}

static const tabella_sections sections = {section_count, title};
static const tabella_identity identity = {find};

static const void *ability(void *source, tabella_string id) {
  (void)source;
  if (tabella_string_equals(id, TABELLA_SECTIONS_ID)) return &sections;
  if (tabella_string_equals(id, TABELLA_IDENTITY_ID)) return &identity;
  return NULL;
}

static const tabella_source_table table = {release, NULL,      ability, flags,
                                           version, schema, row_count, rows};

static int32_t open_location(void *provider, const tabella_open_request *request,
                             tabella_source *out, tabella_error *error) {
  static char planets;
  (void)provider;
  if (request->location.length > 0)
    return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "takes no path; write planets: alone");
  out->table = &table;
  out->source = &planets;
  return TABELLA_OK;
}

int32_t tabella_provider_entry(tabella_entry *entry) {
  entry->provider_contract = TABELLA_CONTRACT_VERSION;
  if (!TABELLA_CONTRACT_ACCEPTS(entry->contract_version)) return TABELLA_NOT_SUPPORTED;
  entry->provider.id = tabella_cstring("planets");
  entry->provider.version = tabella_cstring("1.0");
  entry->provider.open = open_location;
  return TABELLA_OK;
}
