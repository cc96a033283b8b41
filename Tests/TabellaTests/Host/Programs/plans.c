/* Plans batches with tabella_edit.h and prints the plans, for a comparison with BatchPlan.
 *
 * Standard input has cases as numbers. A case begins with the number of sections and the number of rows of each one.
 * The flags of the plan and the number of edits follow. An edit has its kind, a 1 if an id names the row, two paths
 * (from, target), and the number of its cells. Each cell has a column and a type. A row with the path 1:2 has the id
 * "1.2". The version is "v". */
#include "tabella_edit.h"

static int64_t counts[64], section_total;

static int64_t number(void) {
  long long value;
  if (scanf("%lld", &value) != 1) exit(2);
  return (int64_t)value;
}

/* As a source of a long file: the count is exact only if it is asked for. */
static void count_to(int64_t total, int64_t at_least, tabella_count *out) {
  out->value = at_least < total ? at_least : total;
  out->exact = at_least >= total;
}

static int32_t row_count(void *source, int64_t section, int64_t at_least, tabella_count *out,
                         tabella_error *error) {
  (void)source;
  if (section < 0 || section >= section_total)
    return tabella_fail(error, TABELLA_NOT_FOUND, "there is no section %lld", (long long)section);
  count_to(counts[section], at_least, out);
  return TABELLA_OK;
}

static int32_t section_count(void *source, int64_t at_least, tabella_count *out, tabella_error *error) {
  (void)source, (void)error;
  count_to(section_total, at_least, out);
  return TABELLA_OK;
}

static int32_t find(void *source, tabella_string id, tabella_index_path *out, tabella_error *error) {
  char text[64];
  long long section, row;
  (void)source;
  snprintf(text, sizeof text, "%.*s", (int)id.length, id.bytes);
  if (sscanf(text, "%lld.%lld", &section, &row) != 2 || section < 0 || section >= section_total ||
      row < 0 || row >= counts[section])
    return tabella_fail(error, TABELLA_NOT_FOUND, "there is no row %s", text);
  out->section = section;
  out->row = row;
  return TABELLA_OK;
}

static int32_t version(void *source, tabella_string *out, tabella_error *error) {
  (void)source, (void)error;
  *out = tabella_cstring("v");
  return TABELLA_OK;
}

static int32_t all_rows(void *source, int64_t section, int64_t first, int64_t count, uint8_t *out,
                        tabella_error *error) {
  (void)source, (void)section, (void)first, (void)error;
  memset(out, TABELLA_ROW_EDITABLE | TABELLA_ROW_DELETE, (size_t)count);
  return TABELLA_OK;
}

static int32_t all_sections(void *source, int64_t first, int64_t count, uint8_t *out,
                            tabella_error *error) {
  (void)source, (void)first, (void)error;
  memset(out, 7, (size_t)count);
  return TABELLA_OK;
}

static int32_t insertable(void *source, int32_t *out, tabella_error *error) {
  (void)source, (void)error;
  *out = 1;
  return TABELLA_OK;
}

static const tabella_sections sections = {section_count, NULL};
static const tabella_identity identity = {find};
static const tabella_editing editing = {all_rows, NULL, NULL};
static const tabella_section_editing section_editing = {all_sections, insertable};
static const tabella_moving moving = {all_rows, NULL};

static const void *ability(void *source, tabella_string id) {
  (void)source;
  if (tabella_string_equals(id, TABELLA_SECTIONS_ID)) return &sections;
  if (tabella_string_equals(id, TABELLA_IDENTITY_ID)) return &identity;
  if (tabella_string_equals(id, TABELLA_EDITING_ID)) return &editing;
  if (tabella_string_equals(id, TABELLA_SECTION_EDITING_ID)) return &section_editing;
  if (tabella_string_equals(id, TABELLA_MOVING_ID)) return &moving;
  return NULL;
}

