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
#if defined(__x86_64__)
#define EACH_MACHINE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
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
    uint64_t ends[BLOCKS];       /* of records */
    uint64_t separators[BLOCKS]; /* ends and delimiters */
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

/* Fills in the masks of `count` bytes, a group or less; `next` is the byte behind them. */
INLINE void find(const uint8_t *bytes, size_t count, uint8_t next, tabella_scan_rules rules,
                 unsigned uses, tabella_scan_state *state, masks *found) {
    for (size_t at = 0; at < count; at += BLOCK) {
        const uint8_t *text = bytes + at;
        size_t valid = count - at < BLOCK ? count - at : BLOCK;
        uint64_t ends = mask_of(text, '\n');
        uint64_t quotes = uses & TABELLA_SCAN_QUOTE ? mask_of(text, rules.quote) : 0;
        uint64_t delimiters = uses & TABELLA_SCAN_DELIMITER ? mask_of(text, rules.delimiter) : 0;
        if (uses & TABELLA_SCAN_CARRIAGE_RETURN) {
            uint8_t after = at + BLOCK < count ? bytes[at + BLOCK] : next;
            uint64_t feeds = ends >> 1 | (uint64_t)(after == '\n') << (valid - 1);
            ends |= mask_of(text, '\r') & ~feeds;
        }
        if (uses & TABELLA_SCAN_ESCAPE) {
            uint64_t kept = ~escaped(mask_of(text, rules.escape), valid, &state->plain);
            quotes &= kept;
            delimiters &= kept;
            ends &= kept;
        }
        /* What stands behind the bytes may look like anything. */
        uint64_t within = ~0ull >> (BLOCK - valid);
        found->quotes[at / BLOCK] = quotes & within;
        found->ends[at / BLOCK] = ends & within;
        found->separators[at / BLOCK] = (ends | delimiters) & within;
    }
}

/* In each word, every bit becomes the sum modulo 2 of the bits up to it. */
INLINE void prefix_sums(const uint64_t *words, uint64_t *sums) {
    words8 all;
    memcpy(&all, words, sizeof all);
    for (int shift = 1; shift < BLOCK; shift *= 2) { all ^= all << shift; }
    memcpy(sums, &all, sizeof all);
}

INLINE uint64_t prefix_sum(uint64_t word) {
    for (int shift = 1; shift < BLOCK; shift *= 2) { word ^= word << shift; }
    return word;
}

/* Takes what is within quotes out of the masks of `count` bytes. */
INLINE void leave_quoted_out(size_t count, masks *found, tabella_scan_state *state) {
    uint64_t sums[BLOCKS];
    prefix_sums(found->quotes, sums);
    for (size_t at = 0; at < count; at += BLOCK) {
        size_t block = at / BLOCK;
        uint64_t quotes = found->quotes[block];
        uint64_t inside = sums[block] ^ state->inside;
        for (;;) {
            uint64_t separators = found->separators[block] & ~inside;
            uint64_t closers = quotes & ~inside;
            uint64_t strays = quotes & inside & ~((separators | closers) << 1 | state->opens);
            if (__builtin_expect(strays == 0, 1)) {
                size_t last = count - at < BLOCK ? count - at - 1 : BLOCK - 1;
                state->opens = (separators | closers) >> last & 1;
                found->separators[block] = separators;
                break;
            }
            quotes ^= strays & -strays;
            state->strays++;
            inside = prefix_sum(quotes) ^ state->inside;
        }
        found->ends[block] &= ~inside;
        state->inside = (uint64_t)((int64_t)inside >> 63);
    }
}

/* Whether a group has a byte that needs more than finding: a quote, an escape, a CR. */
INLINE bool is_special(const uint8_t *bytes, tabella_scan_rules rules, unsigned uses) {
    bytes64 any = {0};
    for (size_t at = 0; at < GROUP; at += BLOCK) {
        bytes64 text;
        memcpy(&text, bytes + at, BLOCK);
        if (uses & TABELLA_SCAN_QUOTE) { any |= (bytes64)(text == rules.quote); }
        if (uses & TABELLA_SCAN_ESCAPE) { any |= (bytes64)(text == rules.escape); }
        if (uses & TABELLA_SCAN_CARRIAGE_RETURN) { any |= (bytes64)(text == '\r'); }
    }
    uint64_t words[BLOCKS], all = 0;
    memcpy(words, &any, sizeof words);
    for (int word = 0; word < BLOCKS; word++) { all |= words[word]; }
    return all != 0;
}

/* The masks of the bytes at `at`: a group, or what is left. Returns how many bytes that is. Only the
 * ends of records are found unless `delimiters` are wanted too. */
INLINE size_t look(const uint8_t *bytes, size_t at, size_t count, tabella_scan_rules rules,
                   unsigned uses, bool delimiters, tabella_scan_state *state, masks *found) {
    if (__builtin_expect(count - at > GROUP, 1)) {
        const uint8_t *group = bytes + at;
        if (!(state->inside | state->plain) && !is_special(group, rules, uses)) {
            unsigned wanted = delimiters ? uses & TABELLA_SCAN_DELIMITER : 0;
            find(group, GROUP, 0, rules, wanted, state, found);
            uint8_t last = group[GROUP - 1];
            state->opens = last == '\n'
                           || ((uses & TABELLA_SCAN_DELIMITER) && last == rules.delimiter);
            return GROUP;
        }
        find(group, GROUP, group[GROUP], rules, uses, state, found);
        if (uses & TABELLA_SCAN_QUOTE) { leave_quoted_out(GROUP, found, state); }
        return GROUP;
    }
    uint8_t padded[GROUP] __attribute__((aligned(BLOCK))) = {0};
    memcpy(padded, bytes + at, count - at);
    memset(found, 0, sizeof *found);
    find(padded, count - at, 0, rules, uses, state, found);
    if (uses & TABELLA_SCAN_QUOTE) { leave_quoted_out(count - at, found, state); }
    return count - at;
}

INLINE size_t highest(uint64_t word) { return 63 - (size_t)__builtin_clzll(word); }

INLINE size_t count_records(const uint8_t *bytes, size_t count, tabella_scan_rules rules,
                            unsigned uses, tabella_scan_state *state, size_t *last) {
    masks found;
    tabella_scan_state local = *state;
    size_t total = 0, group = 0;
    uint64_t ends[BLOCKS] = {0};
    for (size_t at = 0; at < count;) {
        size_t seen = look(bytes, at, count, rules, uses, false, &local, &found);
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
    tabella_scan_found total = {0, 0, 0};
    while (total.scanned < count && total.separators + GROUP <= room) {
        size_t at = total.scanned;
        total.scanned += look(bytes, at, count, rules, uses, true, &local, &found);
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
            /* Eight at a time, needed or not: a loop of unknown length costs a wrong guess. */
            while (rest != 0) {
                for (int i = 0; i < 8; i++) {
                    next[i] = base + (uint32_t)__builtin_ctzll(rest | 1ull << 63);
                    rest &= rest - 1;
                }
                next += 8;
            }
        }
    }
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
