// The common code of the floors: masks over 64 bytes, a mapped file, buffered output.
//
// A floor does the work of one case and nothing else: it has no options, no checks of its input, and knows only the
// generated format. It shows what the machine allows, not what a program should be. Everything is static and inlined.
// The compiler chooses the best instructions of the processor with -march=native.
#ifndef TABELLA_FLOOR_H
#define TABELLA_FLOOR_H

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define FLOOR(function) static inline __attribute__((always_inline, unused)) function

// Bit i is set if block[i] is wanted. 64 bytes must be readable at block.
#if defined(__AVX512BW__)
FLOOR(uint64_t equal64)(const unsigned char *block, char wanted) {
  return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(block), _mm512_set1_epi8(wanted));
}
#elif defined(__AVX2__)
FLOOR(uint64_t equal64)(const unsigned char *block, char wanted) {
  __m256i all = _mm256_set1_epi8(wanted);
  __m256i low = _mm256_loadu_si256((const __m256i *)block);
  __m256i high = _mm256_loadu_si256((const __m256i *)(block + 32));
  uint32_t first = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, all));
  uint32_t second = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, all));
  return first | (uint64_t)second << 32;
}
#else
FLOOR(uint64_t equal64)(const unsigned char *block, char wanted) {
  uint64_t mask = 0;
  for (int word = 0; word < 8; word++) {
    uint64_t bytes;
    memcpy(&bytes, block + 8 * word, 8);
    bytes ^= 0x0101010101010101 * (unsigned char)wanted;
    // The top bit of each byte that is zero, exactly; then the eight top bits side by side.
    uint64_t low = 0x7F7F7F7F7F7F7F7F;
    uint64_t zero = ~(((bytes & low) + low) | bytes | low);
    mask |= (zero >> 7) * 0x0102040810204080 >> 56 << (8 * word);
  }
  return mask;
}
#endif

// Bit i is set if the number of set bits up to and including i is odd.
FLOOR(uint64_t prefix_xor)(uint64_t bits) {
#if defined(__PCLMUL__)
  __m128i product =
      _mm_clmulepi64_si128(_mm_set_epi64x(0, (long long)bits), _mm_set1_epi8((char)0xFF), 0);
  return (uint64_t)_mm_cvtsi128_si64(product);
#else
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
#endif
}

// Bit i is set if block[i] is between quotes. quoted carries the state from block to block; it is 0 or ~0.
FLOOR(uint64_t between_quotes)(const unsigned char *block, uint64_t *quoted) {
  uint64_t inside = prefix_xor(equal64(block, '"')) ^ *quoted;
  *quoted = (uint64_t)((int64_t)inside >> 63);
  return inside;
}

typedef struct {
  const unsigned char *bytes;
  size_t count;
} mapped;

// Maps the whole file, with its pages present and zeros after its end for the last block.
FLOOR(mapped map_file)(const char *path) {
  int file = open(path, O_RDONLY);
  struct stat status;
  if (file < 0 || fstat(file, &status)) exit(1);
  size_t count = (size_t)status.st_size;
  // The file is mapped over an empty mapping, because its own mapping ends with its last page.
  void *place = mmap(0, count + 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mmap(place, count, PROT_READ, MAP_PRIVATE | MAP_FIXED | MAP_POPULATE, file, 0) != place)
    exit(1);
  return (mapped){place, count};
}

// Allocates pages for entries; large pages if the system has them.
FLOOR(void *allocate_pages)(size_t count) {
  void *place = mmap(0, count, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) exit(1);
  madvise(place, count, MADV_HUGEPAGE);
  return place;
}

enum { OUTPUT = 1 << 18 };
static char output[OUTPUT + 64];

// Writes the bytes in front of the cursor. Returns the new cursor.
FLOOR(char *flushed)(char *cursor) {
  for (char *from = output; from < cursor;) {
    ssize_t written = write(1, from, (size_t)(cursor - from));
    if (written <= 0) exit(1);
    from += written;
  }
  return output;
}

// Copies a cell and its end byte to the cursor. Returns the new cursor, which stays in a register. Most cells are
// short, so 32 bytes are always copied if that suffices.
FLOOR(char *put)(char *cursor, const unsigned char *bytes, size_t count, char end) {
  if (cursor + count >= output + OUTPUT) cursor = flushed(cursor);
  if (count <= 32)
    memcpy(cursor, bytes, 32);
  else
    memcpy(cursor, bytes, count);
  cursor[count] = end;
  return cursor + count + 1;
}

FLOOR(char *put_number)(char *cursor, uint64_t value, char end) {
  char digits[20];
  int count = 0;
  do digits[count++] = (char)('0' + value % 10);
  while (value /= 10);
  if (cursor + count >= output + OUTPUT) cursor = flushed(cursor);
  while (count) *cursor++ = digits[--count];
  *cursor++ = end;
  return cursor;
}

#endif
