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
    uint64_t lines;  /* how many line ends tabella_scan_separators found within quotes, so far */
} tabella_scan_state;

/* The state at the start of a record. */
static inline tabella_scan_state tabella_scan_start(void) {
    tabella_scan_state state = {0, 1, 0, 0, 0};
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
 * `room` is how many places both have, at least 512: stops early where another 512 bytes might not fit.
 * As above, the last byte must not be a CR, unless nothing follows. */
tabella_scan_found tabella_scan_separators(const uint8_t *_Nonnull bytes, size_t count,
                                           tabella_scan_rules rules,
                                           tabella_scan_state *_Nonnull state,
                                           uint32_t *_Nonnull separators,
                                           uint32_t *_Nonnull records, size_t room);

/* Finds the ends of records only: `ends` gets the place of each one's last byte, its LF or CR. `room` is
 * as above; no separators are counted. */
tabella_scan_found tabella_scan_ends(const uint8_t *_Nonnull bytes, size_t count,
                                     tabella_scan_rules rules,
                                     tabella_scan_state *_Nonnull state, uint32_t *_Nonnull ends,
                                     size_t room);

/* Whether any of four bytes occurs; the same byte may be given twice. */
int tabella_scan_has(const uint8_t *_Nonnull bytes, size_t count, uint8_t a, uint8_t b, uint8_t c,
                     uint8_t d);

/* Whether bytes are UTF-8. */
int tabella_scan_is_utf8(const uint8_t *_Nonnull bytes, size_t count);

/* Has bytes brought near that are read soon. */
static inline void tabella_scan_prefetch(const void *_Nonnull bytes, size_t count) {
    if (count > 256) count = 256;
    for (size_t at = 0; at < count; at += 64) __builtin_prefetch((const char *)bytes + at);
    // Which is beyond those, if the first one is not where a line of memory begins.
    if (count > 0) __builtin_prefetch((const char *)bytes + count - 1);
}

/* For tests and measurements: makes all of these use another version, 0 for any machine, 1 for AVX2, 2
 * for AVX-512; or the best that this machine has, if that is less. Returns which. */
unsigned tabella_scan_use(unsigned version);

/*
 * Single cells, a block at a time: TABELLA_SCAN_SLACK bytes behind the `count` bytes may be read, and as
 * many behind what is written overwritten; they mean nothing.
 */
#define TABELLA_SCAN_SLACK 64

/* Takes the quotes out of what follows an opening one: copies bytes to `place`, of two quotes that follow
 * each other one, up to one that stands alone and closes, or to the end, and returns how many. `*read` is
 * how many were read, with the closing one. */
size_t tabella_scan_unquote(const uint8_t *_Nonnull bytes, size_t count, uint8_t quote,
                            uint8_t *_Nonnull place, size_t *_Nonnull read);

/* Writes a cell as RFC 4180 has it (2.6, 2.7): in quotes, with those in it twice, if it has a comma, a
 * quote, an LF or a CR. Returns how many bytes that took, at most 2 + 2 * count. */
size_t tabella_scan_quote(const uint8_t *_Nonnull bytes, size_t count, uint8_t *_Nonnull place);

#endif
