// summarize FILE COLUMN AMOUNTS prints how many records have each value of a column, and the sum of another column in
// them, as VALUE<TAB>RECORDS<TAB>SUM. Amounts have two decimals, and AMOUNTS comes after COLUMN.
#include "cells.h"

enum { SLOTS = 1 << 16 };
static struct {
  const unsigned char *value;
  size_t count;
  uint64_t records;
  uint64_t cents;
} groups[SLOTS];

FLOOR(size_t slot_of)(const unsigned char *value, size_t count) {
  // The generated values differ in their first or last eight bytes or in their length.
  uint64_t word, last = 0;
  memcpy(&word, value, 8);
  if (count < 8)
    word &= (1ull << (8 * count)) - 1;
  else
    memcpy(&last, value + count - 8, 8);
  uint64_t hash = (word ^ count ^ last * 0xC2B2AE3D27D4EB4F) * 0x9E3779B97F4A7C15;
  size_t slot = (hash ^ hash >> 29) * 0xD6E8FEB86659FD93 >> 48;
  while (groups[slot].value
         && (groups[slot].count != count || memcmp(groups[slot].value, value, count)))
    slot = (slot + 1) % SLOTS;
  if (!groups[slot].value) {
    groups[slot].value = value;
    groups[slot].count = count;
  }
  return slot;
}

FLOOR(uint64_t cents_in)(const unsigned char *value, size_t count) {
  uint64_t cents = 0;
  for (size_t at = 0; at < count; at++)
    if (value[at] != '.') cents = cents * 10 + (value[at] - '0');
  return cents;
}

int main(int count, char **words) {
  if (count != 4) return 2;
  mapped file = map_file(words[1]);
  int wanted = atoi(words[2]), amounts = atoi(words[3]), body = 0;
  size_t slot = 0;
#define VISIT(column, start, end)                                    \
  if (column == wanted && body) {                                    \
    slot = slot_of(file.bytes + start, end - start);                 \
    groups[slot].records++;                                          \
  } else if (column == amounts && body) {                            \
    groups[slot].cents += cents_in(file.bytes + start, end - start); \
  }
#define RECORD(start) ((void)(start), body = 1)
  EACH_CELL(file, VISIT, RECORD);
  char *cursor = output;
  for (slot = 0; slot < SLOTS; slot++) {
    if (!groups[slot].value) continue;
    cursor = put(cursor, groups[slot].value, groups[slot].count, '\t');
    cursor = put_number(cursor, groups[slot].records, '\t');
    cursor = put_number(cursor, groups[slot].cents / 100, '.');
    cursor = put_number(
      cursor, groups[slot].cents / 10 % 10, (char)('0' + groups[slot].cents % 10));
    *cursor++ = '\n';
  }
  flushed(cursor);
  return 0;
}
