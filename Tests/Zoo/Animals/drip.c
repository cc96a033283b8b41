/* P15: returns one row at a time, each after a pause. -DPAUSE is in microseconds. */
#include "zoo.h"

static int32_t rows(void *self, const tabella_row_request *request, tabella_batch *out,
                    tabella_error *error) {
  tabella_row_request small = *request;
  usleep(PAUSE);
  small.count = 1;
  return zoo_rows(self, &small, out, error);
}

ANIMAL { zoo_table.rows = rows; }
