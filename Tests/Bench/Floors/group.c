// group FILE COLUMN prints how many records have each value of a column, as VALUE<TAB>RECORDS.
#include "cells.h"

typedef struct {
  const unsigned char *value;
  size_t count;
  uint64_t records;
} group;

static group *groups;
static int bits = 16;
static size_t used;

// The slot of a value, or the free slot for it.
FLOOR(size_t slot_of)(const unsigned char *value, size_t count) {
  // The generated values differ in their first or last eight bytes or in their length.
  uint64_t word, last = 0;
  memcpy(&word, value, 8);
  if (count < 8)
    word &= (1ull << (8 * count)) - 1;
  else
    memcpy(&last, value + count - 8, 8);
  uint64_t hash = (word ^ count ^ last * 0xC2B2AE3D27D4EB4F) * 0x9E3779B97F4A7C15;
  size_t slot = (hash ^ hash >> 29) * 0xD6E8FEB86659FD93 >> (64 - bits);
  while (groups[slot].value
         && (groups[slot].count != count || memcmp(groups[slot].value, value, count)))
    slot = (slot + 1) & ((1ull << bits) - 1);
  return slot;
}

static __attribute__((noinline)) void grow(void) {
  group *old = groups;
  size_t slots = 1ull << bits;
  bits += 1;
  groups = allocate_pages((2 * slots) * sizeof(group));
  for (size_t slot = 0; slot < slots; slot++)
    if (old[slot].value) groups[slot_of(old[slot].value, old[slot].count)] = old[slot];
  munmap(old, slots * sizeof(group));
}

FLOOR(void add)(const unsigned char *value, size_t count) {
  size_t slot = slot_of(value, count);
  if (!groups[slot].value) {
    groups[slot] = (group){value, count, 0};
    used++;
  }
  groups[slot].records++;
  if (2 * used > 1ull << bits) grow();
}

int main(int count, char **words) {
  if (count != 3) return 2;
  mapped file = map_file(words[1]);
  int wanted = atoi(words[2]), body = 0;
  groups = allocate_pages((1ull << bits) * sizeof(group));
#define VISIT(column, start, end)        \
  if (column == wanted && body) add(file.bytes + start, end - start)
#define RECORD(start) ((void)(start), body = 1)
  EACH_CELL(file, VISIT, RECORD);
  char *cursor = output;
  for (size_t slot = 0; slot < 1ull << bits; slot++) {
    if (!groups[slot].value) continue;
    cursor = put(cursor, groups[slot].value, groups[slot].count, '\t');
    cursor = put_number(cursor, groups[slot].records, '\n');
  }
  flushed(cursor);
  return 0;
}
