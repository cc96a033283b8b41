// search FILE TEXT writes the lines that contain a text. With a third word, it ignores the case of the text's letters, which
// are in lower case, if the word is "case". If the word is "pattern", TEXT must be followed by some of the letters a to p,
// then by " umbel" at the end of the line.
#include "floor.h"

FLOOR(uint64_t equal_letter)(const unsigned char *block, char wanted, int folds) {
  uint64_t mask = equal64(block, wanted);
  return folds && wanted >= 'a' && wanted <= 'z' ? mask | equal64(block, (char)(wanted - 32)) : mask;
}

FLOOR(int is_text)(const unsigned char *bytes, const char *text, size_t size, int folds) {
  if (!folds) return !memcmp(bytes, text, size);
  for (size_t at = 0; at < size; at++) {
    unsigned char byte = bytes[at];
    if (byte >= 'A' && byte <= 'Z') byte += 32;
    if (byte != (unsigned char)text[at]) return 0;
  }
  return 1;
}

FLOOR(int has_rest)(const unsigned char *bytes) {
  const unsigned char *at = bytes;
  while (*at >= 'a' && *at <= 'p') at++;
  return at > bytes && !memcmp(at, " umbel\n", 7);
}

int main(int count, char **words) {
  if (count < 3) return 2;
  mapped file = map_file(words[1]);
  const char *text = words[2];
  size_t size = strlen(text);
  int folds = count > 3 && !strcmp(words[3], "case"), has_pattern = count > 3 && !folds;
  char *cursor = output;
  for (size_t at = 0; at < file.count;) {
    uint64_t starts = equal_letter(file.bytes + at, text[0], folds)
                      & equal_letter(file.bytes + at + size - 1, text[size - 1], folds);
    size_t next = at + 64;
    for (; starts; starts &= starts - 1) {
      const unsigned char *found = file.bytes + at + __builtin_ctzll(starts);
      if (!is_text(found, text, size, folds)) continue;
      if (has_pattern && !has_rest(found + size)) continue;
      const unsigned char *line = memrchr(file.bytes, '\n', (size_t)(found - file.bytes));
      line = line ? line + 1 : file.bytes;
      const unsigned char *end = memchr(found, '\n', file.count - (size_t)(found - file.bytes));
      cursor = put(cursor, line, (size_t)(end - line), '\n');
      // The rest of the line does not matter.
      next = (size_t)(end - file.bytes) + 1;
      break;
    }
    at = next;
  }
  flushed(cursor);
  return 0;
}
