/* P28 to P33: reports edits wrongly. The last component of the location selects the lie: /path/rows.does-nothing. The
 * edited table is that file, so that the harness can inspect the edits afterwards. */
#include <limits.h>
#include <signal.h>

#include "zoo_editing.h"

/* ------------------------------------------------------------------------------------------------
 * Effects
 * --------------------------------------------------------------------------------------------- */

static void touch(zoo_row *row, const char *word) {
  memset(row->word, 0, ZOO_WORD);
  row->length = (uint8_t)snprintf(row->word, ZOO_WORD, "%s", word);
}

static zoo_data *resized(const zoo_data *data, int64_t rows) {
  zoo_data *other = zoo_data_new(data->count[0] + rows, data->count[1]);
  int64_t first = data->count[0] + (rows < 0 ? rows : 0);
  other->next_id = data->next_id;
  memcpy(other->rows, data->rows, (size_t)first * sizeof(zoo_row));
  memcpy(zoo_rows_of(other, 1), &data->rows[data->count[0]],
         (size_t)data->count[1] * sizeof(zoo_row));
  return other;
}

/* Changes the rows as the lie requires. Takes over `after`, and returns the rows to keep. */
static zoo_data *distorted(zoo_source *source, zoo_data *after, const tabella_edit_batch *batch,
                           const tabella_index_path *from) {
  zoo_data *other = after;
  int64_t i;
  if (zoo_tells(source, "does-nothing")) other = zoo_copy(source->data);
  if (zoo_tells(source, "does-half")) {
    other = zoo_copy(source->data);
    other->rows[0] = after->rows[0];
  }
  if (zoo_tells(source, "sets-the-next-too")) touch(&after->rows[from[0].row + 1], "me too");
  if (zoo_tells(source, "sets-another")) {
    other = zoo_copy(source->data);
    touch(&other->rows[from[0].row + 1], "instead");
  }
  if (zoo_tells(source, "sets-something-else")) touch(&after->rows[from[0].row], "something else");
  if (zoo_tells(source, "drops-a-row")) other = resized(after, -1);
  if (zoo_tells(source, "doubles-a-row")) {
    other = resized(after, 1);
    other->rows[other->count[0] - 1] = other->rows[0];
  }
  if (zoo_tells(source, "drops-everything")) other = zoo_data_new(0, 0);
  if (zoo_tells(source, "shuffles")) {
    zoo_row first = after->rows[5];
    after->rows[5] = after->rows[6];
    after->rows[6] = first;
  }
  if (zoo_tells(source, "gives-new-ids"))
    for (i = 0; i < after->count[0]; i++) after->rows[i].id += 1000;
  if (zoo_tells(source, "gives-ids-again"))
    for (i = 0; i < batch->edit_count; i++)
      if (batch->edits[i].kind == TABELLA_EDIT_INSERT)
        zoo_rows_of(after, batch->edits[i].target.section)[batch->edits[i].target.row].id = 1;
  if (other != after) free(after);
  return other;
}

static void end(const zoo_source *source, const char *when) {
  char lie[64];
  snprintf(lie, sizeof lie, "dies-%s", when);
  if (zoo_tells(source, lie)) kill(getpid(), SIGSEGV), pause();
  snprintf(lie, sizeof lie, "leaves-%s", when);
  if (zoo_tells(source, lie)) _exit(0);
  snprintf(lie, sizeof lie, "hangs-%s", when);
  if (zoo_tells(source, lie))
    for (;;) sleep(3600);
}

/* ------------------------------------------------------------------------------------------------
 * Reports
 * --------------------------------------------------------------------------------------------- */

