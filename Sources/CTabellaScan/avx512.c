/* The kernel for x86-64 with AVX-512 as of 2019 (VBMI2). It processes one block at a time. One compress
 * instruction computes the offsets of a mask's bits. */
#if defined(__x86_64__)
#include "versions.h"

#include <immintrin.h>

#pragma clang attribute push(                                                                      \
    __attribute__((target(                                                                         \
        "avx512f,avx512bw,avx512vl,avx512vbmi2,bmi,bmi2,lzcnt,popcnt,pclmul"))),                   \
    apply_to = function)

INLINE uint64_t multiplied(uint64_t word) {
    __m128i product =
        _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)word), _mm_set1_epi8(-1), 0);
    return (uint64_t)_mm_cvtsi128_si64(product);
}

/* Looks up each byte, which is below 16, in a table of 16 bytes. */
#define LOOK_UP(found, table, bytes)                                                               \
    (*(found) = (bytes64)_mm512_shuffle_epi8(                                                      \
         _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(table))), (__m512i)(bytes)))

static const uint8_t numbers[BLOCK] __attribute__((aligned(BLOCK))) = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
    44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63,
};

INLINE void compressed(uint64_t mask, uint32_t base, uint32_t *places) {
    __m512i all = _mm512_set1_epi32((int)base);
    __m512i set = _mm512_maskz_compress_epi8(mask, _mm512_load_si512(numbers));
#define SIXTEEN(part)                                                                              \
    _mm512_storeu_si512(                                                                           \
        places + 16 * (part),                                                                      \
        _mm512_add_epi32(all, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(set, part))))
    SIXTEEN(0);
    if (__builtin_expect(__builtin_popcountll(mask) > 16, 0)) {
        SIXTEEN(1);
        SIXTEEN(2);
        SIXTEEN(3);
    }
#undef SIXTEEN
}

/* A mask of the first `count` bits, at most 64. */
INLINE uint64_t first(size_t count) { return _bzhi_u64(~0ull, (unsigned)count); }

/* Writes the bytes whose bits are set, without gaps, and returns their number. The bytes after them are
 * overwritten with undefined content, because loads and stores of partial blocks cost more. */
INLINE size_t gather(uint64_t kept, __m512i bytes, uint8_t *place) {
    _mm512_storeu_si512(place, _mm512_maskz_compress_epi8(kept, bytes));
    return (size_t)__builtin_popcountll(kept);
}

INLINE uint64_t equal(__m512i bytes, uint8_t byte) {
    return _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8((char)byte));
}

/* Removes quotes, one block at a time. Among the quotes in a block, odd ones are first and even ones
 * are second. If each first quote is directly followed by its second one, all quotes are pairs, and the
 * first ones are dropped. A first quote without a second one closes the cell. */
static size_t unquote(const uint8_t *bytes, size_t count, uint8_t quote, uint8_t *place,
                      size_t *read) {
    size_t written = 0;
    for (size_t at = 0; at < count;) {
        size_t size = count - at < BLOCK ? count - at : BLOCK;
        __m512i block = _mm512_loadu_si512(bytes + at);
        uint64_t quotes = equal(block, quote) & first(size);
        uint64_t firsts = quotes & multiplied(quotes);
        uint64_t alone = firsts & ~((quotes ^ firsts) >> 1);
        uint64_t kept = first(size) & ~firsts;
        if (alone != 0) {
            size_t last = (size_t)__builtin_ctzll(alone);
            bool closes = at + last + 1 == count || last + 1 < size;
            written += gather(kept & first(last), block, place + written);
            at += last;
            if (closes) {
                *read = at + 1;
                return written;
            }
            /* The second quote can be in the next block. */
        } else {
            written += gather(kept, block, place + written);
            at += size;
        }
    }
    *read = count;
    return written;
}

/* Doubles each byte, and then drops the second copy of every byte except quotes. */
static size_t quote(const uint8_t *bytes, size_t count, uint8_t *place) {
    uint64_t found = 0;
    for (size_t at = 0; at < count && found == 0; at += BLOCK) {
        size_t size = count - at < BLOCK ? count - at : BLOCK;
        __m512i block = _mm512_loadu_si512(bytes + at);
        found = equal(block, ',') | equal(block, '"') | equal(block, '\n') | equal(block, '\r');
        found &= first(size);
        _mm512_storeu_si512(place + at, block);
    }
    if (found == 0) { return count; }
    uint8_t *to = place;
    *to++ = '"';
    for (size_t at = 0; at < count; at += BLOCK / 2) {
        size_t size = count - at < BLOCK / 2 ? count - at : BLOCK / 2;
        __m256i half = _mm256_loadu_si256((const __m256i *)(bytes + at));
        __m512i once = _mm512_cvtepu8_epi16(half);
        __m512i twice = _mm512_or_si512(once, _mm512_slli_epi16(once, 8));
        uint64_t kept = equal(twice, '"') | 0x5555555555555555;
        to += gather(kept & first(2 * size), twice, to);
    }
    *to++ = '"';
    return (size_t)(to - place);
}

#define PREFIX_SUM multiplied
#define PLACES compressed
#define PACK(block, kept, place) gather(kept, (__m512i)*(block), place)
#define REPLACE(block, replaced, from, to)                                                         \
    (*(block) = (bytes64)_mm512_mask_set1_epi8((__m512i)*(block), replaced, (char)(to)))
#define VERSION tabella_scan_avx512
#include "kernel.h"
#pragma clang attribute pop
#endif
