// select FILE FIRST SECOND writes two columns, counted from 0, unchanged.
#include "cells.h"

int main(int count, char **words) {
  if (count != 4) return 2;
  mapped file = map_file(words[1]);
  char *cursor = output;
  int second = atoi(words[3]);
  // One test for both columns is easier for the branch predictor than two.
  uint64_t wanted = 1ull << atoi(words[2]) | 1ull << second;
#define VISIT(column, start, end) \
  if (wanted >> column & 1)       \
    cursor = put(cursor, file.bytes + start, end - start, column == second ? '\n' : ',')
#define RECORD(start) (void)(start)
  EACH_CELL(file, VISIT, RECORD);
  flushed(cursor);
  return 0;
}