static void distort_outcomes(const zoo_source *source, tabella_edit_result *out) {
  tabella_edit_outcome *first = ((zoo_result *)out->private_data)->outcomes;
  if (zoo_tells(source, "no-outcomes")) out->outcome_count = 0;
  if (zoo_tells(source, "null-outcomes")) out->outcomes = NULL;
  if (zoo_tells(source, "an-outcome-too-many")) out->outcome_count++;
  if (zoo_tells(source, "billion-outcomes")) out->outcome_count = 1000000000;
  if (zoo_tells(source, "negative-outcomes")) out->outcome_count = INT64_MIN;
  if (zoo_tells(source, "wild-outcomes")) out->outcomes = (void *)0x1234567890;
  if (zoo_tells(source, "strange-code")) first->code = INT_MIN;
  if (zoo_tells(source, "another-rows-id")) first->id = tabella_cstring("r9");
  if (zoo_tells(source, "id-of-nobody")) first->id = tabella_cstring("nobody");
  if (zoo_tells(source, "id-of-escapes")) first->id = tabella_cstring("\033[31m");
  if (zoo_tells(source, "wild-outcome-id"))
    first->id = (tabella_string){(void *)0x1234567890, 8};
  if (zoo_tells(source, "message-of-escapes"))
    first->message = tabella_cstring("done\033]0;owned\a\ntabella: a second line");
  if (zoo_tells(source, "says-not-done")) first->code = TABELLA_CONSTRAINT;
  if (zoo_tells(source, "says-partly")) {
    first->code = TABELLA_IO;
    first->message = tabella_cstring("the disk is gone");
  }
}

static void distort_changes(const zoo_source *source, tabella_edit_result *out) {
  tabella_changes *said = &out->changes;
  tabella_change *change = ((zoo_result *)out->private_data)->changes;
  if (zoo_tells(source, "no-changes")) said->change_count = 0;
  if (zoo_tells(source, "null-changes")) said->changes = NULL;
  if (zoo_tells(source, "billion-changes")) said->change_count = 1000000000;
  if (zoo_tells(source, "negative-changes")) said->change_count = -1;
  if (zoo_tells(source, "wild-changes")) said->changes = (void *)0x1234567890;
  if (zoo_tells(source, "strange-change")) change->kind = 99;
  if (zoo_tells(source, "change-past-the-end")) change->from.row = 100000, change->to.row = 100000;
  if (zoo_tells(source, "change-nowhere"))
    change->from = (tabella_index_path){INT64_MAX, INT64_MIN}, change->to = change->from;
  if (zoo_tells(source, "says-deleted")) {
    change->kind = TABELLA_CHANGE_DELETE;
    change->to = (tabella_index_path){-1, -1};
  }
  if (zoo_tells(source, "says-it-twice")) change[1] = change[0], said->change_count = 2;
  if (zoo_tells(source, "from-another-version")) said->from_version = tabella_cstring("other");
  if (zoo_tells(source, "to-another-version")) said->to_version = tabella_cstring("other");
  if (zoo_tells(source, "to-the-old-version")) said->to_version = said->from_version;
  if (zoo_tells(source, "version-of-escapes")) said->to_version = tabella_cstring("\033[31m");
  if (zoo_tells(source, "changes-and-reload")) said->flags = 0xffffffff;
}

static void distort_receipt(const zoo_source *source, tabella_edit_result *out) {
  if (zoo_tells(source, "wild-receipt")) out->receipt.bytes = (void *)0x1234567890;
  if (zoo_tells(source, "negative-receipt")) out->receipt.length = -1;
  if (zoo_tells(source, "receipt-without-end")) out->receipt.length = INT64_MAX;
  if (zoo_tells(source, "no-receipt")) out->receipt.bytes = NULL;
  if (zoo_tells(source, "receipt-of-200-MB")) {
    zoo_result *own = out->private_data;
    own->receipt = realloc(own->receipt, 200 << 20);
    out->receipt = (tabella_string){own->receipt, 200 << 20};
  }
  if (zoo_tells(source, "nobody-frees-it")) out->release = NULL;
  if (zoo_tells(source, "wild-result-release")) out->release = (void *)0x1234567890;
}

/* ------------------------------------------------------------------------------------------------
 * Committing
 * --------------------------------------------------------------------------------------------- */

