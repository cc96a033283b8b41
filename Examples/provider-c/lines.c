/* A provider in C that edits with a plan, without tabella_document.h: each line of a file is a row. The guide
 * writing-a-provider-c.md shows parts of it. */
#include "tabella_save.h"

/* The lines of some bytes. */
typedef struct found {
  const char **starts; /* Of each line; one more at the end. */
  int64_t count;
  tabella_row_id *ids;
} found;

typedef struct lines {
  tabella_file file;
  found found;
} lines;

static const tabella_column columns[] = {{"line", TABELLA_TYPE_TEXT, NULL}};
static const tabella_source_table table;

static tabella_string line_at(const found *lines, int64_t row) {
  tabella_string line = {lines->starts[row], lines->starts[row + 1] - lines->starts[row]};
  if (line.length > 0 && line.bytes[line.length - 1] == '\n') line.length--;
  return line;
}

static void forget(found *lines) {
  free(lines->starts);
  free(lines->ids);
}

/* Finds the lines of bytes, which must outlive the result. */
static int32_t find_lines(const char *bytes, size_t size, found *out, tabella_error *error) {
  const char *at = bytes, *end = bytes + size;
  tabella_digest *digests = calloc(size + 1, sizeof *digests);
  int64_t i;
  int is_done;
  out->count = 0;
  out->starts = calloc(size + 2, sizeof *out->starts);
  out->ids = calloc(size + 1, sizeof *out->ids);
  is_done = digests != NULL && out->starts != NULL && out->ids != NULL;
  while (is_done && at < end) {
    const char *feed = memchr(at, '\n', (size_t)(end - at));
    out->starts[out->count++] = at;
    at = out->starts[out->count] = feed != NULL ? feed + 1 : end;
  }
  for (i = 0; is_done && i < out->count; i++)
    digests[i] = tabella_digest_of(out->starts[i], (size_t)line_at(out, i).length);
  is_done = is_done && tabella_ids_make(digests, out->count, out->ids);
  free(digests);
  if (is_done) return TABELLA_OK;
  forget(out);
  return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
}

static void release(void *source) {
  lines *self = source;
  tabella_file_close(&self->file);
  forget(&self->found);
  free(self);
}

static uint64_t flags(void *source) {
  (void)source;
  return 0;
}

static int32_t version(void *source, tabella_string *out, tabella_error *error) {
  (void)error;
  *out = tabella_cstring(((lines *)source)->file.digest.text);
  return TABELLA_OK;
}

static int32_t schema(void *source, struct ArrowSchema *out, tabella_error *error) {
  (void)source;
  return tabella_schema_make(columns, 1, out, error);
}

static int32_t row_count(void *source, int64_t section, int64_t at_least, tabella_count *out, tabella_error *error) {
  (void)at_least;
  if (section != 0) return tabella_fail(error, TABELLA_NOT_FOUND, "there is no section %lld", (long long)section);
  out->value = ((lines *)source)->found.count;
  out->exact = 1;
  return TABELLA_OK;
}

static int32_t rows(void *source, const tabella_row_request *request, tabella_batch *out, tabella_error *error) {
  const lines *self = source;
  tabella_count count = {0, 0, 0};
  tabella_batch_builder *batch;
  int64_t row;
  int32_t code = tabella_rows_check(request, 1, 1, error);
  if (code == TABELLA_OK) code = row_count(source, request->section, 0, &count, error);
  if (code != TABELLA_OK) return code;
  if (request->first > count.value) return tabella_fail(error, TABELLA_NOT_FOUND, "there is no such row");
  batch = tabella_batch_for(request, columns);
  for (row = request->first; row < count.value && row - request->first < request->count; row++) {
    tabella_string line = line_at(&self->found, row);
    if (request->column_count > 0) tabella_batch_text(batch, 0, line.bytes, (size_t)line.length);
    if ((request->flags & TABELLA_ROWS_IDS) != 0) tabella_batch_id(batch, self->found.ids[row].text);
  }
  return tabella_batch_finish_rows(batch, row - request->first, out, error);
}

static int32_t find(void *source, tabella_string id, tabella_index_path *out, tabella_error *error) {
  const lines *self = source;
  out->section = 0;
  for (out->row = 0; out->row < self->found.count; out->row++)
    if (tabella_string_equals(id, self->found.ids[out->row].text)) return TABELLA_OK;
  return tabella_fail(error, TABELLA_NOT_FOUND, "there is no such line");
}

static int32_t editable(void *source, int64_t section, int64_t first, int64_t count, uint8_t *out,
                        tabella_error *error) {
  tabella_count total = {0, 0, 0};
  int32_t code = row_count(source, section, 0, &total, error);
  if (code != TABELLA_OK) return code;
  return tabella_answer_range(first, count, total.value, TABELLA_ROW_EDITABLE | TABELLA_ROW_DELETE, out, error);
}

static int32_t movable(void *source, int64_t section, int64_t first, int64_t count, uint8_t *out,
                       tabella_error *error) {
  tabella_count total = {0, 0, 0};
  int32_t code = row_count(source, section, 0, &total, error);
  return code != TABELLA_OK ? code : tabella_answer_range(first, count, total.value, 1, out, error);
}