static const tabella_source_table table = {NULL, NULL, ability, NULL, version, NULL, row_count, NULL};
static const tabella_column columns[] = {{"name", TABELLA_TYPE_TEXT, NULL},
                                         {"size", TABELLA_TYPE_INTEGER, NULL}};

static void read_edit(tabella_edit *edit, tabella_cell *cells, char *id) {
  int64_t i;
  memset(edit, 0, sizeof *edit);
  edit->kind = (int32_t)number();
  if (number()) edit->id.bytes = id;
  edit->from.section = number();
  edit->from.row = number();
  edit->target.section = number();
  edit->target.row = number();
  if (edit->id.bytes != NULL) {
    snprintf(id, 64, "%lld.%lld", (long long)edit->from.section, (long long)edit->from.row);
    edit->id.length = (int64_t)strlen(id);
    edit->from.section = edit->from.row = -1;
  }
  edit->cell_count = number();
  edit->cells = edit->cell_count > 0 ? cells : NULL;
  for (i = 0; i < edit->cell_count; i++) {
    memset(&cells[i], 0, sizeof cells[i]);
    cells[i].column = number();
    cells[i].value.type = (int32_t)number();
    cells[i].value.bytes = tabella_cstring("new");
  }
}

static void print_plan(const tabella_plan *plan) {
  int64_t section, row, i, section_total_after = tabella_plan_section_count(plan);
  printf("sections %lld\n", (long long)section_total_after);
  for (section = 0; section < section_total_after; section++) {
    tabella_planned_section planned = tabella_plan_section(plan, section);
    int64_t count = tabella_plan_row_count(plan, section);
    printf("%lld %lld %d %lld\n", (long long)planned.from, (long long)planned.edit, planned.arrives,
           (long long)count);
    for (row = 0; row < count; row++) {
      tabella_planned_row at = tabella_plan_row(plan, section, row);
      printf("%lld %lld %lld %d\n", (long long)at.from.section, (long long)at.from.row,
             (long long)at.edit, at.arrives);
    }
  }
  for (i = 0; i < plan->batch->edit_count; i++)
    printf("edit %lld %lld %lld %lld\n", (long long)plan->from[i].section, (long long)plan->from[i].row,
           (long long)plan->to[i].section, (long long)plan->to[i].row);
  for (i = 0; i < plan->change_count; i++)
    printf("change %d %lld %lld %lld %lld\n", plan->changes[i].kind,
           (long long)plan->changes[i].from.section, (long long)plan->changes[i].from.row,
           (long long)plan->changes[i].to.section, (long long)plan->changes[i].to.row);
  for (section = 0; section < section_total; section++)
    for (row = -1; row < counts[section]; row++) {
      tabella_index_path old = {section, row}, now = tabella_plan_path(plan, old);
      printf("path %lld %lld\n", (long long)now.section, (long long)now.row);
    }
}

int main(void) {
  static tabella_edit edits[64];
  static tabella_cell cells[64][8];
  static char ids[64][64];
  long long first;
  while (scanf("%lld", &first) == 1) {
    tabella_edit_batch batch;
    tabella_error error;
    tabella_plan plan;
    uint32_t flags;
    int64_t i;
    int32_t code;
    memset(&batch, 0, sizeof batch);
    memset(&error, 0, sizeof error);
    section_total = (int64_t)first;
    for (i = 0; i < section_total; i++) counts[i] = number();
    flags = (uint32_t)number();
    batch.edit_count = number();
    batch.edits = edits;
    for (i = 0; i < batch.edit_count; i++) read_edit(&edits[i], cells[i], ids[i]);
    code = tabella_plan_make(&plan, NULL, &table, columns, 2, flags, &batch, &error);
    printf("code %d\n", code);
    if (code == TABELLA_OK) {
      print_plan(&plan);
      tabella_plan_free(&plan);
    } else if (error.release != NULL) {
      error.release(&error);
    } else {
      return 3; /* Every refusal has a message. */
    }
    printf("end\n");
  }
  return 0;
}
