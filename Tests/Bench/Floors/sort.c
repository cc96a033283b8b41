// sort FILE COLUMN [ROWS] writes the records in the order of a column of numbers with two decimals. Equal numbers keep
// the order of the file. It writes the first ROWS records, or all.
#include "cells.h"

typedef struct {
  uint64_t key;
  uint64_t start;
} entry;

FLOOR(uint64_t hundredths)(const unsigned char *cell, const unsigned char *end) {
  uint64_t value = 0;
  for (; cell < end; cell++)
    if (*cell != '.') value = value * 10 + (uint64_t)(*cell - '0');
  return value;
}

// Sorts by 11 bits at a time, beginning with the lowest. Returns the one of the two arrays that contains the result.
static entry *radix_sorted(entry *entries, size_t count) {
  enum { BITS = 11, DIGITS = 1 << BITS };
  entry *other = allocate_pages((count + 1) * sizeof(entry));
  uint64_t all = 0;
  for (size_t index = 0; index < count; index++) all |= entries[index].key;
  for (int shift = 0; shift < 64 && all >> shift; shift += BITS) {
    static size_t places[DIGITS + 1];
    memset(places, 0, sizeof places);
    for (size_t index = 0; index < count; index++)
      places[(entries[index].key >> shift) % DIGITS + 1]++;
    for (int digit = 1; digit < DIGITS; digit++) places[digit] += places[digit - 1];
    for (size_t index = 0; index < count; index++)
      other[places[(entries[index].key >> shift) % DIGITS]++] = entries[index];
    entry *sorted = other;
    other = entries;
    entries = sorted;
  }
  return entries;
}

int main(int count, char **words) {
  if (count < 3) return 2;
  mapped file = map_file(words[1]);
  int wanted = atoi(words[2]), body = 0;
  entry *entries = allocate_pages((file.count / 8 + 16) * sizeof(entry));
  size_t rows = 0;
  uint64_t key = 0;
#define VISIT(column, start, end) \
  if (column == wanted && body) key = hundredths(file.bytes + start, file.bytes + end)
#define RECORD(start)                             \
  if (body) entries[rows++] = (entry){key, start}; \
  body = 1
  EACH_CELL(file, VISIT, RECORD);
  entries = radix_sorted(entries, rows);
  size_t shown = count > 3 ? strtoull(words[3], 0, 10) : rows;
  if (shown > rows) shown = rows;
  char *cursor = output;
  for (size_t index = 0; index < shown; index++) {
    // The records are scattered by now, so the next ones are prefetched while this one is copied.
    if (index + 16 < shown) __builtin_prefetch(file.bytes + entries[index + 16].start);
    const unsigned char *start = file.bytes + entries[index].start;
    const unsigned char *end = memchr(start, '\n', file.count - entries[index].start);
    cursor = put(cursor, start, (size_t)(end - start), '\n');
  }
  flushed(cursor);
  return 0;
}
