/*
 * The kernel looks at 512 bytes at a time, as 8 blocks of 64. For each block and each byte that
 * matters a comparison gives a mask of 64 bits, bit i for byte i; the rest is arithmetic on masks:
 *
 *   quotes   1 0 0 0 1 0 0      "abc",x      the bits that are quotes
 *   inside   1 1 1 1 0 0 0                   their prefix sums modulo 2: from an opening quote up to
 *                                            its closing one, which is outside
 *
 * That holds if every quote opens or closes. One that stands inside an unquoted field (5" disk) does
 * neither; it is seen as an opening quote that follows neither a separator nor a closing quote. The
 * first such bit of a block is cleared and the block's masks are made again, until none is left.
 *
 * Plain C with clang's vector extensions: the compiler makes a version for each of the machines named
 * in `target_clones`, and the right one is chosen when the library is loaded.
 */
#include "tabella_scan.h"

#include <stdbool.h>
#include <string.h>

enum { BLOCK = 64, BLOCKS = 8, GROUP = BLOCK * BLOCKS };

typedef uint8_t bytes64 __attribute__((vector_size(BLOCK)));
typedef bool bits64 __attribute__((ext_vector_type(BLOCK)));
typedef uint64_t words8 __attribute__((vector_size(BLOCKS * 8)));

#define INLINE static inline __attribute__((always_inline))
/* What chooses runs before ThreadSanitizer does. */
#if defined(__x86_64__) && !__has_feature(thread_sanitizer)
#define EACH_MACHINE __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define EACH_MACHINE
#endif

/* Bit i is set where byte i of the block at `bytes` is `byte`. */
INLINE uint64_t mask_of(const uint8_t *bytes, uint8_t byte) {
    bytes64 block;
    memcpy(&block, bytes, BLOCK);
    bits64 equal = __builtin_convertvector(block == byte, bits64);
    uint64_t mask;
    memcpy(&mask, &equal, sizeof mask);
    return mask;
}

/* The masks of a group of blocks. */
typedef struct {
    uint64_t quotes[BLOCKS] __attribute__((aligned(64)));
    uint64_t ends[BLOCKS] __attribute__((aligned(64)));       /* of records */
    uint64_t separators[BLOCKS] __attribute__((aligned(64))); /* ends and delimiters */
} masks;

/* The bytes that an escape makes plain, of `count` bytes. */
INLINE uint64_t escaped(uint64_t escapes, size_t count, uint64_t *plain) {
    uint64_t found = *plain;
    *plain = 0;
    escapes &= ~found;
    while (escapes != 0) {
        uint64_t first = escapes & -escapes;
        if (first == 1ull << (count - 1)) {
            *plain = 1;
            break;
        }
        found |= first << 1;
        escapes &= ~(first | first << 1);
    }
    return found;
}

/* Bytes that are searched for without asking where: `least` of the differences is zero in each place
 * that has one in any block. A mask costs twice as much. */
INLINE void search(bytes64 *least, const uint8_t *bytes, uint8_t byte) {
    bytes64 block;
    memcpy(&block, bytes, BLOCK);
    *least = __builtin_elementwise_min(*least, block ^ byte);
}

INLINE bool has_zero(const bytes64 *least) { return mask_of((const uint8_t *)least, 0) != 0; }

/* Fills in the masks of `count` bytes, a group or less; `next` is the byte behind them. Returns whether
 * there is a quote, an escape or a CR. */
