/*
 * Editing, moving and undo for an animal: `ANIMAL { zoo_may_edit(); }` adds them. An animal can
 * replace its parts: zoo_plan plans a batch, zoo_keep performs it, and zoo_tell reports the result.
 */
#ifndef ZOO_EDITING_H
#define ZOO_EDITING_H

#include "zoo.h"

/* ------------------------------------------------------------------------------------------------
 * Planning a batch
 * --------------------------------------------------------------------------------------------- */

enum { zoo_is_deleted = 1, zoo_is_moved = 2, zoo_is_set = 4 };

typedef struct zoo_plan_state {
  zoo_data *before;
  zoo_data *after;
  uint8_t *marks;  /* per row before: the edit of the row */
  uint8_t *filled; /* per row after: whether it is filled */
  tabella_index_path *from; /* per edit: the path of its row */
  int64_t next_id;
} zoo_plan_state;

ZOO_HELPER void zoo_plan_free(zoo_plan_state *plan) {
  free(plan->marks);
  free(plan->filled);
  free(plan->from);
}

ZOO_HELPER int32_t zoo_check_cells(const tabella_edit *edit, tabella_error *error) {
  int64_t i;
  unsigned seen = 0;
  for (i = 0; i < edit->cell_count; i++) {
    const tabella_cell *cell = &edit->cells[i];
    if (cell->column < 0 || cell->column >= ZOO_COLUMNS || seen >> cell->column & 1)
      return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "column %lld is none, or named twice",
                          (long long)cell->column);
    seen |= 1u << cell->column;
    if (cell->value.type == 0) continue;
    if (cell->value.type != zoo_columns[cell->column].type)
      return tabella_fail(error, TABELLA_CONSTRAINT, "that is no %s",
                          zoo_columns[cell->column].name);
    if (cell->column == 0 && cell->value.bytes.length > ZOO_WORD)
      return tabella_fail(error, TABELLA_CONSTRAINT, "a word has up to %d bytes", ZOO_WORD);
  }
  return TABELLA_OK;
}

ZOO_HELPER void zoo_set_cells(zoo_row *row, const tabella_edit *edit) {
  int64_t i;
  for (i = 0; i < edit->cell_count; i++) {
    const tabella_cell *cell = &edit->cells[i];
    uint8_t bit = (uint8_t)(1u << cell->column);
    int is_missing = cell->value.type == 0;
    row->missing = (uint8_t)(is_missing ? row->missing | bit : row->missing & ~bit);
    if (cell->column == 0) {
      row->length = (uint8_t)(is_missing ? 0 : cell->value.bytes.length);
      memset(row->word, 0, ZOO_WORD);
      if (row->length > 0) memcpy(row->word, cell->value.bytes.bytes, row->length);
    } else if (cell->column == 1) {
      row->number = is_missing ? 0 : cell->value.integer;
    } else {
      row->weight = is_missing ? 0 : cell->value.real;
    }
  }
}

/* Finds the row of a deletion, setting or move, and marks it. */
ZOO_HELPER int32_t zoo_take(zoo_source *source, zoo_plan_state *plan, const tabella_edit *edit,
                            tabella_index_path *from, tabella_error *error) {
  uint8_t mark = edit->kind == TABELLA_EDIT_DELETE ? zoo_is_deleted
                 : edit->kind == TABELLA_EDIT_MOVE ? zoo_is_moved
                                                   : zoo_is_set;
  uint8_t *marks;
  *from = edit->from;
  if (edit->id.bytes != NULL && zoo_find(source, edit->id, from, error) != TABELLA_OK)
    return TABELLA_NOT_FOUND;
  if (from->section < 0 || from->section >= ZOO_SECTIONS || from->row < -1 ||
      from->row >= source->data->count[from->section])
    return tabella_fail(error, TABELLA_NOT_FOUND, "there is no row %lld:%lld",
                        (long long)from->section, (long long)from->row);
  if (from->row < 0)
    return tabella_fail(error, TABELLA_NOT_SUPPORTED, "sections stay as they are");
  marks = &plan->marks[(from->section ? source->data->count[0] : 0) + from->row];
  if (*marks & mark || (*marks | mark) > (zoo_is_set | zoo_is_moved) ||
      ((*marks | mark) & zoo_is_deleted && *marks != 0))
    return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "row %lld:%lld is named twice",
                        (long long)from->section, (long long)from->row);
  *marks |= mark;
  return TABELLA_OK;
}

