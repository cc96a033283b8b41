// texts FILE TEXT NUMBER [ROWS] writes the records in the order of a column of text, and equal ones in the descending
// order of a column of numbers with two decimals, which comes after or in front of it. Equal records keep the order of
// the file. It writes the first ROWS records, or all. The text has neither digits nor upper case, nor zeros.
#include "cells.h"

typedef struct {
  // Eight bytes of the text, the first one highest; at the end, the number.
  uint64_t key;
  uint64_t start;
  uint32_t cents;
  // The offset of the text in the record, and its length.
  uint16_t cell, count;
} entry;

static const unsigned char *bytes;
static entry *other;

FLOOR(uint32_t cents_in)(const unsigned char *cell, const unsigned char *end) {
  uint32_t value = 0;
  for (; cell < end; cell++)
    if (*cell != '.') value = value * 10 + (uint32_t)(*cell - '0');
  return value;
}

FLOOR(uint64_t word_of)(entry each, size_t offset) {
  if (each.count <= offset) return 0;
  uint64_t word;
  memcpy(&word, bytes + each.start + each.cell + offset, 8);
  word = __builtin_bswap64(word);
  size_t count = each.count - offset;
  return count < 8 ? word & ~0ull << (64 - 8 * count) : word;
}

// Sorts by the bits in which keys differ, eight at a time, beginning with the lowest.
FLOOR(void sort_keys)(entry *entries, size_t count) {
  if (count < 64) {
    for (size_t index = 1; index < count; index++) {
      entry each = entries[index];
      size_t place = index;
      for (; place > 0 && entries[place - 1].key > each.key; place--) entries[place] = entries[place - 1];
      entries[place] = each;
    }
    return;
  }
  uint64_t differing = 0;
  for (size_t index = 1; index < count; index++) differing |= entries[index].key ^ entries[0].key;
  for (int shift = 0; shift < 64; shift += 8) {
    if (!(differing >> shift & 255)) continue;
    size_t places[257] = {0};
    for (size_t index = 0; index < count; index++) places[(entries[index].key >> shift & 255) + 1]++;
    for (int digit = 1; digit < 256; digit++) places[digit] += places[digit - 1];
    for (size_t index = 0; index < count; index++)
      other[places[entries[index].key >> shift & 255]++] = entries[index];
    memcpy(entries, other, count * sizeof(entry));
  }
}

// Sorts entries whose texts are equal in front of the keys. offset is the offset behind the keys.
static void sort(entry *entries, size_t count, size_t offset) {
  sort_keys(entries, count);
  for (size_t start = 0, end; start < count; start = end) {
    size_t longest = 0;
    for (end = start; end < count && entries[end].key == entries[start].key; end++)
      if (entries[end].count > longest) longest = entries[end].count;
    if (end - start < 2) continue;
    if (longest <= offset) {
      for (size_t index = start; index < end; index++) entries[index].key = ~entries[index].cents;
      sort_keys(entries + start, end - start);
    } else {
      for (size_t index = start; index < end; index++)
        entries[index].key = word_of(entries[index], offset);
      sort(entries + start, end - start, offset + 8);
    }
  }
}

// Whether one entry comes before another one.
FLOOR(int precedes)(entry left, entry right) {
  if (left.key != right.key) return left.key < right.key;
  size_t common = left.count < right.count ? left.count : right.count;
  int order = memcmp(bytes + left.start + left.cell, bytes + right.start + right.cell, common);
  if (order) return order < 0;
  if (left.count != right.count) return left.count < right.count;
  return left.cents > right.cents;
}

int main(int count, char **words) {
  if (count < 4) return 2;
  mapped file = map_file(words[1]);
  bytes = file.bytes;
  int text = atoi(words[2]), number = atoi(words[3]), body = 0;
  size_t most = count > 4 ? strtoull(words[4], 0, 10) : 0, rows = 0;
  entry *entries = allocate_pages((most ? most + 1 : file.count / 8 + 16) * sizeof(entry));
  entry next = {0};
  size_t cell = 0;
#define VISIT(column, begin, end)                                                       \
  if (column == text && body) {                                                         \
    cell = begin;                                                                       \
    next.count = (uint16_t)(end - begin);                                               \
  } else if (column == number && body) {                                                \
    next.cents = cents_in(bytes + begin, bytes + end);                                  \
  }
#define RECORD(begin)                                                                   \
  if (body) {                                                                           \
    next.start = begin;                                                                 \
    next.cell = (uint16_t)(cell - begin);                                               \
    next.key = word_of(next, 0);                                                        \
    if (!most) {                                                                        \
      entries[rows++] = next;                                                           \
    } else if (rows < most || precedes(next, entries[rows - 1])) {                      \
      size_t place = rows < most ? rows++ : rows - 1;                                   \
      for (; place > 0 && precedes(next, entries[place - 1]); place--)                  \
        entries[place] = entries[place - 1];                                            \
      entries[place] = next;                                                            \
    }                                                                                   \
  }                                                                                     \
  body = 1
  EACH_CELL(file, VISIT, RECORD);
  if (!most) {
    other = allocate_pages((rows + 1) * sizeof(entry));
    sort(entries, rows, 8);
  }
  char *cursor = output;
  for (size_t index = 0; index < rows; index++) {
    // The records are scattered by now, so the next ones are prefetched while this one is copied.
    if (index + 16 < rows) __builtin_prefetch(bytes + entries[index + 16].start);
    const unsigned char *start = bytes + entries[index].start;
    const unsigned char *end = memchr(start, '\n', file.count - entries[index].start);
    cursor = put(cursor, start, (size_t)(end - start), '\n');
  }
  flushed(cursor);
  return 0;
}
