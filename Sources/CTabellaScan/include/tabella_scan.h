/*
 * tabella_scan.h: the scanning kernel. It receives bytes and returns the offsets of separators. It does
 * not know files or columns and allocates no memory. Never installed.
 *
 * docs/providers/csv.md has the rules. In short, a record ends at LF, CRLF or CR outside quotes.
 * Delimiters outside quotes divide a record into fields. A quote opens only at the start of a field, or
 * directly after a closing quote. An escape makes the next byte literal, inside and outside quotes.
 */
#ifndef TABELLA_SCAN_H
#define TABELLA_SCAN_H

#include <stddef.h>
#include <stdint.h>

/* The separators. For plain lines, no bit is set in `uses`, and only LF is a separator. */
typedef struct {
    uint8_t delimiter;
    uint8_t quote;
    uint8_t escape;
    uint8_t uses; /* TABELLA_SCAN_* */
} tabella_scan_rules;

#define TABELLA_SCAN_DELIMITER 1u
#define TABELLA_SCAN_QUOTE 2u
#define TABELLA_SCAN_ESCAPE 4u
#define TABELLA_SCAN_CARRIAGE_RETURN 8u /* a CR alone also ends a record */

/* The state that a scan needs from the bytes in front of its own. */
typedef struct {
    uint64_t inside; /* all ones if these bytes end within quotes, else 0 */
    uint64_t opens;  /* 1 if a quote as the next byte would open, or reopen, a field */
    uint64_t plain;  /* 1 if an escape makes the next byte literal */
    uint64_t strays; /* the number of literal quotes so far */
    /* Line ends within quotes; only tabella_scan_separators counts them, in blocks of 64 bytes. */
    uint64_t lines;      /* since the beginning of the last block in which a record ended */
    uint64_t most_lines; /* at least as many as in any one record */
    /* Closing quotes; only tabella_scan_skip and tabella_scan_separators examine them. */
    uint64_t closed; /* 1 if the last byte is one */
    uint64_t loose;  /* not 0 if a byte other than a separator or a CR followed one */
} tabella_scan_state;

/* The state at the start of a record. */
static inline tabella_scan_state tabella_scan_start(void) {
    tabella_scan_state state = {0, 1, 0, 0, 0, 0, 0, 0};
    return state;
}

/* Counts the records that end in the bytes. `*last` receives the offset of the last end (its LF or CR).
 * If no record ends, `*last` does not change. `*state` becomes the state after the bytes.
 *
 * The last byte must not be a CR unless the text ends there, because it could be half of a CRLF. */
size_t tabella_scan_count(const uint8_t *_Nonnull bytes, size_t count, tabella_scan_rules rules,
                          tabella_scan_state *_Nonnull state, size_t *_Nonnull last);

/* Counts in the same way, and also notes whether bytes follow a closing quote (`loose`). */
size_t tabella_scan_skip(const uint8_t *_Nonnull bytes, size_t count, tabella_scan_rules rules,
                         tabella_scan_state *_Nonnull state, size_t *_Nonnull last);

/* The result of tabella_scan_separators. */
typedef struct {
    size_t separators;
    size_t records;
    size_t scanned; /* the number of scanned bytes: all, or fewer if a buffer was full */
} tabella_scan_found;

/* Finds every separator in bytes that start with a record. `separators` receives their offsets.
 * `records` receives, for each record, the number of separators up to and including its end.
 *
 * `room` is the size of both buffers in entries, at least 512. The scan stops early if another 512
 * entries might not fit. The last byte must not be a CR unless the text ends there. */
tabella_scan_found tabella_scan_separators(const uint8_t *_Nonnull bytes, size_t count,
                                           tabella_scan_rules rules,
                                           tabella_scan_state *_Nonnull state,
                                           uint32_t *_Nonnull separators,
                                           uint32_t *_Nonnull records, size_t room);

/* Finds only the ends of records. `ends` receives the offset of each record's last byte, its LF or CR.
 * `room` is as above. Separators are not counted. */
