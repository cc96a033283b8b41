/*
 * The kernel for each kind of machine. base.c, avx2.c and avx512.c include this file.
 *
 * The kernel processes blocks of 64 bytes. For each byte of interest, a comparison produces a mask of
 * 64 bits; bit i belongs to byte i of the block. The rest is arithmetic on masks:
 *
 *   quotes   1 0 0 0 1 0 0      "abc",x      the bits that are quotes
 *   inside   1 1 1 1 0 0 0                   their prefix sums modulo 2: from an opening quote up to
 *                                            its closing one, which is outside
 *
 * This is correct if every quote opens or closes. A quote inside an unquoted field (5" disk) does
 * neither. It looks like an opening quote that follows neither a separator nor a closing quote. The
 * kernel clears the first such bit of a block and computes the sums again, until there is none left.
 *
 * A group of eight blocks without quotes, escapes and CR needs only the masks of the separators.
 * Testing that a byte is absent costs less than locating it.
 *
 * The code is plain C with clang's vector extensions. The including file first defines what its machine
 * does differently: PREFIX_SUM, PLACES, LOOK_UP, PACK, REPLACE, and the quoting of cells. All
 * functions are static, so that each file has its own copy.
 */
#include "versions.h"

/* The bytes of a block, or one answer per byte. All ones mean yes, zero means no. Vectors are passed by
 * address, because not every machine can pass such wide vectors. */
typedef uint8_t bytes64 __attribute__((vector_size(BLOCK)));
typedef bool bits64 __attribute__((ext_vector_type(BLOCK)));

INLINE void load(bytes64 *block, const uint8_t *bytes) { memcpy(block, bytes, BLOCK); }

/* Bit i is set if the answer for byte i is yes. */
INLINE uint64_t mask(const bytes64 *answers) {
    bits64 bits = __builtin_convertvector(*answers, bits64);
    uint64_t mask;
    memcpy(&mask, &bits, sizeof mask);
    return mask;
}

/* Bit i is set if byte i equals `byte`. */
INLINE uint64_t mask_of(const bytes64 *block, uint8_t byte) {
    bytes64 equal = (bytes64)(*block == byte);
    return mask(&equal);
}

/* The ends of records if nothing is quoted or escaped: each LF, and each CR that is not followed by an
 * LF. It reads one byte after the block. */
INLINE uint64_t ends_of(const uint8_t *bytes, unsigned uses) {
    bytes64 block, next;
    load(&block, bytes);
    if (!(uses & TABELLA_SCAN_CARRIAGE_RETURN)) { return mask_of(&block, '\n'); }
    load(&next, bytes + 1);
#ifdef NARROW
    return mask_of(&block, '\n') | (mask_of(&block, '\r') & ~mask_of(&next, '\n'));
#else
    bytes64 ends =
        (bytes64)(block == '\n') | ((bytes64)(block == '\r') & (bytes64)(next != '\n'));
    return mask(&ends);
#endif
}

/* Each bit becomes the sum modulo 2 of the bits up to and including it. */
INLINE uint64_t prefix_sum(uint64_t word) {
#ifdef PREFIX_SUM
    return PREFIX_SUM(word);
#else
    for (int shift = 1; shift < BLOCK; shift *= 2) { word ^= word << shift; }
    return word;
#endif
}

/* The offsets of the bits of a mask, plus `base`. Up to 16 entries more than there are bits are
 * written, but at most 64. */
INLINE void places(uint64_t mask, uint32_t base, uint32_t *places) {
#ifdef PLACES
    PLACES(mask, base, places);
#else
    /* Four at a time, even if not all are needed: a loop of unknown length costs a branch
     * misprediction. */
    for (; mask != 0; places += 4) {
        for (int i = 0; i < 4; i++) {
            places[i] = base + (uint32_t)__builtin_ctzg(mask, BLOCK);
            mask &= mask - 1;
        }
    }
#endif
}

/* The bytes that an escape makes literal, among the first `count`. */
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

/* The ends of records and the separators in a block. */
typedef struct {
    uint64_t ends;
    uint64_t separators; /* ends of records and delimiters */
} masks;