/* The position for a row in `after`. */
ZOO_HELPER int32_t zoo_place(zoo_plan_state *plan, tabella_index_path target, zoo_row **out,
                             tabella_error *error) {
  uint8_t *filled;
  if (target.section < 0 || target.section >= ZOO_SECTIONS || target.row < 0 ||
      target.row >= plan->after->count[target.section])
    return tabella_fail(error, TABELLA_NOT_FOUND, "%lld:%lld is no place afterwards",
                        (long long)target.section, (long long)target.row);
  filled = &plan->filled[(target.section ? plan->after->count[0] : 0) + target.row];
  if (*filled)
    return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "%lld:%lld is the target twice",
                        (long long)target.section, (long long)target.row);
  *filled = 1;
  *out = &zoo_rows_of(plan->after, target.section)[target.row];
  return TABELLA_OK;
}

/* First pass: the removed and the remaining rows, and the new number of rows. */
ZOO_HELPER int32_t zoo_plan_sources(zoo_source *source, const tabella_edit_batch *batch,
                                    zoo_plan_state *plan, int64_t counts[ZOO_SECTIONS],
                                    tabella_error *error) {
  int64_t i;
  memcpy(counts, source->data->count, sizeof source->data->count);
  for (i = 0; i < batch->edit_count; i++) {
    const tabella_edit *edit = &batch->edits[i];
    int arrives = edit->kind == TABELLA_EDIT_INSERT || edit->kind == TABELLA_EDIT_MOVE;
    int32_t code = zoo_check_cells(edit, error);
    if (code == TABELLA_OK && (edit->kind < TABELLA_EDIT_INSERT || edit->kind > TABELLA_EDIT_MOVE))
      code = tabella_fail(error, TABELLA_NOT_SUPPORTED, "there is no such edit");
    if (code == TABELLA_OK && edit->kind != TABELLA_EDIT_INSERT) {
      code = zoo_take(source, plan, edit, &plan->from[i], error);
      if (code == TABELLA_OK && edit->kind != TABELLA_EDIT_SET) counts[plan->from[i].section]--;
    }
    if (code == TABELLA_OK && arrives && edit->target.row < 0)
      code = tabella_fail(error, TABELLA_NOT_SUPPORTED, "sections stay as they are");
    if (code == TABELLA_OK && arrives && zoo_check_section(edit->target.section, error) != 0)
      code = TABELLA_NOT_FOUND;
    if (code != TABELLA_OK) return code;
    if (arrives) counts[edit->target.section]++;
  }
  return TABELLA_OK;
}

/* Second pass: puts the arriving rows at their targets, and the remaining rows around them. */
ZOO_HELPER int32_t zoo_plan_rows(const tabella_edit_batch *batch, zoo_plan_state *plan,
                                 tabella_error *error) {
  int64_t i, section, offset = 0, done = 0;
  for (i = 0; i < batch->edit_count; i++) {
    const tabella_edit *edit = &batch->edits[i];
    if (edit->kind == TABELLA_EDIT_SET)
      zoo_set_cells(&zoo_rows_of(plan->before, plan->from[i].section)[plan->from[i].row], edit);
  }
  for (i = 0; i < batch->edit_count; i++) {
    const tabella_edit *edit = &batch->edits[i];
    zoo_row *row = NULL;
    int32_t code;
    if (edit->kind != TABELLA_EDIT_INSERT && edit->kind != TABELLA_EDIT_MOVE) continue;
    code = zoo_place(plan, edit->target, &row, error);
    if (code != TABELLA_OK) return code;
    if (edit->kind == TABELLA_EDIT_MOVE) {
      *row = zoo_rows_of(plan->before, plan->from[i].section)[plan->from[i].row];
    } else {
      row->id = ++plan->after->next_id;
      row->missing = 7;
      zoo_set_cells(row, edit);
    }
  }
  for (section = 0; section < ZOO_SECTIONS; section++) {
    int64_t old = 0, row;
    for (row = 0; row < plan->after->count[section]; row++) {
      if (plan->filled[offset + row]) continue;
      while (plan->marks[done + old] & (zoo_is_deleted | zoo_is_moved)) old++;
      zoo_rows_of(plan->after, section)[row] = zoo_rows_of(plan->before, section)[old++];
    }
    offset += plan->after->count[section];
    done += plan->before->count[section];
  }
  return TABELLA_OK;
}

