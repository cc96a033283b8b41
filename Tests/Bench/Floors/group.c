// group FILE COLUMN prints how many records have each value of a column, as VALUE<TAB>RECORDS.
#include "cells.h"

enum { SLOTS = 1 << 16 };
static struct {
  const unsigned char *value;
  size_t count;
  uint64_t records;
} groups[SLOTS];

FLOOR(void add)(const unsigned char *value, size_t count) {
  // The generated values differ in their first eight bytes or in their length.
  uint64_t word;
  memcpy(&word, value, 8);
  if (count < 8) word &= (1ull << (8 * count)) - 1;
  uint64_t hash = (word ^ count) * 0x9E3779B97F4A7C15;
  size_t slot = (hash ^ hash >> 29) * 0xD6E8FEB86659FD93 >> 48;
  while (groups[slot].value
         && (groups[slot].count != count || memcmp(groups[slot].value, value, count)))
    slot = (slot + 1) % SLOTS;
  if (!groups[slot].value) {
    groups[slot].value = value;
    groups[slot].count = count;
  }
  groups[slot].records++;
}

int main(int count, char **words) {
  if (count != 3) return 2;
  mapped file = map_file(words[1]);
  int wanted = atoi(words[2]), body = 0;
#define VISIT(column, start, end)        \
  if (column == wanted && body) add(file.bytes + start, end - start)
#define RECORD(start) ((void)(start), body = 1)
  EACH_CELL(file, VISIT, RECORD);
  char *cursor = output;
  for (size_t slot = 0; slot < SLOTS; slot++) {
    if (!groups[slot].value) continue;
    cursor = put(cursor, groups[slot].value, groups[slot].count, '\t');
    cursor = put_number(cursor, groups[slot].records, '\n');
  }
  flushed(cursor);
  return 0;
}