/* Counts the line ends within quotes of a block. A record touches the block in which the record before
 * it ends, and all blocks until its own end. Branches would cost more, because they are mispredicted. */
INLINE void count_lines(uint64_t lines, uint64_t ends, tabella_scan_state *state) {
    uint64_t found = (uint64_t)__builtin_popcountll(lines);
    uint64_t sum = state->lines + found;
    state->most_lines = sum > state->most_lines ? sum : state->most_lines;
    state->lines = ends != 0 ? found : sum;
}

/* The purpose of a scan. */
enum wanted { COUNT, SKIP, ENDS, SEPARATORS };

/* Whether a byte after a closing quote is no quote, no separator and no CR. Then a cell consists of
 * several pieces. Within quotes there are no such bytes, so separators within quotes do not matter. */
INLINE void note_loose(const bytes64 *block, uint64_t closing, uint64_t allowed, size_t count,
                       tabella_scan_state *state) {
    uint64_t after = (closing << 1 | state->closed) & (~0ull >> (BLOCK - count));
    uint64_t loose = after & ~allowed;
    if (loose != 0) { state->loose |= loose & ~mask_of(block, '\r'); }
    state->closed = closing >> (count - 1) & 1;
}

/* The masks of the first `count` bytes of a block, at least one. */
INLINE masks find(const uint8_t *bytes, size_t count, tabella_scan_rules rules, unsigned uses,
                  tabella_scan_state *state, enum wanted wanted) {
    bytes64 block;
    load(&block, bytes);
    /* The content after the bytes is undefined. */
    uint64_t within = ~0ull >> (BLOCK - count);
    uint64_t ends = ends_of(bytes, uses);
    uint64_t separators = uses & TABELLA_SCAN_DELIMITER ? mask_of(&block, rules.delimiter) : 0;
    if (uses & TABELLA_SCAN_ESCAPE) {
        uint64_t escapes = mask_of(&block, rules.escape) & within;
        within &= ~escaped(escapes, count, &state->plain);
    }
    ends &= within;
    separators = (separators & within) | ends;
    if (!(uses & TABELLA_SCAN_QUOTE)) { return (masks){ends, separators}; }
    for (uint64_t quotes = mask_of(&block, rules.quote) & within;;) {
        uint64_t inside = prefix_sum(quotes) ^ state->inside;
        uint64_t closing = (separators | quotes) & ~inside;
        uint64_t strays = quotes & inside & ~(closing << 1 | state->opens);
        if (__builtin_expect(strays == 0, 1)) {
            state->opens = closing >> (count - 1) & 1;
            state->inside = (uint64_t)((int64_t)inside >> 63);
            if (wanted == SEPARATORS) { count_lines(ends & inside, ends & ~inside, state); }
            if (wanted == SEPARATORS || wanted == SKIP) {
                note_loose(&block, quotes & ~inside, separators | quotes, count, state);
            }
            return (masks){ends & ~inside, separators & ~inside};
        }
        quotes ^= strays & -strays;
        state->strays++;
    }
}

/* A search for bytes. A byte of `least` is zero if any block contains the searched byte at that index. */
INLINE void search(bytes64 *least, const bytes64 *block, uint8_t byte) {
    *least = __builtin_elementwise_min(*least, *block ^ byte);
}

/* Whether a group contains no quote, no escape and no CR. */
INLINE bool is_plain(const uint8_t *bytes, tabella_scan_rules rules, unsigned uses) {
    bytes64 block, least = ~(bytes64){0};
    for (size_t at = 0; at < GROUP; at += BLOCK) {
        load(&block, bytes + at);
        if (uses & TABELLA_SCAN_QUOTE) { search(&least, &block, rules.quote); }
        if (uses & TABELLA_SCAN_ESCAPE) { search(&least, &block, rules.escape); }
        if (uses & TABELLA_SCAN_CARRIAGE_RETURN) { search(&least, &block, '\r'); }
    }
    return mask_of(&least, 0) == 0;
}

