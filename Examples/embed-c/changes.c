/* changes FILE: shapes a table of cities and amounts, edits it, follows it, and undoes the edit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tabella_embed.h"

static tabella_string text(const char *words) {
  tabella_string string = {words, (int64_t)strlen(words)};
  return string;
}

/* Ends the program if a call failed. */
static void must(int32_t code, tabella_error *error) {
  if (code == TABELLA_OK) return;
  fprintf(stderr, "%.*s (code %d)\n", (int)error->message.length, error->message.bytes, code);
  exit(1);
}

/* Prints the first two columns of a table with one section. They are text. */
static void print(const char *title, tabella_embed_table *table) {
  tabella_error error = {0};
  struct ArrowArrayStream stream;
  struct ArrowArray batch;
  must(tabella_embed_stream(table, NULL, &stream, &error), &error);
  printf("%s:", title);
  while (stream.get_next(&stream, &batch) == 0 && batch.release) {
    for (int64_t row = 0; row < batch.length; row++) {
      printf("%s", row == 0 ? " " : ", ");
      for (int64_t number = 0; number < 2; number++) {
        const struct ArrowArray *column = batch.children[number];
        const int32_t *offsets = (const int32_t *)column->buffers[1] + column->offset + row;
        printf("%s%.*s", number ? " " : "", (int)(offsets[1] - offsets[0]),
               (const char *)column->buffers[2] + offsets[0]);
      }
    }
    batch.release(&batch);
  }
  printf("\n");
  stream.release(&stream);
}

/* Prints the changes since the last pull. */
static void pull(tabella_embed_follower *follower) {
  static const char *const kinds[] = {"", "insert", "delete", "move", "reload", "reconfigure"};
  tabella_error error = {0};
  tabella_changes changes;
  must(tabella_embed_pull(follower, &changes, &error), &error);
  for (int64_t number = 0; number < changes.change_count; number++) {
    const tabella_change *change = &changes.changes[number];
    int is_new = change->kind == TABELLA_CHANGE_INSERT;
    printf("change: %s row %lld\n", kinds[change->kind],
           (long long)(is_new ? change->to.row : change->from.row));
  }
  changes.release(&changes);
}

/* Prints the number of rows and the version of a table, which it reads as a source of the contract. */
static void describe(tabella_embed_table *table) {
  tabella_error error = {0};
  tabella_source source;
  tabella_string version = {0};
  tabella_count rows = {0};
  must(tabella_embed_source(table, &source, &error), &error);
  must(source.table->row_count(source.source, 0, INT64_MAX, &rows, &error), &error);
  must(source.table->version(source.source, &version, &error), &error);
  int has_ids = source.table->ability(source.source, text(TABELLA_IDENTITY_ID)) != NULL;
  printf("rows: %lld, has ids: %d, has a version: %d\n", (long long)rows.value, has_ids, version.length > 0);
  source.table->release(source.source);
}

int main(int count, char **words) {
  if (count != 2) {
    fprintf(stderr, "usage: changes FILE\n");
    return 2;
  }
  tabella_error error = {0};
  tabella_embed_host *host;
  must(tabella_embed_host_create(NULL, &host, &error), &error);

  tabella_embed_request request = {0};
  request.location = text(words[1]);
  tabella_option_value option = {text("header"), text("true")};
  request.options = &option;
  request.option_count = 1;
  request.flags = TABELLA_EMBED_EDITING;
  tabella_embed_table *table;
  must(tabella_embed_open(host, &request, &table, &error), &error);

  /* A view: the amounts above 5, the largest first. */
  tabella_string filter = text("amount > 5");
  tabella_embed_shape shape = {0};
  shape.filters = &filter;
  shape.filter_count = 1;
  shape.sort = text("amount:desc");
  tabella_embed_table *view;
  must(tabella_embed_shaped(table, &shape, &view, &error), &error);
  print("before", view);
  describe(view);

  tabella_embed_follower *follower;
  must(tabella_embed_follow(view, &follower, &error), &error);

  /* An edit through the view: the amount of its first row becomes 7. */
  tabella_cell cell = {0};
  cell.column = 1;
  cell.value.type = TABELLA_TYPE_TEXT;
  cell.value.bytes = text("7");
  tabella_edit edit = {0};
  edit.kind = TABELLA_EDIT_SET;
  edit.from.row = 0;
  edit.target.section = edit.target.row = -1;
  edit.cells = &cell;
  edit.cell_count = 1;
  tabella_edit_batch batch = {0};
  batch.edits = &edit;
  batch.edit_count = 1;
  tabella_embed_edit done;
  must(tabella_embed_commit(view, &batch, &done, &error), &error);
  printf("has a receipt: %s\n", done.receipt.bytes ? "yes" : "no");
  if (done.result.release != NULL) done.result.release(&done.result);
  pull(follower);
  print("edited", view);

  must(tabella_embed_undo(host, text(words[1]), 0, &done, &error), &error);
  done.result.release(&done.result);
  pull(follower);
  print("undone", view);

  tabella_embed_table *sums;
  must(tabella_embed_summarize(view, text("city"), text("rows, sum amount"), 0, &sums, &error),
       &error);
  tabella_embed_stream_request request_of_sums = {.section = -1, .count = -1};
  const int64_t columns[] = {0, 2};
  request_of_sums.columns = columns;
  request_of_sums.column_count = 2;
  struct ArrowArrayStream stream;
  struct ArrowArray first;
  must(tabella_embed_stream(sums, &request_of_sums, &stream, &error), &error);
  if (stream.get_next(&stream, &first) == 0 && first.release) {
    printf("groups: %lld\n", (long long)first.length);
    first.release(&first);
  }
  stream.release(&stream);

  tabella_embed_table_release(sums);
  tabella_embed_follower_release(follower);
  tabella_embed_table_release(view);
  tabella_embed_table_release(table);
  tabella_embed_host_release(host);
  return 0;
}