static int32_t commit(void *self, const tabella_edit_batch *batch, tabella_edit_result *out,
                      tabella_error *error) {
  zoo_source *source = self;
  tabella_edit_batch own = *batch;
  zoo_data *before, *after = NULL;
  tabella_index_path *from = NULL;
  char old_version[24];
  int is_dry = (batch->flags & TABELLA_EDITS_DRY_RUN) != 0;
  int32_t code;
  if (zoo_tells(source, "dry-run-does-it")) is_dry = 0, own.flags = 0;
  if (zoo_tells(source, "takes-any-version")) own.version = tabella_cstring(NULL);
  if (zoo_tells(source, "refuses-all"))
    return tabella_fail(error, TABELLA_READ_ONLY, "no, not this one either");
  end(source, "at-once");
  code = zoo_plan(source, &own, &after, &from, error);
  if (code != TABELLA_OK) return code;
  before = zoo_copy(source->data);
  memcpy(old_version, source->version, sizeof old_version);
  if (!is_dry) end(source, "before");
  if (!is_dry && zoo_tells(source, "dies-halfway")) {
    /* Half of the file is new. */
    after->count[1] = 0;
    (void)zoo_save(source, after, error);
    end(source, "halfway");
  }
  if (is_dry) free(after);
  else code = zoo_keep(source, distorted(source, after, batch, from), error);
  if (!is_dry) end(source, "after");
  if (code == TABELLA_OK && zoo_tells(source, "says-failed"))
    code = tabella_fail(error, TABELLA_IO, "nothing was done, believe me");
  if (code == TABELLA_OK && zoo_tells(source, "says-conflict")) code = TABELLA_CONFLICT;
  if (code == TABELLA_OK) {
    zoo_tell(source, batch, from, old_version, before, out);
    if (!is_dry) {
      distort_outcomes(source, out);
      distort_changes(source, out);
      distort_receipt(source, out);
    }
  }
  free(before);
  free(from);
  return code;
}

/* ------------------------------------------------------------------------------------------------
 * Permissions and undo
 * --------------------------------------------------------------------------------------------- */

static int32_t editable(void *self, int64_t section, int64_t first, int64_t count, uint8_t *out,
                        tabella_error *error) {
  if (zoo_tells(self, "writes-beyond"))
    return memset(out, 0x5A, (size_t)count + (1 << 20)), TABELLA_OK;
  if (zoo_tells(self, "strange-answers")) return memset(out, 0xFF, (size_t)count), TABELLA_OK;
  return zoo_answer_rows(self, section, first, count, out,
                         zoo_tells(self, "says-read-only") ? 0 : TABELLA_ROW_EDITABLE | TABELLA_ROW_DELETE,
                         error);
}

static int32_t editable_columns(void *self, uint8_t *out, tabella_error *error) {
  (void)error;
  memset(out, zoo_tells(self, "says-columns-read-only") ? 0 : 1, ZOO_COLUMNS);
  return TABELLA_OK;
}

static int32_t target(void *self, tabella_index_path from, tabella_index_path proposed,
                      tabella_index_path *out, tabella_error *error) {
  (void)from, (void)error;
  *out = proposed;
  if (zoo_tells(self, "target-nowhere")) out->section = INT64_MIN, out->row = INT64_MAX;
  if (zoo_tells(self, "target-elsewhere")) out->row = 0;
  return TABELLA_OK;
}

static int32_t undo(void *self, tabella_string receipt, uint32_t flags, tabella_edit_result *out,
                    tabella_error *error) {
  zoo_source *source = self;
  char version[24];
  memcpy(version, source->version, sizeof version);
  if (zoo_tells(self, "undo-does-nothing")) {
    zoo_begin_result(out, 1, version, version);
    return TABELLA_OK;
  }
  if (zoo_tells(self, "undo-dies")) abort();
  if (zoo_tells(self, "undo-drops-everything")) {
    zoo_keep(source, zoo_data_new(0, 0), error);
    zoo_begin_result(out, 1, version, source->version);
    out->changes.flags = TABELLA_CHANGES_RELOAD;
    return TABELLA_OK;
  }
  return zoo_undo(self, receipt, flags, out, error);
}

ANIMAL {
  zoo_may_edit();
  zoo_editing.commit = commit;
  zoo_editing.editable = editable;
  zoo_editing.editable_columns = editable_columns;
  zoo_moving.target = target;
  zoo_undoing.undo = undo;
}