/* The memory for the results of a scan. */
typedef struct {
    tabella_scan_found total;
    uint32_t *separators; /* SEPARATORS */
    uint32_t *records;    /* ENDS, SEPARATORS */
    uint64_t last_ends;   /* COUNT, SKIP: the ends in the last block that has one, */
    size_t last_at;       /* and the offset of that block */
} findings;

INLINE void take(findings *to, enum wanted wanted, masks block, size_t at) {
    uint64_t ends = block.ends;
    uint32_t base = (uint32_t)at;
    if (wanted == COUNT || wanted == SKIP) {
        to->total.records += (size_t)__builtin_popcountll(ends);
        to->last_ends = ends != 0 ? ends : to->last_ends;
        to->last_at = ends != 0 ? at : to->last_at;
        return;
    }
    /* Usually there is one end or none. One entry is written in any case, which avoids a branch
     * misprediction. */
    do {
        uint64_t upto = ends ^ (ends - 1);
        to->records[to->total.records] =
            wanted == ENDS ? base + (uint32_t)__builtin_popcountll(upto) - 1
                           : (uint32_t)to->total.separators
                                 + (uint32_t)__builtin_popcountll(block.separators & upto);
        to->total.records += ends != 0;
        ends &= ends - 1;
    } while (__builtin_expect(ends != 0, 0));
    if (wanted == SEPARATORS) {
        places(block.separators, base, to->separators + to->total.separators);
        to->total.separators += (size_t)__builtin_popcountll(block.separators);
    }
}

/* Whether the maximum number of results of a group might not fit. */
INLINE bool is_full(const findings *to, enum wanted wanted, size_t room) {
    size_t written = wanted == SEPARATORS ? to->total.separators : to->total.records;
    return (wanted == ENDS || wanted == SEPARATORS) && room - written < GROUP;
}

/* Scans up to `count` bytes, or until a buffer is full. */
INLINE void scan(const uint8_t *bytes, size_t count, tabella_scan_rules rules, unsigned uses,
                 tabella_scan_state *state, enum wanted wanted, findings *to, size_t room) {
    tabella_scan_state now = *state;
    unsigned delimiter = wanted == SEPARATORS ? uses & TABELLA_SCAN_DELIMITER : 0;
    size_t at = 0, unlikely_before = 0;
    while (count - at > GROUP && !is_full(to, wanted, room)) {
        const uint8_t *group = bytes + at;
        bool plain = at >= unlikely_before && !now.inside && !now.plain && !now.closed
                     && is_plain(group, rules, uses);
        if (plain) {
            for (size_t end = at + GROUP; at < end; at += BLOCK) {
                bytes64 block;
                load(&block, bytes + at);
                uint64_t ends = mask_of(&block, '\n');
                uint64_t separators = delimiter ? ends | mask_of(&block, rules.delimiter) : ends;
                take(to, wanted, (masks){ends, separators}, at);
            }
            uint8_t last = bytes[at - 1];
            now.opens = last == '\n'
                        || ((uses & TABELLA_SCAN_DELIMITER) && last == rules.delimiter);
        } else {
            /* If one group is not plain, the following ones are probably not plain either, so they are
             * not tested. */
            if (at >= unlikely_before) { unlikely_before = at + 16 * GROUP; }
            for (size_t end = at + GROUP; at < end; at += BLOCK) {
                take(to, wanted, find(bytes + at, BLOCK, rules, uses, &now, wanted), at);
            }
        }
    }
    /* The byte after the last one must not be read. */
    if (count - at <= GROUP && !is_full(to, wanted, room)) {
        for (; count - at > BLOCK; at += BLOCK) {
            take(to, wanted, find(bytes + at, BLOCK, rules, uses, &now, wanted), at);
        }
        if (at < count) {
            uint8_t padded[2 * BLOCK] = {0};
            memcpy(padded, bytes + at, count - at);
            take(to, wanted, find(padded, count - at, rules, uses, &now, wanted), at);
            at = count;
        }
    }
    to->total.scanned = at;
    *state = now;
}