INLINE bool find(const uint8_t *bytes, size_t count, uint8_t next, tabella_scan_rules rules,
                 unsigned uses, tabella_scan_state *state, masks *found) {
    bytes64 return_least = ~(bytes64){0};
    uint64_t any_quote = 0, any_escape = 0;
    for (size_t at = 0, block = 0; at < count; at += BLOCK, block++) {
        const uint8_t *text = bytes + at;
        found->ends[block] = mask_of(text, '\n');
        found->quotes[block] = uses & TABELLA_SCAN_QUOTE ? mask_of(text, rules.quote) : 0;
        found->separators[block] =
            uses & TABELLA_SCAN_DELIMITER ? mask_of(text, rules.delimiter) : 0;
        any_quote |= found->quotes[block];
        if (uses & TABELLA_SCAN_CARRIAGE_RETURN) { search(&return_least, text, '\r'); }
    }
    bool has_return = uses & TABELLA_SCAN_CARRIAGE_RETURN && has_zero(&return_least);
    /* A CR ends a record unless a line feed follows, which then does. */
    if (has_return) {
        for (size_t at = 0, block = 0; at < count; at += BLOCK, block++) {
            size_t valid = count - at < BLOCK ? count - at : BLOCK;
            uint8_t after = at + BLOCK < count ? bytes[at + BLOCK] : next;
            uint64_t ends = found->ends[block];
            uint64_t feeds = ends >> 1 | (uint64_t)(after == '\n') << (valid - 1);
            found->ends[block] = ends | (mask_of(bytes + at, '\r') & ~feeds);
        }
    }
    if (uses & TABELLA_SCAN_ESCAPE) {
        for (size_t at = 0, block = 0; at < count; at += BLOCK, block++) {
            size_t valid = count - at < BLOCK ? count - at : BLOCK;
            uint64_t escapes = mask_of(bytes + at, rules.escape);
            any_escape |= escapes;
            uint64_t kept = ~escaped(escapes, valid, &state->plain);
            found->quotes[block] &= kept;
            found->separators[block] &= kept;
            found->ends[block] &= kept;
        }
    }
    for (size_t at = 0, block = 0; at < count; at += BLOCK, block++) {
        /* What stands behind the bytes may look like anything. */
        uint64_t within = count - at < BLOCK ? ~(~0ull << (count - at)) : ~0ull;
        found->quotes[block] &= within;
        found->ends[block] &= within;
        found->separators[block] = (found->separators[block] | found->ends[block]) & within;
    }
    return has_return || (any_quote | any_escape) != 0;
}

/* Every bit becomes the sum modulo 2 of the bits up to it. */
INLINE uint64_t prefix_sum(uint64_t word) {
    for (int shift = 1; shift < BLOCK; shift *= 2) { word ^= word << shift; }
    return word;
}

/* Takes what is within quotes out of the masks of `count` bytes, block by block: for groups with
 * quotes that neither open nor close, and for the end of the bytes. */
INLINE void leave_quoted_out_slowly(size_t count, masks *found, tabella_scan_state *state) {
    for (size_t at = 0; at < count; at += BLOCK) {
        size_t block = at / BLOCK;
        uint64_t quotes = found->quotes[block];
        for (;;) {
            uint64_t inside = prefix_sum(quotes) ^ state->inside;
            uint64_t separators = found->separators[block] & ~inside;
            uint64_t closers = quotes & ~inside;
            uint64_t strays = quotes & inside & ~((separators | closers) << 1 | state->opens);
            if (strays == 0) {
                size_t last = count - at < BLOCK ? count - at - 1 : BLOCK - 1;
                state->opens = (separators | closers) >> last & 1;
                found->separators[block] = separators;
                found->ends[block] &= ~inside;
                state->inside = (uint64_t)((int64_t)inside >> 63);
                break;
            }
            quotes ^= strays & -strays;
            state->strays++;
        }
    }
}

/* Each word moved on by `by` places, those that come first filled from `before`, the words that
 * stand before them. */
#define MOVED(words, before, by)                                                                    \
    __builtin_shufflevector(before, words, 8 - (by), 9 - (by), 10 - (by), 11 - (by), 12 - (by),     \
                            13 - (by), 14 - (by), 15 - (by))

/* The same for a whole group, its eight blocks at once, as eight words of a vector. What goes from
 * block to block is then no loop but a step between neighbours:
 *
 *   odd      all ones for a block with an odd number of quotes, summed up modulo 2 over all blocks
 *            in three steps (by one, two, four); the block behind such a sum begins inside
 *   marks    what a quote may follow; the last bit of a block counts for the next one's first
 */
INLINE void leave_quoted_out(masks *found, tabella_scan_state *state) {
    const words8 none = {0};
    words8 quotes, separators, ends;
    memcpy(&quotes, found->quotes, sizeof quotes);
    memcpy(&separators, found->separators, sizeof separators);
    memcpy(&ends, found->ends, sizeof ends);
    words8 inside = quotes;
    for (int shift = 1; shift < BLOCK; shift *= 2) { inside ^= inside << shift; }
    words8 odd = none - (inside >> 63);
    odd ^= MOVED(odd, none, 1);
    odd ^= MOVED(odd, none, 2);
    odd ^= MOVED(odd, none, 4);
    inside ^= MOVED(odd, none, 1) ^ state->inside;
    words8 before = {0, 0, 0, 0, 0, 0, 0, state->opens << 63};
    words8 marks = (separators | quotes) & ~inside;
    words8 strays = quotes & inside & ~(marks << 1 | MOVED(marks, before, 1) >> 63);
    if (__builtin_expect(__builtin_reduce_or(strays) != 0, 0)) {
        leave_quoted_out_slowly(GROUP, found, state);
        return;
    }
    separators &= ~inside;
    ends &= ~inside;
    memcpy(found->separators, &separators, sizeof separators);
    memcpy(found->ends, &ends, sizeof ends);
    state->opens = marks[BLOCKS - 1] >> 63;
    state->inside = 0 - (inside[BLOCKS - 1] >> 63);
}

