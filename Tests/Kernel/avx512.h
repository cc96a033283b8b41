/*
 * The instructions of AVX-512 that Sources/CTabellaScan/avx512.c uses, in plain C, one element at a time
 * (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2). Tests/Kernel/run compiles
 * the kernel with these, so that every x86-64 machine with AVX2 can test it.
 */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

typedef union {
    __m512i all;
    uint8_t u8[64];
    uint16_t u16[32];
    uint32_t u32[16];
} elements;

#define MODEL static inline __attribute__((always_inline, unused, target("avx2")))

MODEL __m512i model_load(const void *bytes) {
    elements to;
    memcpy(&to, bytes, sizeof to);
    return to.all;
}

MODEL void model_store(void *bytes, __m512i from) { memcpy(bytes, &from, sizeof from); }

MODEL __m512i model_set_u8(char value) {
    elements to;
    memset(&to, value, sizeof to);
    return to.all;
}

MODEL __m512i model_set_u32(int value) {
    elements to;
    for (int i = 0; i < 16; i++) { to.u32[i] = (uint32_t)value; }
    return to.all;
}

MODEL __m512i model_mask_set_u8(__m512i from, uint64_t mask, char value) {
    elements to = {from};
    for (int i = 0; i < 64; i++) {
        if (mask >> i & 1) { to.u8[i] = (uint8_t)value; }
    }
    return to.all;
}

MODEL __m512i model_compress_u8(uint64_t mask, __m512i from) {
    elements source = {from}, to = {0};
    for (int i = 0, next = 0; i < 64; i++) {
        if (mask >> i & 1) { to.u8[next++] = source.u8[i]; }
    }
    return to.all;
}

MODEL __m512i model_add_u32(__m512i a, __m512i b) {
    elements x = {a}, y = {b};
    for (int i = 0; i < 16; i++) { x.u32[i] += y.u32[i]; }
    return x.all;
}

MODEL __m512i model_or(__m512i a, __m512i b) {
    elements x = {a}, y = {b};
    for (int i = 0; i < 64; i++) { x.u8[i] |= y.u8[i]; }
    return x.all;
}

MODEL __m512i model_shift_left_u16(__m512i from, unsigned count) {
    elements x = {from};
    for (int i = 0; i < 32; i++) { x.u16[i] = (uint16_t)(x.u16[i] << count); }
    return x.all;
}

MODEL __m128i model_part(__m512i from, int part) {
    __m128i to;
    memcpy(&to, (const uint8_t *)&from + 16 * part, sizeof to);
    return to;
}

MODEL __m512i model_repeat(__m128i from) {
    elements to;
    for (int part = 0; part < 4; part++) { memcpy(to.u8 + 16 * part, &from, sizeof from); }
    return to.all;
}

MODEL __m512i model_widen_to_u32(__m128i from) {
    uint8_t bytes[16];
    elements to;
    memcpy(bytes, &from, sizeof bytes);
    for (int i = 0; i < 16; i++) { to.u32[i] = bytes[i]; }
    return to.all;
}

MODEL __m512i model_widen_to_u16(__m256i from) {
    uint8_t bytes[32];
    elements to;
    memcpy(bytes, &from, sizeof bytes);
    for (int i = 0; i < 32; i++) { to.u16[i] = bytes[i]; }
    return to.all;
}

MODEL uint64_t model_equal_u8(__m512i a, __m512i b) {
    elements x = {a}, y = {b};
    uint64_t mask = 0;
    for (int i = 0; i < 64; i++) { mask |= (uint64_t)(x.u8[i] == y.u8[i]) << i; }
    return mask;
}

/* Each part of 16 bytes is looked up in the same part of the table. */
MODEL __m512i model_shuffle_u8(__m512i table, __m512i indices) {
    elements from = {table}, at = {indices}, to;
    for (int i = 0; i < 64; i++) {
        to.u8[i] = at.u8[i] & 0x80 ? 0 : from.u8[(i & ~15) + (at.u8[i] & 15)];
    }
    return to.all;
}

/* The names of Intel's functions. Some are macros of the compiler. */
#undef _mm512_extracti32x4_epi32
#undef _mm512_cmpeq_epi8_mask
#define _mm512_load_si512 model_load
#define _mm512_loadu_si512 model_load
#define _mm512_storeu_si512 model_store
#define _mm512_set1_epi8 model_set_u8
#define _mm512_set1_epi32 model_set_u32
#define _mm512_mask_set1_epi8 model_mask_set_u8
#define _mm512_maskz_compress_epi8 model_compress_u8
#define _mm512_add_epi32 model_add_u32
#define _mm512_or_si512 model_or
#define _mm512_slli_epi16 model_shift_left_u16
#define _mm512_extracti32x4_epi32 model_part
#define _mm512_broadcast_i32x4 model_repeat
#define _mm512_cvtepu8_epi32 model_widen_to_u32
#define _mm512_cvtepu8_epi16 model_widen_to_u16
#define _mm512_cmpeq_epi8_mask model_equal_u8
#define _mm512_shuffle_epi8 model_shuffle_u8