/* Appends the file after the batch. */
static int32_t write_lines(const lines *self, const tabella_plan *plan, tabella_buffer *content, tabella_error *error) {
  int64_t r, count = tabella_plan_row_count(plan, 0);
  for (r = 0; r < count; r++) {
    tabella_planned_row row = tabella_plan_row(plan, 0, r);
    const tabella_value *value = tabella_plan_value(plan, row.edit, 0);
    const tabella_string none = {NULL, 0};
    tabella_string line = value != NULL ? value->bytes : row.from.row >= 0 ? line_at(&self->found, row.from.row) : none;
    if (value != NULL && (value->type == 0 || (line.length > 0 && memchr(line.bytes, '\n', (size_t)line.length) != NULL)))
      return tabella_fail(error, TABELLA_CONSTRAINT, "a line must be one line of text");
    tabella_buffer_put(content, line.bytes, (size_t)line.length);
    tabella_buffer_text(content, "\n");
  }
  return content->failed ? tabella_fail(error, TABELLA_INTERNAL, "out of memory") : TABELLA_OK;
}

/* Makes the result of a batch and saves the new content. Without a plan, it is the content of an undo. */
static int32_t finish(lines *self, const tabella_plan *plan, tabella_buffer *content, uint32_t flags,
                      tabella_edit_result *out, tabella_error *error) {
  int dry_run = (flags & TABELLA_EDITS_DRY_RUN) != 0;
  const char *old_version = self->file.digest.text;
  tabella_digest digest = tabella_digest_of(content->bytes, content->size);
  const char *new_version = dry_run ? old_version : digest.text;
  tabella_buffer receipt = {NULL, 0, 0, 0};
  int64_t i;
  found now;
  int32_t code = find_lines(content->bytes, content->size, &now, error);
  if (code != TABELLA_OK) return code;
  code = tabella_file_receipt(&self->file, content, &receipt, error);
  tabella_result_begin(out, plan != NULL ? plan->batch->edit_count : 1);
  tabella_result_changes(out, plan, old_version, new_version);
  if (!dry_run) tabella_result_receipt(out, receipt.bytes, receipt.size);
  /* Too much to keep */
  for (i = 0; plan != NULL && receipt.size == 0 && i < plan->batch->edit_count; i++)
    tabella_result_final(out, i);
  for (i = 0; plan != NULL && i < plan->batch->edit_count; i++)
    if (plan->to[i].row >= 0) tabella_result_id(out, i, now.ids[plan->to[i].row].text);
  if (code == TABELLA_OK) code = tabella_result_finish(out, error);
  if (code == TABELLA_OK) code = tabella_file_save(&self->file, content, dry_run, error);
  if (code != TABELLA_OK) tabella_result_drop(out);
  else tabella_result_remark(out, TABELLA_IO, self->file.remark);
  tabella_buffer_free(&receipt);
  if (code == TABELLA_OK && now.count > 0 && now.starts[0] == self->file.bytes) {
    forget(&self->found);
    self->found = now;
  } else {
    forget(&now);
    if (code == TABELLA_OK && self->file.size == 0) self->found.count = 0;
  }
  return code;
}

static int32_t commit(void *source, const tabella_edit_batch *batch, tabella_edit_result *out, tabella_error *error) {
  tabella_buffer content = {NULL, 0, 0, 0};
  tabella_plan plan;
  int32_t code = tabella_plan_make(&plan, source, &table, columns, 1, TABELLA_PLAN_IDS_OF_CONTENT, batch, error);
  if (code != TABELLA_OK) return code;
  code = write_lines(source, &plan, &content, error);
  if (code == TABELLA_OK) code = finish(source, &plan, &content, batch->flags, out, error);
  tabella_plan_free(&plan);
  tabella_buffer_free(&content);
  return code;
}

static int32_t undo(void *source, tabella_string receipt, uint32_t flags, tabella_edit_result *out,
                    tabella_error *error) {
  lines *self = source;
  tabella_buffer content = {NULL, 0, 0, 0};
  int32_t code = tabella_file_undo(&self->file, receipt, &content, error);
  if (code == TABELLA_OK) code = finish(self, NULL, &content, flags, out, error);
  tabella_buffer_free(&content);
  return code;
}

static const void *ability(void *source, tabella_string id) {
  static const tabella_identity identity = {find};
  static const tabella_editing editing = {editable, NULL, commit};
  static const tabella_moving moving = {movable, NULL};
  static const tabella_undo undoing = {undo};
  (void)source;
  if (tabella_string_equals(id, TABELLA_IDENTITY_ID)) return &identity;
  if (tabella_string_equals(id, TABELLA_EDITING_ID)) return &editing;
  if (tabella_string_equals(id, TABELLA_MOVING_ID)) return &moving;
  if (tabella_string_equals(id, TABELLA_UNDO_ID)) return &undoing;
  return NULL;
}

static const tabella_source_table table = {release, NULL, ability, flags, version, schema, row_count, rows};

static int32_t open_file(void *provider, const tabella_open_request *request, tabella_source *out,
                         tabella_error *error) {
  lines *self = calloc(1, sizeof *self);
  int32_t code;
  (void)provider;
  if (self == NULL) return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  code = tabella_file_open(&self->file, request->location, (size_t)1 << 20, error);
  if (code == TABELLA_OK) code = find_lines(self->file.bytes, self->file.size, &self->found, error);
  if (code != TABELLA_OK) {
    tabella_file_close(&self->file);
    free(self);
    return code;
  }
  out->table = &table;
  out->source = self;
  return TABELLA_OK;
}

int32_t tabella_provider_entry(tabella_entry *entry) {
  entry->provider_contract = TABELLA_CONTRACT_VERSION;
  if (!TABELLA_CONTRACT_ACCEPTS(entry->contract_version)) return TABELLA_NOT_SUPPORTED;
  entry->provider.id = tabella_cstring("lines");
  entry->provider.version = tabella_cstring("1.0");
  entry->provider.open = open_file;
  return TABELLA_OK;
}