/* The compiler generates a separate loop for each common set of rules. */
INLINE void scan_by_rules(const uint8_t *bytes, size_t count, tabella_scan_rules rules,
                          tabella_scan_state *state, enum wanted wanted, findings *to,
                          size_t room) {
    const unsigned plain = TABELLA_SCAN_DELIMITER | TABELLA_SCAN_CARRIAGE_RETURN;
    const unsigned quoted = plain | TABELLA_SCAN_QUOTE;
    switch (rules.uses) {
    case 0: scan(bytes, count, rules, 0, state, wanted, to, room); break;
    case quoted: scan(bytes, count, rules, quoted, state, wanted, to, room); break;
    default: scan(bytes, count, rules, rules.uses, state, wanted, to, room);
    }
}

INLINE size_t count_by_rules(const uint8_t *bytes, size_t count, tabella_scan_rules rules,
                             tabella_scan_state *state, enum wanted wanted, size_t *last) {
    findings found = {0};
    scan_by_rules(bytes, count, rules, state, wanted, &found, 0);
    if (found.total.records != 0) {
        *last = found.last_at + BLOCK - 1 - (size_t)__builtin_clzll(found.last_ends);
    }
    return found.total.records;
}

static size_t count_records(const uint8_t *bytes, size_t count, tabella_scan_rules rules,
                            tabella_scan_state *state, size_t *last) {
    return count_by_rules(bytes, count, rules, state, COUNT, last);
}

static size_t skip_records(const uint8_t *bytes, size_t count, tabella_scan_rules rules,
                           tabella_scan_state *state, size_t *last) {
    return count_by_rules(bytes, count, rules, state, SKIP, last);
}

static tabella_scan_found find_separators(const uint8_t *bytes, size_t count,
                                          tabella_scan_rules rules, tabella_scan_state *state,
                                          uint32_t *separators, uint32_t *records, size_t room) {
    findings found = {.separators = separators, .records = records};
    scan_by_rules(bytes, count, rules, state, SEPARATORS, &found, room);
    return found.total;
}

static tabella_scan_found find_ends(const uint8_t *bytes, size_t count, tabella_scan_rules rules,
                                    tabella_scan_state *state, uint32_t *ends, size_t room) {
    findings found = {.records = ends};
    scan_by_rules(bytes, count, rules, state, ENDS, &found, room);
    return found.total;
}

/* Whether any of four bytes occurs in some blocks. */
INLINE bool blocks_have(const uint8_t *bytes, size_t count, uint8_t a, uint8_t b, uint8_t c, uint8_t d) {
    bytes64 block, least = ~(bytes64){0};
    for (size_t start = 0; start < count; start += BLOCK) {
        load(&block, bytes + start);
        search(&least, &block, a);
        search(&least, &block, b);
        search(&least, &block, c);
        search(&least, &block, d);
    }
    return mask_of(&least, 0) != 0;
}

static bool has_any(const uint8_t *bytes, size_t count, uint8_t a, uint8_t b, uint8_t c, uint8_t d) {
    size_t at = 0;
    for (; count - at >= GROUP; at += GROUP) {
        if (blocks_have(bytes + at, GROUP, a, b, c, d)) { return true; }
    }
    for (; count - at >= BLOCK; at += BLOCK) {
        if (blocks_have(bytes + at, BLOCK, a, b, c, d)) { return true; }
    }
    /* The last block overlaps the one in front of it. */
    if (at < count && count >= BLOCK) { return blocks_have(bytes + count - BLOCK, BLOCK, a, b, c, d); }
    for (; at < count; at++) {
        if (bytes[at] == a || bytes[at] == b || bytes[at] == c || bytes[at] == d) { return true; }
    }
    return false;
}

/* The two bytes of a text that are compared first. Setting the bit for lower case in a byte makes it equal to
 * a letter in lower case only if it is that letter, so other bytes are compared unchanged. */
typedef struct {
    size_t first_at, second_at;
    uint8_t first, first_case, second, second_case;
} two_bytes;

INLINE uint8_t case_bit(uint8_t byte, int folds) {
    return folds && byte >= 'a' && byte <= 'z' ? 0x20 : 0;
}

