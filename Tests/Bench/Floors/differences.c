// differences FILE OTHER writes the lines of OTHER that differ from the same lines of FILE. Both have as many lines.
#include "floor.h"

// The length of the line at an offset, with its end.
static size_t line(mapped file, size_t start) {
  for (size_t at = start;; at += 64) {
    uint64_t ends = equal64(file.bytes + at, '\n');
    if (ends) return at + (size_t)__builtin_ctzll(ends) + 1 - start;
  }
}

int main(int count, char **words) {
  if (count != 3) return 2;
  mapped file = map_file(words[1]), other = map_file(words[2]);
  size_t left = 0, right = 0;
  while (left < file.count && right < other.count) {
    size_t length = line(file, left), there = line(other, right);
    if (length != there || memcmp(file.bytes + left, other.bytes + right, length) != 0)
      fwrite(other.bytes + right, 1, there, stdout);
    left += length;
    right += there;
  }
  return fflush(stdout) != 0;
}
