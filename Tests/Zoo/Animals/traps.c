/* P13, P14: the mistakes of a careless author of a Swift provider; traps.swift makes them. The location selects the
 * mistake. */
#include "zoo_editing.h"

int32_t zoo_trap(const char *name);

static int32_t rows(void *self, const tabella_row_request *request, tabella_batch *out,
                    tabella_error *error) {
  int32_t code = zoo_rows(self, request, out, error);
  if (request->first == 0 && request->section == 0) zoo_trap(((zoo_source *)self)->lie);
  return code;
}

ANIMAL {
  zoo_may_edit();
  zoo_table.rows = rows;
}