tabella_scan_found tabella_scan_ends(const uint8_t *_Nonnull bytes, size_t count,
                                     tabella_scan_rules rules,
                                     tabella_scan_state *_Nonnull state, uint32_t *_Nonnull ends,
                                     size_t room);

/* Whether any of four bytes occurs. The four bytes need not differ. */
int tabella_scan_has(const uint8_t *_Nonnull bytes, size_t count, uint8_t a, uint8_t b, uint8_t c,
                     uint8_t d);

/* A text to search for. */
typedef struct {
    const uint8_t *_Nonnull text; /* if `folds`, with its ASCII letters in lower case */
    size_t count;                 /* at least 1 */
    size_t first, second;         /* the indices of the two bytes that are compared first, in order */
    int folds;                    /* whether the case of ASCII letters is ignored */
} tabella_scan_text;

/* Texts to search for at the same time. If there are several, the three bytes of each from its index
 * `first` on are compared first: bit i of a byte in the tables belongs to the texts i, i + 8, and so on. */
#define TABELLA_SCAN_COMPARED 3
typedef struct {
    const tabella_scan_text *_Nonnull texts;
    size_t count;                            /* at least 1 */
    size_t shortest;                         /* the number of bytes of the shortest text */
    size_t furthest;                         /* the greatest `first` of a text */
    uint8_t low[TABELLA_SCAN_COMPARED][16];  /* by the lower four bits of each compared byte */
    uint8_t high[TABELLA_SCAN_COMPARED][16]; /* by its upper four bits */
} tabella_scan_texts;

/* Prepares a search for texts. They must exist as long as the result is used. */
tabella_scan_texts tabella_scan_prepare(const tabella_scan_text *_Nonnull texts, size_t count);

/* The offset of the first occurrence of any text; `count` if there is none. The time is proportional to
 * the bytes if the compared bytes of each text are rare together. */
size_t tabella_scan_find_any(const uint8_t *_Nonnull bytes, size_t count,
                             const tabella_scan_texts *_Nonnull texts);

/* Whether the bytes are UTF-8. */
int tabella_scan_is_utf8(const uint8_t *_Nonnull bytes, size_t count);

/* Prefetches bytes that will be read soon. */
static inline void tabella_scan_prefetch(const void *_Nonnull bytes, size_t count) {
    if (count > 256) count = 256;
    for (size_t at = 0; at < count; at += 64) __builtin_prefetch((const char *)bytes + at);
    // The last byte can be in another cache line if the first byte is not at the start of one.
    if (count > 0) __builtin_prefetch((const char *)bytes + count - 1);
}

/* Selects a version for tests and measurements: 0 for all machines, 1 for AVX2, 2 for AVX-512. If this
 * machine does not support it, selects the best supported version. Returns the selected version. */
unsigned tabella_scan_use(unsigned version);

/*
 * Single cells, one block at a time. TABELLA_SCAN_SLACK bytes after the `count` bytes must be readable.
 * As many bytes after the output can be overwritten with undefined content.
 */
#define TABELLA_SCAN_SLACK 64

/* Removes the quotes from bytes after an opening quote. Copies bytes to `place` up to the closing quote
 * or the end, and copies two adjacent quotes as one. Returns the number of copied bytes. `*read`
 * receives the number of bytes read, including the closing quote. */
size_t tabella_scan_unquote(const uint8_t *_Nonnull bytes, size_t count, uint8_t quote,
                            uint8_t *_Nonnull place, size_t *_Nonnull read);

/* Writes the cells of a record, with `separator` between them, and returns the number of written bytes,
 * at most `count`. Every quote in the record must open or close a cell or be one of two adjacent quotes. */
size_t tabella_scan_join(const uint8_t *_Nonnull bytes, size_t count, uint8_t delimiter, uint8_t quote,
                         uint8_t separator, uint8_t *_Nonnull place);

/* Writes a cell as in RFC 4180 (2.6, 2.7). A cell with a comma, a quote, an LF or a CR is enclosed in
 * quotes, and its own quotes are doubled. Returns the number of bytes, at most 2 + 2 * count. */
size_t tabella_scan_quote(const uint8_t *_Nonnull bytes, size_t count, uint8_t *_Nonnull place);

#endif
