// rows FILE FIRST COUNT writes COUNT records unchanged, beginning with number FIRST. The header does not count.
#include "floor.h"

int main(int count, char **words) {
  if (count != 4) return 2;
  mapped file = map_file(words[1]);
  // Because of the header, row N begins after N + 1 line ends.
  uint64_t first = strtoull(words[2], 0, 10) + 1, last = first + strtoull(words[3], 0, 10);
  uint64_t quoted = 0, records = 0;
  size_t start = 0;
  for (size_t at = 0; at < file.count; at += 64) {
    uint64_t ends = equal64(file.bytes + at, '\n');
    ends &= ~between_quotes(file.bytes + at, &quoted);
    uint64_t here = (uint64_t)__builtin_popcountll(ends);
    if (records + here < first) {
      records += here;
      continue;
    }
    for (; ends; ends &= ends - 1) {
      size_t next = at + (size_t)__builtin_ctzll(ends) + 1;
      records++;
      if (records == first) start = next;
      if (records == last) return write(1, file.bytes + start, next - start) < 0;
    }
  }
  return 1;
}
