/*
 * rows [-o NAME=VALUE] [-f FILTER] [-g COLUMNS] [-s COLUMNS] [-c NUMBER] LOCATION: prints the rows of a table for the
 * matrix. A line has the number and the title of the section, and the cells: "-" for a missing cell, "x" and hexadecimal
 * digits for text and binary, a number for the other types.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tabella_embed.h"

enum { MOST = 32 };

static void check(int32_t code, tabella_error *error) {
  if (code == TABELLA_OK) return;
  fprintf(stderr, "%.*s (code %d)\n", (int)error->message.length, error->message.bytes, code);
  exit(1);
}

static tabella_string text(const char *word) {
  tabella_string string = {word, (int64_t)strlen(word)};
  return string;
}

static void print_cell(const struct ArrowArray *column, const char *format, int64_t row) {
  const int64_t at = column->offset + row;
  const uint8_t *present = column->buffers[0];
  if (present != NULL && !(present[at / 8] >> (at % 8) & 1)) {
    printf(" -");
  } else if (format[0] == 'u' || format[0] == 'z') {
    const int32_t *offsets = column->buffers[1];
    int32_t i;
    printf(" x");
    for (i = offsets[at]; i < offsets[at + 1]; i++) printf("%02x", ((const uint8_t *)column->buffers[2])[i]);
  } else if (format[0] == 'g') {
    printf(" %a", ((const double *)column->buffers[1])[at]);
  } else if (format[0] == 'b') {
    printf(" %d", ((const uint8_t *)column->buffers[1])[at / 8] >> (at % 8) & 1);
  } else {
    printf(" %" PRId64, ((const int64_t *)column->buffers[1])[at]);
  }
}

static void print_rows(struct ArrowArrayStream *stream) {
  struct ArrowSchema schema;
  struct ArrowArray batch;
  int status = stream->get_schema(stream, &schema);
  while (status == 0 && (status = stream->get_next(stream, &batch)) == 0 && batch.release != NULL) {
    int64_t row, column;
    for (row = 0; row < batch.length; row++) {
      for (column = 0; column < batch.n_children; column++)
        print_cell(batch.children[column], schema.children[column]->format, row);
      printf("\n");
    }
    batch.release(&batch);
  }
  if (status != 0) {
    fprintf(stderr, "%s\n", stream->get_last_error(stream));
    exit(1);
  }
  schema.release(&schema);
  stream->release(stream);
}

int main(int count, char **words) {
  tabella_option_value options[MOST];
  tabella_string filters[MOST];
  int64_t columns[MOST];
  tabella_embed_request request = {0};
  tabella_embed_shape shape = {0};
  tabella_embed_stream_request all = {0};
  tabella_error error = {0};
  tabella_embed_host *host;
  tabella_embed_table *table, *view;
  struct ArrowArrayStream stream;
  int i;
  all.section = all.count = -1;
  all.flags = TABELLA_EMBED_WITH_SECTION;
  request.options = options;
  shape.filters = filters;
  for (i = 1; i + 1 < count; i += 2) {
    char *value = words[i + 1];
    switch (words[i][1]) {
      case 'o':
        options[request.option_count].value = text(strchr(value, '=') + 1);
        *strchr(value, '=') = 0;
        options[request.option_count++].name = text(value);
        break;
      case 'f': filters[shape.filter_count++] = text(value); break;
      case 'g': shape.section_by = text(value); break;
      case 's': shape.sort = text(value); break;
      case 'b': all.flags |= TABELLA_EMBED_TEXT_AS_BINARY; break;
      default: columns[all.column_count++] = atoll(value), all.columns = columns;
    }
  }
  request.location = text(words[count - 1]);
  check(tabella_embed_host_create(NULL, &host, &error), &error);
  check(tabella_embed_open(host, &request, &table, &error), &error);
  check(tabella_embed_shaped(table, &shape, &view, &error), &error);
  check(tabella_embed_stream(view, &all, &stream, &error), &error);
  print_rows(&stream);
  tabella_embed_table_release(view);
  tabella_embed_table_release(table);
  tabella_embed_host_release(host);
  return 0;
}