/* Fills in the masks of a group as if nothing in it meant more than itself, and returns whether that is
 * so: it has no quote, no escape and no CR. */
INLINE bool find_plain(const uint8_t *bytes, tabella_scan_rules rules, unsigned uses,
                       bool delimiters, masks *found) {
    bytes64 least = ~(bytes64){0};
    for (size_t at = 0, block = 0; at < GROUP; at += BLOCK, block++) {
        const uint8_t *text = bytes + at;
        uint64_t ends = mask_of(text, '\n');
        found->ends[block] = ends;
        found->separators[block] = delimiters ? ends | mask_of(text, rules.delimiter) : ends;
        if (uses & TABELLA_SCAN_QUOTE) { search(&least, text, rules.quote); }
        if (uses & TABELLA_SCAN_ESCAPE) { search(&least, text, rules.escape); }
        if (uses & TABELLA_SCAN_CARRIAGE_RETURN) { search(&least, text, '\r'); }
    }
    return !has_zero(&least);
}

/* The masks of the bytes at `at`: a group, or what is left. Returns how many bytes that is. Only the
 * ends of records are found unless `delimiters` are wanted too.
 *
 * A group that needs no more than finding is done with less; but where the one before was `special`
 * this one will be too, and is not looked at for that. */
INLINE size_t look(const uint8_t *bytes, size_t at, size_t count, tabella_scan_rules rules,
                   unsigned uses, bool delimiters, tabella_scan_state *state, bool *special,
                   masks *found) {
    if (__builtin_expect(count - at >= GROUP, 1)) {
        const uint8_t *group = bytes + at;
        bool wanted = delimiters && (uses & TABELLA_SCAN_DELIMITER);
        if (!*special && !(state->inside | state->plain)
            && find_plain(group, rules, uses, wanted, found)) {
            uint8_t last = group[GROUP - 1];
            state->opens = last == '\n'
                           || ((uses & TABELLA_SCAN_DELIMITER) && last == rules.delimiter);
            return GROUP;
        }
        uint8_t next = count - at > GROUP ? group[GROUP] : 0;
        *special = find(group, GROUP, next, rules, uses, state, found);
        if (uses & TABELLA_SCAN_QUOTE) { leave_quoted_out(found, state); }
        return GROUP;
    }
    uint8_t padded[GROUP] __attribute__((aligned(BLOCK))) = {0};
    memcpy(padded, bytes + at, count - at);
    memset(found, 0, sizeof *found);
    find(padded, count - at, 0, rules, uses, state, found);
    if (uses & TABELLA_SCAN_QUOTE) { leave_quoted_out_slowly(count - at, found, state); }
    return count - at;
}

INLINE size_t highest(uint64_t word) { return 63 - (size_t)__builtin_clzll(word); }

INLINE size_t count_records(const uint8_t *bytes, size_t count, tabella_scan_rules rules,
                            unsigned uses, tabella_scan_state *state, size_t *last) {
    masks found;
    tabella_scan_state local = *state;
    bool special = false;
    size_t total = 0, group = 0;
    uint64_t ends[BLOCKS] = {0};
    for (size_t at = 0; at < count;) {
        size_t seen = look(bytes, at, count, rules, uses, false, &local, &special, &found);
        size_t here = 0;
        for (int block = 0; block < BLOCKS; block++) {
            here += (size_t)__builtin_popcountll(found.ends[block]);
        }
        if (here != 0) {
            memcpy(ends, found.ends, sizeof ends);
            group = at;
        }
        total += here;
        at += seen;
    }
    *state = local;
    for (size_t block = BLOCKS; total != 0 && block-- > 0;) {
        if (ends[block] != 0) {
            *last = group + block * BLOCK + highest(ends[block]);
            break;
        }
    }
    return total;
}