ZOO_HELPER zoo_data *zoo_copy(const zoo_data *data) {
  zoo_data *copy = malloc(zoo_size(data));
  return copy == NULL ? NULL : memcpy(copy, data, zoo_size(data));
}

/* The rows after the batch, before anything is changed. `from` has one index path per edit. The caller frees both. */
ZOO_HELPER int32_t zoo_plan(zoo_source *source, const tabella_edit_batch *batch, zoo_data **after,
                            tabella_index_path **from, tabella_error *error) {
  zoo_plan_state plan = {0};
  int64_t counts[ZOO_SECTIONS];
  size_t rows = (size_t)(source->data->count[0] + source->data->count[1] + batch->edit_count + 1);
  int32_t code;
  if (batch->version.bytes != NULL && !tabella_string_equals(batch->version, source->version))
    return tabella_fail(error, TABELLA_CONFLICT, "the rows are of another version");
  plan.before = zoo_copy(source->data);
  plan.marks = calloc(rows, 1);
  plan.filled = calloc(rows, 1);
  plan.from = calloc((size_t)batch->edit_count + 1, sizeof *plan.from);
  code = zoo_plan_sources(source, batch, &plan, counts, error);
  if (code == TABELLA_OK) {
    plan.after = zoo_data_new(counts[0], counts[1]);
    plan.after->next_id = source->data->next_id;
    code = zoo_plan_rows(batch, &plan, error);
  }
  free(plan.before);
  if (code == TABELLA_OK) {
    *after = plan.after;
    *from = plan.from;
    plan.from = NULL;
  } else {
    free(plan.after);
  }
  zoo_plan_free(&plan);
  return code;
}

/* ------------------------------------------------------------------------------------------------
 * Performing a batch
 * --------------------------------------------------------------------------------------------- */

ZOO_HELPER int32_t zoo_save(const zoo_source *source, const zoo_data *data, tabella_error *error) {
  FILE *file;
  size_t size = zoo_size(data);
  int is_done;
  if (source->path[0] == 0) return TABELLA_OK;
  file = fopen(source->path, "r+b");
  if (file == NULL) return tabella_fail(error, TABELLA_IO, "%s: %m", source->path);
  is_done = ftruncate(fileno(file), 0) == 0 && fwrite(data, 1, size, file) == size;
  is_done &= fclose(file) == 0;
  return is_done ? TABELLA_OK : tabella_fail(error, TABELLA_IO, "%s: %m", source->path);
}

/* Replaces the rows of a source. Takes over `data`. */
ZOO_HELPER void zoo_replace(zoo_source *source, zoo_data *data) {
  free(source->data);
  source->data = data;
  zoo_settle(source);
}

ZOO_HELPER int32_t zoo_keep(zoo_source *source, zoo_data *data, tabella_error *error) {
  int32_t code = zoo_save(source, data, error);
  if (code == TABELLA_OK) zoo_replace(source, data);
  else free(data);
  return code;
}

/* ------------------------------------------------------------------------------------------------
 * Reporting the result
 * --------------------------------------------------------------------------------------------- */

/* All memory of a result, in one block. */
typedef struct zoo_result {
  char from[24], to[24];
  tabella_edit_outcome *outcomes;
  tabella_change *changes;
  char (*ids)[32];
  char *receipt;
} zoo_result;

ZOO_HELPER void zoo_result_release(tabella_edit_result *result) {
  zoo_result *own = result->private_data;
  free(own->outcomes);
  free(own->changes);
  free(own->ids);
  free(own->receipt);
  free(own);
  result->release = NULL;
}

