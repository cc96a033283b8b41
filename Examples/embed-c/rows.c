/* rows LOCATION: prints the columns of a table, then its rows, section by section. */
#include <stdio.h>
#include <string.h>

#include "tabella_embed.h"

/* Prints an error and returns the exit status. */
static int failed(int32_t code, tabella_error *error) {
  fprintf(stderr, "%.*s (code %d)\n", (int)error->message.length, error->message.bytes, code);
  if (error->release) error->release(error);
  return 1;
}

static void print_cell(const struct ArrowArray *column, const char *format, int64_t row) {
  const int64_t at = column->offset + row;
  const uint8_t *present = column->buffers[0];
  if (present && !(present[at / 8] >> (at % 8) & 1)) {
    printf("missing");
  } else if (strcmp(format, "u") == 0 || strcmp(format, "z") == 0) {
    const int32_t *offsets = column->buffers[1];
    const char *text = column->buffers[2];
    fwrite(text + offsets[at], 1, (size_t)(offsets[at + 1] - offsets[at]), stdout);
  } else if (strcmp(format, "l") == 0 || strcmp(format, "tsu:UTC") == 0) {
    printf("%lld", (long long)((const int64_t *)column->buffers[1])[at]);
  } else if (strcmp(format, "g") == 0) {
    printf("%g", ((const double *)column->buffers[1])[at]);
  } else {
    const uint8_t *bits = column->buffers[1];
    printf(bits[at / 8] >> (at % 8) & 1 ? "true" : "false");
  }
}

/* Prints all batches of a stream. Its first two columns are the number and the title of the section. */
static int print_rows(struct ArrowArrayStream *stream) {
  struct ArrowSchema schema;
  struct ArrowArray batch;
  int64_t section = -1;
  int status = stream->get_schema(stream, &schema);
  if (status != 0) return status;
  for (int64_t column = 2; column < schema.n_children; column++) {
    printf("%s%s", column == 2 ? "" : " | ", schema.children[column]->name);
  }
  printf("\n");
  while ((status = stream->get_next(stream, &batch)) == 0 && batch.release) {
    for (int64_t row = 0; row < batch.length; row++) {
      const int64_t its = ((const int64_t *)batch.children[0]->buffers[1])[row];
      if (its != section && batch.children[1]->null_count == 0) {
        printf("[");
        print_cell(batch.children[1], "u", row);
        printf("]\n");
      }
      section = its;
      for (int64_t column = 2; column < batch.n_children; column++) {
        if (column > 2) printf(" | ");
        print_cell(batch.children[column], schema.children[column]->format, row);
      }
      printf("\n");
    }
    batch.release(&batch);
  }
  schema.release(&schema);
  return status;
}

int main(int count, char **words) {
  if (count != 2) {
    fprintf(stderr, "usage: rows LOCATION\n");
    return 2;
  }
  tabella_error error = {0};
  tabella_embed_host *host;
  int32_t code = tabella_embed_host_create(NULL, &host, &error);
  if (code != TABELLA_OK) return failed(code, &error);

  tabella_embed_request request = {0};
  request.location.bytes = words[1];
  request.location.length = (int64_t)strlen(words[1]);
  tabella_embed_table *table;
  code = tabella_embed_open(host, &request, &table, &error);
  tabella_embed_host_release(host); /* The table keeps it. */
  if (code != TABELLA_OK) return failed(code, &error);

  tabella_embed_stream_request all = {.section = -1, .count = -1};
  all.flags = TABELLA_EMBED_WITH_SECTION;
  struct ArrowArrayStream stream;
  code = tabella_embed_stream(table, &all, &stream, &error);
  tabella_embed_table_release(table); /* The stream keeps it. */
  if (code != TABELLA_OK) return failed(code, &error);

  int status = print_rows(&stream);
  if (status != 0) fprintf(stderr, "%s\n", stream.get_last_error(&stream));
  stream.release(&stream);
  return status != 0;
}
