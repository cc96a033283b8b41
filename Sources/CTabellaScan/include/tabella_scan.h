/*
 * tabella_scan.h: the scanning kernel. Bytes in, places of separators out; it knows no files, no
 * columns, no memory. Never installed.
 *
 * The rules are those of docs/providers/csv.md. In short: a record ends at LF, CRLF or CR and its
 * fields at the delimiter, outside quotes; a quote opens only at the start of a field, or directly
 * behind a closing one; an escape makes the byte behind it plain, in and out of quotes.
 */
#ifndef TABELLA_SCAN_H
#define TABELLA_SCAN_H

#include <stddef.h>
#include <stdint.h>

/* What separates. Text in lines has line feeds only: no bit set in `uses`. */
typedef struct {
    uint8_t delimiter;
    uint8_t quote;
    uint8_t escape;
    uint8_t uses; /* TABELLA_SCAN_* */
} tabella_scan_rules;

#define TABELLA_SCAN_DELIMITER 1u
#define TABELLA_SCAN_QUOTE 2u
#define TABELLA_SCAN_ESCAPE 4u
#define TABELLA_SCAN_CARRIAGE_RETURN 8u /* a CR alone ends a record too */

/* What a scan must know of the bytes before its own. */
typedef struct {
    uint64_t inside; /* all ones if they end within quotes, else 0 */
    uint64_t opens;  /* 1 if a quote would open, or open again, as the next byte */
    uint64_t plain;  /* 1 if an escape makes the next byte plain */
    uint64_t strays; /* how many quotes were found to be plain, so far */
} tabella_scan_state;

/* The state at the start of a record. */
static inline tabella_scan_state tabella_scan_start(void) {
    tabella_scan_state state = {0, 1, 0, 0};
    return state;
}

/* The number of records that end in the bytes. `*last` is where the last of them ends (at its LF or
 * CR); it is left alone if none does. `*state` goes on behind the bytes.
 *
 * The last byte must not be a CR, unless nothing follows: it could be half of a CRLF. */
size_t tabella_scan_count(const uint8_t *_Nonnull bytes, size_t count, tabella_scan_rules rules,
                          tabella_scan_state *_Nonnull state, size_t *_Nonnull last);

/* What tabella_scan_separators found. */
typedef struct {
    size_t separators;
    size_t records;
    size_t scanned; /* bytes: all, or up to where there was no more room */
} tabella_scan_found;

/* Finds every separator of bytes that start with a record: `separators` gets their places, and
 * `records`, for each record, the number of separators up to and with its end.
 *
 * Stops early when less than 64 places are left of `room`, which both have. As above, the last byte
 * must not be a CR, unless nothing follows. */
tabella_scan_found tabella_scan_separators(const uint8_t *_Nonnull bytes, size_t count,
                                           tabella_scan_rules rules,
                                           tabella_scan_state *_Nonnull state,
                                           uint32_t *_Nonnull separators,
                                           uint32_t *_Nonnull records, size_t room);

/*
 * For single cells, which are short: inline, because a call would cost as much as the work, and 16
 * bytes at a time. Up to 15 bytes behind `count` are read, and written; they mean nothing.
 */
typedef uint8_t tabella_scan_bytes __attribute__((vector_size(16)));

static inline unsigned tabella_scan_mask(tabella_scan_bytes found) {
    typedef _Bool bits __attribute__((ext_vector_type(16)));
    bits set = __builtin_convertvector(found != 0, bits);
    uint16_t mask;
    __builtin_memcpy(&mask, &set, sizeof mask);
    return mask;
}

/* Copies bytes up to the first `stop`, which is not copied, and returns how many. */
static inline size_t tabella_scan_copy(const uint8_t *_Nonnull bytes, size_t count, uint8_t stop,
                                       uint8_t *_Nonnull place) {
    for (size_t at = 0; at < count; at += 16) {
        tabella_scan_bytes block;
        __builtin_memcpy(&block, bytes + at, sizeof block);
        __builtin_memcpy(place + at, &block, sizeof block);
        unsigned mask = tabella_scan_mask((tabella_scan_bytes)(block == stop));
        if (mask != 0) {
            size_t found = at + (size_t)__builtin_ctz(mask);
            return found < count ? found : count;
        }
    }
    return count;
}

/* Finds the ends of records only: `ends` gets the place of each one's last byte, its LF or CR. Stops
 * early when there is no room for those of another 512 bytes; its `separators` are as many as its
 * `records`. */
tabella_scan_found tabella_scan_ends(const uint8_t *_Nonnull bytes, size_t count,
                                     tabella_scan_rules rules,
                                     tabella_scan_state *_Nonnull state, uint32_t *_Nonnull ends,
                                     size_t room);

/* Whether any of four bytes occurs in a cell. */
static inline int tabella_scan_cell_has(const uint8_t *_Nonnull bytes, size_t count, uint8_t a,
                                        uint8_t b, uint8_t c, uint8_t d) {
    for (size_t at = 0; at < count; at += 16) {
        tabella_scan_bytes block;
        __builtin_memcpy(&block, bytes + at, sizeof block);
        unsigned mask = tabella_scan_mask((tabella_scan_bytes)(
            (block == a) | (block == b) | (block == c) | (block == d)));
        if (count - at < 16) { mask &= (1u << (count - at)) - 1; }
        if (mask != 0) { return 1; }
    }
    return 0;
}

/* Finds the ends of records only: `ends` gets the place of each one's last byte, its LF or CR. Stops
 * early when there is no room for those of another 512 bytes; its `separators` are as many as its
 * `records`. */
tabella_scan_found tabella_scan_ends(const uint8_t *_Nonnull bytes, size_t count,
                                     tabella_scan_rules rules,
                                     tabella_scan_state *_Nonnull state, uint32_t *_Nonnull ends,
                                     size_t room);

/* Whether any of four bytes occurs; the same byte may be given twice. */
int tabella_scan_has(const uint8_t *_Nonnull bytes, size_t count, uint8_t a, uint8_t b, uint8_t c,
                     uint8_t d);

#endif
