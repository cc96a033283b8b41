/* A provider that returns more rows than it was asked for. */
#include "zoo.h"

static int32_t rows(void *self, const tabella_row_request *request, tabella_batch *out, tabella_error *error) {
  int32_t code = zoo_rows(self, request, out, error);
  if (code == TABELLA_OK) out->array.length = -1;
  return code;
}

ANIMAL { zoo_table.rows = rows; }