INLINE two_bytes two_of(const tabella_scan_text *text) {
    uint8_t first = text->text[text->first], second = text->text[text->second];
    return (two_bytes){text->first,
                       text->second,
                       first,
                       case_bit(first, text->folds),
                       second,
                       case_bit(second, text->folds)};
}

/* A byte is zero if the text can begin at this offset of the block: both bytes are there. */
INLINE void differences(bytes64 *answers, const uint8_t *bytes, const two_bytes *two) {
    bytes64 first, second;
    load(&first, bytes + two->first_at);
    load(&second, bytes + two->second_at);
    *answers = ((first | two->first_case) ^ two->first) | ((second | two->second_case) ^ two->second);
}

INLINE bool is_text(const uint8_t *bytes, const tabella_scan_text *text) {
    if (!text->folds) { return memcmp(bytes, text->text, text->count) == 0; }
    for (size_t at = 0; at < text->count; at++) {
        uint8_t byte = bytes[at];
        if (byte >= 'A' && byte <= 'Z') { byte |= 0x20; }
        if (byte != text->text[at]) { return false; }
    }
    return true;
}

/* The offset of the text that begins in a block; BLOCK if none does. */
INLINE size_t find_in_block(const uint8_t *bytes, const tabella_scan_text *text, const two_bytes *two) {
    bytes64 answers;
    differences(&answers, bytes, two);
    for (uint64_t left = mask_of(&answers, 0); left != 0; left &= left - 1) {
        size_t at = (size_t)__builtin_ctzll(left);
        if (is_text(bytes + at, text)) { return at; }
    }
    return BLOCK;
}

static size_t find_text(const uint8_t *bytes, size_t count, tabella_scan_text text) {
    if (count < text.count) { return count; }
    size_t starts = count - text.count + 1, at = 0;
    two_bytes two = two_of(&text);
    bytes64 answers;
    while (starts - at >= BLOCK) {
        /* The text is often near, so the first block is a group of its own. */
        size_t size = at > 0 && starts - at >= GROUP ? GROUP : BLOCK;
        if (size == GROUP) {
            bytes64 least = ~(bytes64){0};
            for (size_t start = 0; start < GROUP; start += BLOCK) {
                differences(&answers, bytes + at + start, &two);
                least = __builtin_elementwise_min(least, answers);
            }
            if (mask_of(&least, 0) == 0) {
                at += GROUP;
                continue;
            }
        }
        for (size_t end = at + size; at < end; at += BLOCK) {
            size_t found = find_in_block(bytes + at, &text, &two);
            if (found < BLOCK) { return at + found; }
        }
    }
    if (at > 0 && at < starts) {
        /* The last block overlaps the one in front of it. */
        at = starts - BLOCK;
        size_t found = find_in_block(bytes + at, &text, &two);
        return found < BLOCK ? at + found : count;
    }
    for (; at < starts; at++) {
        if (((bytes[at + two.first_at] | two.first_case) ^ two.first) == 0
            && is_text(bytes + at, &text)) {
            return at;
        }
    }
    return count;
}

/* The offset of the first of the texts whose bits are set and whose compared bytes can be at a place.
 * Returns `best` if none of them begins in front of it. */
INLINE size_t first_of(const uint8_t *bytes, size_t count, size_t place, uint8_t bits,
                       const tabella_scan_texts *texts, size_t best) {
    for (size_t number = 0; number < texts->count; number++) {
        const tabella_scan_text *text = &texts->texts[number];
        if (!(bits >> number % 8 & 1) || place < text->first) { continue; }
        size_t start = place - text->first;
        if (start < best && text->count <= count - start && is_text(bytes + start, text)) {
            best = start;
        }
    }
    return best;
}

/* The bits of the texts whose compared bytes can begin at each byte of a block. It reads two bytes
 * after the block. */
#ifdef LOOK_UP
INLINE void compared(bytes64 *answers, const uint8_t *bytes, const tabella_scan_texts *texts) {
    bytes64 block, low, high;
    *answers = ~(bytes64){0};
    for (size_t at = 0; at < TABELLA_SCAN_COMPARED; at++) {
        load(&block, bytes + at);
        LOOK_UP(&low, texts->low[at], block & 15);
        LOOK_UP(&high, texts->high[at], block >> 4);
        *answers &= low & high;
    }
}
#endif

