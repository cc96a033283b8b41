/*
 * Quoting and unquoting of single cells, which are short, 16 bytes at a time. base.c and avx2.c include
 * this file. Every byte that is read is also copied, even if it is not needed, because moves of a fixed
 * size cost less than a call.
 */
#include "versions.h"

typedef uint8_t bytes16 __attribute__((vector_size(16)));

INLINE unsigned mask16(const bytes16 *answers) {
    typedef bool bits16 __attribute__((ext_vector_type(16)));
    bits16 set = __builtin_convertvector(*answers != 0, bits16);
    uint16_t mask;
    memcpy(&mask, &set, sizeof mask);
    return mask;
}

/* Copies bytes up to the first `stop` and returns their number. `stop` itself does not count. */
INLINE size_t copy(const uint8_t *bytes, size_t count, uint8_t stop, uint8_t *place) {
    for (size_t at = 0; at < count; at += 16) {
        bytes16 block;
        memcpy(&block, bytes + at, sizeof block);
        memcpy(place + at, &block, sizeof block);
        bytes16 equal = (bytes16)(block == stop);
        unsigned mask = mask16(&equal);
        if (mask != 0) {
            size_t found = at + (size_t)__builtin_ctz(mask);
            return found < count ? found : count;
        }
    }
    return count;
}

INLINE bool needs_quotes(const uint8_t *bytes, size_t count) {
    for (size_t at = 0; at < count; at += 16) {
        bytes16 block;
        memcpy(&block, bytes + at, sizeof block);
        bytes16 found = (bytes16)((block == ',') | (block == '"') | (block == '\n') | (block == '\r'));
        unsigned mask = mask16(&found);
        if (count - at < 16) { mask &= (1u << (count - at)) - 1; }
        if (mask != 0) { return true; }
    }
    return false;
}

/* Copies the bytes between quotes. The byte after a quote determines the meaning of the quote. */
static size_t unquote(const uint8_t *bytes, size_t count, uint8_t quote, uint8_t *place,
                      size_t *read) {
    size_t at = 0, written = 0;
    for (;;) {
        size_t run = copy(bytes + at, count - at, quote, place + written);
        written += run;
        at += run + 1;
        if (at >= count || bytes[at] != quote) {
            *read = at < count ? at : count;
            return written;
        }
        place[written++] = quote;
        at++;
    }
}

static size_t quote(const uint8_t *bytes, size_t count, uint8_t *place) {
    if (!needs_quotes(bytes, count)) { return copy(bytes, count, '"', place); }
    size_t at = 0, written = 0;
    place[written++] = '"';
    for (;;) {
        size_t run = copy(bytes + at, count - at, '"', place + written);
        at += run;
        written += run;
        place[written++] = '"';
        if (at == count) { return written; }
        place[written++] = '"';
        at++;
    }
}