/* A receipt: the rows before, the version after, and a digest of both. */
typedef struct zoo_receipt {
  uint64_t digest;
  char after[24];
  zoo_data before;
} zoo_receipt;

ZOO_HELPER void zoo_give_receipt(tabella_edit_result *out, const zoo_data *before,
                                 const char *after) {
  size_t size = sizeof(zoo_receipt) - sizeof(zoo_data) + zoo_size(before);
  zoo_receipt *receipt = calloc(1, size);
  memcpy(receipt->after, after, sizeof receipt->after);
  memcpy(&receipt->before, before, zoo_size(before));
  receipt->digest = zoo_digest(receipt->after, size - sizeof receipt->digest);
  ((zoo_result *)out->private_data)->receipt = (char *)receipt;
  out->receipt.bytes = (char *)receipt;
  out->receipt.length = (int64_t)size;
}

/* An empty result for `count` edits that leads from one version to another. */
ZOO_HELPER void zoo_begin_result(tabella_edit_result *out, int64_t count, const char *from,
                                 const char *to) {
  zoo_result *own = calloc(1, sizeof *own);
  memcpy(own->from, from, sizeof own->from);
  memcpy(own->to, to, sizeof own->to);
  own->outcomes = calloc((size_t)count + 1, sizeof *own->outcomes);
  own->changes = calloc((size_t)count + 1, sizeof *own->changes);
  own->ids = calloc((size_t)count + 1, sizeof *own->ids);
  out->outcomes = own->outcomes;
  out->outcome_count = count;
  out->changes.from_version = tabella_cstring(own->from);
  out->changes.to_version = tabella_cstring(own->to);
  out->private_data = own;
  out->release = zoo_result_release;
}

/* The outcome of the batch. The source shows the new rows, unless it was a dry run. */
ZOO_HELPER void zoo_tell(const zoo_source *source, const tabella_edit_batch *batch,
                         const tabella_index_path *from, const char *old_version,
                         const zoo_data *before, tabella_edit_result *out) {
  int is_dry = (batch->flags & TABELLA_EDITS_DRY_RUN) != 0;
  zoo_result *own;
  int64_t i, row;
  zoo_begin_result(out, batch->edit_count, old_version, is_dry ? old_version : source->version);
  own = out->private_data;
  for (i = 0; i < batch->edit_count; i++) {
    const tabella_edit *edit = &batch->edits[i];
    static const int32_t kinds[] = {0, TABELLA_CHANGE_INSERT, TABELLA_CHANGE_DELETE,
                                    TABELLA_CHANGE_RECONFIGURE, TABELLA_CHANGE_MOVE};
    const tabella_index_path none = {-1, -1};
    int arrives = edit->kind == TABELLA_EDIT_INSERT || edit->kind == TABELLA_EDIT_MOVE;
    tabella_change change = {kinds[edit->kind], 0,
                             edit->kind == TABELLA_EDIT_INSERT ? none : from[i],
                             arrives ? edit->target : none};
    if (is_dry) continue;
    own->changes[out->changes.change_count++] = change;
    if (edit->kind == TABELLA_EDIT_DELETE) continue;
    row = edit->kind == TABELLA_EDIT_INSERT
              ? zoo_rows_of(source->data, edit->target.section)[edit->target.row].id
              : (zoo_rows_of((zoo_data *)(uintptr_t)before, from[i].section)[from[i].row].id);
    snprintf(own->ids[i], sizeof own->ids[i], "r%lld", (long long)row);
    own->outcomes[i].id = tabella_cstring(own->ids[i]);
  }
  if (is_dry) return;
  out->changes.changes = own->changes;
  zoo_give_receipt(out, before, source->version);
}

ZOO_HELPER int32_t zoo_commit(void *self, const tabella_edit_batch *batch,
                              tabella_edit_result *out, tabella_error *error) {
  zoo_source *source = self;
  zoo_data *before, *after = NULL;
  tabella_index_path *from = NULL;
  char old_version[24];
  int32_t code;
  zoo_at(zoo_in_commit);
  code = zoo_plan(source, batch, &after, &from, error);
  if (code != TABELLA_OK) return code;
  before = zoo_copy(source->data);
  memcpy(old_version, source->version, sizeof old_version);
  if (batch->flags & TABELLA_EDITS_DRY_RUN) free(after);
  else code = zoo_keep(source, after, error);
  if (code == TABELLA_OK) zoo_tell(source, batch, from, old_version, before, out);
  free(before);
  free(from);
  return code;
}