static size_t find_any(const uint8_t *bytes, size_t count, const tabella_scan_texts *texts) {
    /* A text that begins in front of the best one can have its compared bytes behind those of that one.
     * So the search goes on up to `end`. */
    size_t at = 0, best = count, end = count;
#ifdef LOOK_UP
    bytes64 answers;
    while (at < end && count - at >= BLOCK + TABELLA_SCAN_COMPARED - 1) {
        /* As in find_text. */
        size_t size = at > 0 && count - at >= GROUP + TABELLA_SCAN_COMPARED - 1 ? GROUP : BLOCK;
        if (size == GROUP) {
            bytes64 all = {0};
            for (size_t start = 0; start < GROUP; start += BLOCK) {
                compared(&answers, bytes + at + start, texts);
                all |= answers;
            }
            if (mask_of(&all, 0) == ~0ull) {
                at += GROUP;
                continue;
            }
        }
        for (size_t next = at + size; at < next && at < end; at += BLOCK) {
            compared(&answers, bytes + at, texts);
            for (uint64_t left = ~mask_of(&answers, 0); left != 0; left &= left - 1) {
                size_t place = (size_t)__builtin_ctzll(left);
                best = first_of(bytes, count, at + place, answers[place], texts, best);
            }
            if (texts->furthest < end - best) { end = best + texts->furthest; }
        }
    }
#endif
    for (; at < end; at++) {
        uint8_t bits = 0xFF;
        for (size_t next = 0; next < TABELLA_SCAN_COMPARED && at + next < count; next++) {
            uint8_t byte = bytes[at + next];
            bits &= texts->low[next][byte & 15] & texts->high[next][byte >> 4];
        }
        if (bits == 0) { continue; }
        best = first_of(bytes, count, at, bits, texts, best);
        if (texts->furthest < end - best) { end = best + texts->furthest; }
    }
    return best;
}

/* Bit i is set if byte i of a block is `least` or more. */
INLINE uint64_t mask_from(const bytes64 *block, uint8_t least) {
    bytes64 answers = (bytes64)(*block >= least);
    return mask(&answers);
}

/* Masks of UTF-8 that affect the next block. Bit 63 of each mask belongs to the byte in front of the
 * block, and so on. */
typedef struct {
    uint64_t twos, threes, fours;           /* bytes that begin a character of at least so many bytes */
    uint64_t e0, ed, f0, f4;                /* bytes that restrict the next byte */
} beginnings;

INLINE uint64_t moved(uint64_t now, uint64_t before, int places) {
    return now << places | before >> (BLOCK - places);
}

/* Whether a block is UTF-8, as far as it and the bytes in front of it show. */
INLINE bool is_utf8_block(const bytes64 *block, beginnings *before) {
    uint64_t from_80 = mask_from(block, 0x80), from_c0 = mask_from(block, 0xC0);
    beginnings now = {from_c0,
                      mask_from(block, 0xE0),
                      mask_from(block, 0xF0),
                      mask_of(block, 0xE0),
                      mask_of(block, 0xED),
                      mask_of(block, 0xF0),
                      mask_of(block, 0xF4)};
    uint64_t from_90 = mask_from(block, 0x90), from_a0 = mask_from(block, 0xA0);
    uint64_t wanted = moved(now.twos, before->twos, 1) | moved(now.threes, before->threes, 2)
                      | moved(now.fours, before->fours, 3);
    uint64_t wrong = wanted ^ (from_80 & ~from_c0);
    /* C0 and C1 begin overlong sequences. F5 and above begin no character. */
    wrong |= (from_c0 & ~mask_from(block, 0xC2)) | mask_from(block, 0xF5);
    /* E0 and F0 begin overlong sequences, and ED and F4 begin no character, in front of these bytes. */
    wrong |= moved(now.e0, before->e0, 1) & ~from_a0;
    wrong |= moved(now.f0, before->f0, 1) & ~from_90;
    wrong |= moved(now.ed, before->ed, 1) & from_a0;
    wrong |= moved(now.f4, before->f4, 1) & from_90;
    *before = now;
    return wrong == 0;
}