INLINE tabella_scan_found find_separators(const uint8_t *bytes, size_t count,
                                          tabella_scan_rules rules, unsigned uses,
                                          tabella_scan_state *state, uint32_t *separators,
                                          uint32_t *records, size_t room) {
    masks found;
    tabella_scan_state local = *state;
    bool special = false;
    tabella_scan_found total = {0, 0, 0};
    while (total.scanned < count && total.separators + GROUP <= room) {
        size_t at = total.scanned;
        total.scanned += look(bytes, at, count, rules, uses, true, &local, &special, &found);
        for (size_t block = 0; block < BLOCKS; block++) {
            uint32_t base = (uint32_t)(at + block * BLOCK);
            uint64_t rest = found.separators[block];
            uint32_t *next = separators + total.separators;
            for (uint64_t ends = found.ends[block]; ends != 0; ends &= ends - 1) {
                uint64_t upto = ends ^ (ends - 1);
                records[total.records++] =
                    (uint32_t)total.separators + (uint32_t)__builtin_popcountll(rest & upto);
            }
            total.separators += (size_t)__builtin_popcountll(rest);
            /* Four at a time, needed or not: a loop of unknown length costs a wrong guess. */
            while (rest != 0) {
                for (int i = 0; i < 4; i++) {
                    next[i] = base + (uint32_t)__builtin_ctzg(rest, BLOCK);
                    rest &= rest - 1;
                }
                next += 4;
            }
        }
    }
    *state = local;
    return total;
}

INLINE tabella_scan_found find_ends(const uint8_t *bytes, size_t count, tabella_scan_rules rules,
                                    unsigned uses, tabella_scan_state *state, uint32_t *ends,
                                    size_t room) {
    masks found;
    tabella_scan_state local = *state;
    bool special = false;
    tabella_scan_found total = {0, 0, 0};
    while (total.scanned < count && total.records + GROUP <= room) {
        size_t at = total.scanned;
        total.scanned += look(bytes, at, count, rules, uses, false, &local, &special, &found);
        for (size_t block = 0; block < BLOCKS; block++) {
            uint32_t base = (uint32_t)(at + block * BLOCK);
            for (uint64_t rest = found.ends[block]; rest != 0; rest &= rest - 1) {
                ends[total.records++] = base + (uint32_t)__builtin_ctzll(rest);
            }
        }
    }
    total.separators = total.records;
    *state = local;
    return total;
}

/* The compiler makes a loop of its own of each set of rules that is common. */
#define LINES 0u
#define PLAIN (TABELLA_SCAN_DELIMITER | TABELLA_SCAN_CARRIAGE_RETURN)
#define QUOTED (PLAIN | TABELLA_SCAN_QUOTE)

EACH_MACHINE
size_t tabella_scan_count(const uint8_t *bytes, size_t count, tabella_scan_rules rules,
                          tabella_scan_state *state, size_t *last) {
    switch (rules.uses) {
    case LINES: return count_records(bytes, count, rules, LINES, state, last);
    case QUOTED: return count_records(bytes, count, rules, QUOTED, state, last);
    default: return count_records(bytes, count, rules, rules.uses, state, last);
    }
}

EACH_MACHINE
tabella_scan_found tabella_scan_separators(const uint8_t *bytes, size_t count,
                                           tabella_scan_rules rules, tabella_scan_state *state,
                                           uint32_t *separators, uint32_t *records, size_t room) {
    switch (rules.uses) {
    case LINES:
        return find_separators(bytes, count, rules, LINES, state, separators, records, room);
    case QUOTED:
        return find_separators(bytes, count, rules, QUOTED, state, separators, records, room);
    default:
        return find_separators(bytes, count, rules, rules.uses, state, separators, records, room);
    }
}

EACH_MACHINE
tabella_scan_found tabella_scan_ends(const uint8_t *bytes, size_t count, tabella_scan_rules rules,
                                     tabella_scan_state *state, uint32_t *ends, size_t room) {
    switch (rules.uses) {
    case LINES: return find_ends(bytes, count, rules, LINES, state, ends, room);
    case QUOTED: return find_ends(bytes, count, rules, QUOTED, state, ends, room);
    default: return find_ends(bytes, count, rules, rules.uses, state, ends, room);
    }
}

EACH_MACHINE
int tabella_scan_has(const uint8_t *bytes, size_t count, uint8_t a, uint8_t b, uint8_t c,
                     uint8_t d) {
    size_t at = 0;
    for (; at + GROUP <= count; at += GROUP) {
        uint64_t any = 0;
        for (int block = 0; block < BLOCKS; block++) {
            const uint8_t *text = bytes + at + block * BLOCK;
            any |= mask_of(text, a) | mask_of(text, b) | mask_of(text, c) | mask_of(text, d);
        }
        if (any != 0) { return 1; }
    }
    for (; at < count; at++) {
        if (bytes[at] == a || bytes[at] == b || bytes[at] == c || bytes[at] == d) { return 1; }
    }
    return 0;
}