/* ------------------------------------------------------------------------------------------------
 * The abilities
 * --------------------------------------------------------------------------------------------- */

ZOO_HELPER int32_t zoo_answer_rows(void *self, int64_t section, int64_t first, int64_t count,
                                   uint8_t *out, uint8_t answer, tabella_error *error) {
  if (zoo_check_section(section, error) != TABELLA_OK) return TABELLA_NOT_FOUND;
  if (first < 0 || count < 0 || first > ((zoo_source *)self)->data->count[section] ||
      count > ((zoo_source *)self)->data->count[section] - first)
    return tabella_fail(error, TABELLA_NOT_FOUND, "there are no such rows");
  memset(out, answer, (size_t)count);
  return TABELLA_OK;
}

ZOO_HELPER int32_t zoo_editable(void *self, int64_t section, int64_t first, int64_t count,
                                uint8_t *out, tabella_error *error) {
  zoo_at(zoo_in_editable);
  return zoo_answer_rows(self, section, first, count, out,
                         TABELLA_ROW_EDITABLE | TABELLA_ROW_DELETE, error);
}

ZOO_HELPER int32_t zoo_movable(void *self, int64_t section, int64_t first, int64_t count,
                               uint8_t *out, tabella_error *error) {
  return zoo_answer_rows(self, section, first, count, out, 1, error);
}

ZOO_HELPER int32_t zoo_undo(void *self, tabella_string receipt, uint32_t flags,
                            tabella_edit_result *out, tabella_error *error) {
  zoo_source *source = self;
  zoo_receipt *own;
  zoo_data *before;
  char old_version[24];
  int32_t code = TABELLA_OK;
  zoo_at(zoo_in_undo);
  if (receipt.length < (int64_t)sizeof *own)
    return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "that is no receipt");
  own = malloc((size_t)receipt.length);
  memcpy(own, receipt.bytes, (size_t)receipt.length);
  if (own->digest != zoo_digest(own->after, (size_t)receipt.length - sizeof own->digest)) {
    free(own);
    return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "the receipt is damaged");
  }
  if (strcmp(own->after, source->version) != 0) {
    free(own);
    return tabella_fail(error, TABELLA_CONFLICT, "the rows were changed since");
  }
  before = zoo_copy(source->data);
  memcpy(old_version, source->version, sizeof old_version);
  /* Ids are never reused. */
  own->before.next_id = before->next_id;
  if (!(flags & TABELLA_EDITS_DRY_RUN)) code = zoo_keep(source, zoo_copy(&own->before), error);
  if (code == TABELLA_OK) {
    zoo_begin_result(out, 1, old_version, source->version);
    if (!(flags & TABELLA_EDITS_DRY_RUN)) {
      out->changes.flags = TABELLA_CHANGES_RELOAD;
      zoo_give_receipt(out, before, source->version);
    }
  }
  free(before);
  free(own);
  return code;
}

ZOO_HELPER tabella_editing zoo_editing = {zoo_editable, NULL, zoo_commit};
ZOO_HELPER tabella_moving zoo_moving = {zoo_movable, NULL};
ZOO_HELPER tabella_undo zoo_undoing = {zoo_undo};

ZOO_HELPER const void *zoo_editing_abilities(void *self, tabella_string id) {
  (void)self;
  if (tabella_string_equals(id, TABELLA_EDITING_ID)) return &zoo_editing;
  if (tabella_string_equals(id, TABELLA_MOVING_ID)) return &zoo_moving;
  if (tabella_string_equals(id, TABELLA_UNDO_ID)) return &zoo_undoing;
  return NULL;
}

ZOO_HELPER void zoo_may_edit(void) { zoo_more_abilities = zoo_editing_abilities; }

#endif
