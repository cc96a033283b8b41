/*
 * The versions of the kernel, one for each kind of machine. scan.c selects the best one that this
 * machine supports.
 */
#ifndef TABELLA_SCAN_VERSIONS_H
#define TABELLA_SCAN_VERSIONS_H

#include "tabella_scan.h"

#include <stdbool.h>
#include <string.h>

enum { BLOCK = 64, BLOCKS = 8, GROUP = BLOCK * BLOCKS };

#define INLINE static inline __attribute__((always_inline))

typedef struct {
    size_t (*count)(const uint8_t *bytes, size_t count, tabella_scan_rules rules,
                    tabella_scan_state *state, size_t *last);
    size_t (*skip)(const uint8_t *bytes, size_t count, tabella_scan_rules rules,
                   tabella_scan_state *state, size_t *last);
    tabella_scan_found (*separators)(const uint8_t *bytes, size_t count, tabella_scan_rules rules,
                                     tabella_scan_state *state, uint32_t *separators,
                                     uint32_t *records, size_t room);
    tabella_scan_found (*ends)(const uint8_t *bytes, size_t count, tabella_scan_rules rules,
                               tabella_scan_state *state, uint32_t *ends, size_t room);
    bool (*has)(const uint8_t *bytes, size_t count, uint8_t a, uint8_t b, uint8_t c, uint8_t d);
    size_t (*find)(const uint8_t *bytes, size_t count, tabella_scan_text text);
    size_t (*find_any)(const uint8_t *bytes, size_t count, const tabella_scan_texts *texts);
    bool (*is_utf8)(const uint8_t *bytes, size_t count);
    size_t (*unquote)(const uint8_t *bytes, size_t count, uint8_t quote, uint8_t *place,
                      size_t *read);
    size_t (*join)(const uint8_t *bytes, size_t count, uint8_t delimiter, uint8_t quote,
                   uint8_t separator, uint8_t *place);
    size_t (*quote)(const uint8_t *bytes, size_t count, uint8_t *place);
} tabella_scan_version;

extern const tabella_scan_version tabella_scan_base;
#if defined(__x86_64__)
extern const tabella_scan_version tabella_scan_avx2;
extern const tabella_scan_version tabella_scan_avx512;
#endif

#endif
