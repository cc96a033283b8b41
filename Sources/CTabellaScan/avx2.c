/* The kernel for x86-64 since 2013. It processes 32 bytes at a time and computes sums modulo 2 by a
 * carry-less multiplication. */
#if defined(__x86_64__)
#include "versions.h"

#include <immintrin.h>

#pragma clang attribute push(                                                                      \
    __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt,pclmul"))), apply_to = function)

INLINE uint64_t multiplied(uint64_t word) {
    typedef long long pair __attribute__((vector_size(16)));
    pair product =
        __builtin_ia32_pclmulqdq128((pair){(long long)word, 0}, (pair){-1, -1}, 0);
    return (uint64_t)product[0];
}

/* Looks up each byte, which is below 16, in a table of 16 bytes. */
#define LOOK_UP(found, table, bytes)                                                               \
    do {                                                                                           \
        __m256i halves[2], entries = _mm256_broadcastsi128_si256(                                  \
                               _mm_loadu_si128((const __m128i *)(table)));                         \
        bytes64 keys = (bytes);                                                                    \
        memcpy(halves, &keys, sizeof halves);                                                      \
        halves[0] = _mm256_shuffle_epi8(entries, halves[0]);                                       \
        halves[1] = _mm256_shuffle_epi8(entries, halves[1]);                                       \
        memcpy((found), halves, sizeof halves);                                                    \
    } while (0)

#define PREFIX_SUM multiplied
#define VERSION tabella_scan_avx2
#include "cells.h"
#include "kernel.h"
#pragma clang attribute pop
#endif
