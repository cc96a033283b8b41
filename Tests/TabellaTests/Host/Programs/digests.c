/* Prints the digest of each line of standard input three times: of the whole line, in pieces, and byte by byte. */
#include "tabella_edit.h"

int main(void) {
  static char line[1 << 16];
  while (fgets(line, sizeof line, stdin) != NULL) {
    size_t size = strcspn(line, "\n"), at, piece;
    tabella_hash pieces = tabella_hash_begin(), bytes = tabella_hash_begin();
    tabella_digest whole = tabella_digest_of(line, size), first, second;
    for (at = 0; at < size; at += piece) {
      piece = at * 7 % 97 + 1 < size - at ? at * 7 % 97 + 1 : size - at;
      tabella_hash_add(&pieces, line + at, piece);
    }
    for (at = 0; at < size; at++) tabella_hash_add(&bytes, line + at, 1);
    first = tabella_hash_end(&pieces);
    second = tabella_hash_end(&bytes);
    printf("%s %s %s\n", whole.text, first.text, second.text);
  }
  return 0;
}