static bool is_utf8(const uint8_t *bytes, size_t count) {
    beginnings before = {0};
    bytes64 block;
    size_t at = 0;
    while (count - at >= BLOCK) {
        if (count - at >= GROUP && (before.twos | before.threes | before.fours) >> 61 == 0) {
            /* The common case: ASCII. */
            bytes64 all = {0};
            for (size_t start = 0; start < GROUP; start += BLOCK) {
                load(&block, bytes + at + start);
                all |= block;
            }
            if (mask_from(&all, 0x80) == 0) {
                before = (beginnings){0};
                at += GROUP;
                continue;
            }
        }
        for (size_t end = at + (count - at >= GROUP ? GROUP : BLOCK); at < end; at += BLOCK) {
            load(&block, bytes + at);
            if (!is_utf8_block(&block, &before)) { return false; }
        }
    }
    /* The byte after the last one does not continue a character. */
    uint8_t padded[BLOCK] = {0};
    memcpy(padded, bytes + at, count - at);
    load(&block, padded);
    return is_utf8_block(&block, &before);
}

/* Copies the bytes of a block whose bits are set, without gaps, and returns their number. Up to BLOCK
 * bytes from `place` on are overwritten. */
INLINE size_t pack(const bytes64 *block, uint64_t kept, uint8_t *place) {
#ifdef PACK
    return PACK(block, kept, place);
#else
    enum { STEP = BLOCK / 4 };
    uint8_t bytes[BLOCK + STEP]; /* A step can begin near the end. */
    memcpy(bytes, block, BLOCK);
    size_t written = 0;
    while (kept != 0) {
        size_t start = (size_t)__builtin_ctzll(kept);
        uint64_t after = ~(kept >> start);
        size_t run = after != 0 ? (size_t)__builtin_ctzll(after) : BLOCK;
        for (size_t at = 0; at < run; at += STEP) {
            memcpy(place + written + at, bytes + start + at, STEP);
        }
        written += run;
        kept = start + run < BLOCK ? kept & (~0ull << (start + run)) : 0;
    }
    return written;
#endif
}

/* Replaces the bytes of a block whose bits are set, all of which are equal to `from`. */
INLINE void replace(bytes64 *block, uint64_t replaced, uint8_t from, uint8_t to) {
#ifdef REPLACE
    REPLACE(block, replaced, from, to);
#else
    bytes64 found = (bytes64)(*block == from);
    uint64_t others = mask(&found) & ~replaced;
    *block = (*block & ~found) | (found & to);
    for (; others != 0; others &= others - 1) { (*block)[__builtin_ctzll(others)] = from; }
#endif
}

/* Joins cells, one block at a time. A quote within a cell closes it, and the next one opens it again. */
static size_t join(const uint8_t *bytes, size_t count, uint8_t delimiter, uint8_t quote,
                   uint8_t separator, uint8_t *place) {
    size_t written = 0;
    uint64_t before_inside = 0, before_quote = 0;
    for (size_t at = 0; at < count; at += BLOCK) {
        uint64_t within = ~0ull >> (BLOCK - (count - at < BLOCK ? count - at : BLOCK));
        bytes64 block;
        load(&block, bytes + at);
        uint64_t quotes = mask_of(&block, quote) & within;
        uint64_t inside = prefix_sum(quotes) ^ before_inside;
        uint64_t reopening = quotes & inside & (quotes << 1 | before_quote);
        replace(&block, mask_of(&block, delimiter) & ~inside, delimiter, separator);
        written += pack(&block, within & (~quotes | reopening), place + written);
        before_inside = (uint64_t)((int64_t)inside >> 63);
        before_quote = quotes >> 63;
    }
    return written;
}

const tabella_scan_version VERSION = {count_records, skip_records, find_separators,
                                      find_ends,     has_any,      find_text,
                                      find_any,      is_utf8,      unquote,
                                      join,          quote};
