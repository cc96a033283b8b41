/*
 * The functions of the scanning kernel. Each calls the best version that this machine supports.
 * kernel.h explains the algorithms.
 */
#include "tabella_scan.h"

#include "versions.h"

#include <stdatomic.h>

/* The versions. The best one is the last. */
static const tabella_scan_version *const versions[] = {
    &tabella_scan_base,
#if defined(__x86_64__)
    &tabella_scan_avx2,
    &tabella_scan_avx512,
#endif
};

static unsigned best(void) {
#if defined(__x86_64__)
    /* Other features that every such processor has are not tested. */
    if (__builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512bw")) { return 2; }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul")) { return 1; }
#endif
    return 0;
}

static atomic_uint most = ~0u;

unsigned tabella_scan_use(unsigned version) {
    unsigned used = version < best() ? version : best();
    atomic_store_explicit(&most, used, memory_order_relaxed);
    return used;
}

static const tabella_scan_version *chosen(void) {
    unsigned version = atomic_load_explicit(&most, memory_order_relaxed);
    return versions[version == ~0u ? tabella_scan_use(~0u) : version];
}

size_t tabella_scan_count(const uint8_t *bytes, size_t count, tabella_scan_rules rules,
                          tabella_scan_state *state, size_t *last) {
    return chosen()->count(bytes, count, rules, state, last);
}

size_t tabella_scan_skip(const uint8_t *bytes, size_t count, tabella_scan_rules rules,
                         tabella_scan_state *state, size_t *last) {
    return chosen()->skip(bytes, count, rules, state, last);
}

tabella_scan_found tabella_scan_separators(const uint8_t *bytes, size_t count,
                                           tabella_scan_rules rules, tabella_scan_state *state,
                                           uint32_t *separators, uint32_t *records, size_t room) {
    return chosen()->separators(bytes, count, rules, state, separators, records, room);
}

tabella_scan_found tabella_scan_ends(const uint8_t *bytes, size_t count, tabella_scan_rules rules,
                                     tabella_scan_state *state, uint32_t *ends, size_t room) {
    return chosen()->ends(bytes, count, rules, state, ends, room);
}

int tabella_scan_has(const uint8_t *bytes, size_t count, uint8_t a, uint8_t b, uint8_t c,
                     uint8_t d) {
    return chosen()->has(bytes, count, a, b, c, d);
}

tabella_scan_texts tabella_scan_prepare(const tabella_scan_text *texts, size_t count) {
    tabella_scan_texts prepared = {.texts = texts, .count = count, .shortest = texts[0].count};
    for (size_t number = 0; number < count; number++) {
        const tabella_scan_text *text = &texts[number];
        uint8_t bit = (uint8_t)(1u << number % 8);
        if (text->count < prepared.shortest) { prepared.shortest = text->count; }
        if (text->first > prepared.furthest) { prepared.furthest = text->first; }
        for (size_t at = 0; at < TABELLA_SCAN_COMPARED; at++) {
            size_t index = text->first + at;
            for (unsigned byte = 0; byte < 256; byte++) {
                bool is_upper = text->folds && byte >= 'A' && byte <= 'Z';
                /* Behind the end of a text, each byte is right. */
                if (index < text->count && (is_upper ? byte | 0x20 : byte) != text->text[index]) {
                    continue;
                }
                prepared.low[at][byte & 15] |= bit;
                prepared.high[at][byte >> 4] |= bit;
            }
        }
    }
    return prepared;
}

size_t tabella_scan_find_any(const uint8_t *bytes, size_t count, const tabella_scan_texts *texts) {
    /* Two rare bytes of a single text are compared with less effort. */
    return texts->count == 1 ? chosen()->find(bytes, count, texts->texts[0])
                             : chosen()->find_any(bytes, count, texts);
}

int tabella_scan_is_utf8(const uint8_t *bytes, size_t count) {
    return chosen()->is_utf8(bytes, count);
}

size_t tabella_scan_unquote(const uint8_t *bytes, size_t count, uint8_t quote, uint8_t *place,
                            size_t *read) {
    return chosen()->unquote(bytes, count, quote, place, read);
}

size_t tabella_scan_join(const uint8_t *bytes, size_t count, uint8_t delimiter, uint8_t quote,
                         uint8_t separator, uint8_t *place) {
    return chosen()->join(bytes, count, delimiter, quote, separator, place);
}

size_t tabella_scan_quote(const uint8_t *bytes, size_t count, uint8_t *place) {
    return chosen()->quote(bytes, count, place);
}
