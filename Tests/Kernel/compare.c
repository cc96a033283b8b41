/*
 * Compares the versions of the scanning kernel over random inputs: compare COUNT SEED. `swift test`
 * compares the kernel with simple code in Swift, but only the versions that the machine supports.
 */
#include "../../Sources/CTabellaScan/versions.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 3000, ROOM = 8192 };

static uint64_t state;
static uint64_t next(void) { /* splitmix64 */
    uint64_t word = (state += 0x9E3779B97F4A7C15);
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9;
    word = (word ^ word >> 27) * 0x94D049BB133111EB;
    return word ^ word >> 31;
}
static size_t below(size_t bound) { return (size_t)(next() % bound); }

static const struct {
    const char *name;
    const tabella_scan_version *version;
} versions[] = {{"base", &tabella_scan_base},
                {"avx2", &tabella_scan_avx2},
                {"avx512", &tabella_scan_avx512}};
enum { VERSIONS = sizeof versions / sizeof *versions };

static uint64_t number;

/* The result of a function by one version: numbers and bytes. */
typedef struct {
    size_t numbers[8];
    tabella_scan_state after;
    uint32_t first[ROOM], second[ROOM];
    size_t bytes;
    uint8_t written[2 * MOST + 2 + TABELLA_SCAN_SLACK];
} answer;

static answer answers[VERSIONS];
static const char *failed;

static void compare(const char *name, size_t count) {
    for (size_t other = 1; other < VERSIONS; other++) {
        answer *a = &answers[0], *b = &answers[other];
        if (memcmp(a->numbers, b->numbers, sizeof a->numbers) == 0
            && memcmp(&a->after, &b->after, sizeof a->after) == 0
            && memcmp(a->first, b->first, sizeof a->first) == 0
            && memcmp(a->second, b->second, sizeof a->second) == 0 && a->bytes == b->bytes
            && memcmp(a->written, b->written, a->bytes) == 0) {
            continue;
        }
        printf("case %llu: %s of %zu bytes: %s and %s differ: %zu and %zu\n",
               (unsigned long long)number, name, count, versions[0].name, versions[other].name,
               a->numbers[0], b->numbers[0]);
        failed = name;
    }
}

/* Runs a function by every version, on its own copy of the input with nothing behind it, so that the
 * address sanitizer sees each byte that is read too far. */
#define EACH(name, slack, body)                                                                    \
    do {                                                                                           \
        for (size_t v = 0; v < VERSIONS; v++) {                                                    \
            const tabella_scan_version *kernel = versions[v].version;                              \
            answer *to = &answers[v];                                                              \
            uint8_t *bytes = malloc(count + (slack) + (count + (slack) == 0));                     \
            memcpy(bytes, input, count);                                                           \
            memset(bytes + count, '"', (slack));                                                   \
            memset(to, 0, sizeof *to);                                                             \
            body;                                                                                  \
            free(bytes);                                                                           \
        }                                                                                          \
        compare(name, count);                                                                      \
    } while (0)

/* Keeps only what a scan has found. The places after that are undefined. */
static void keep(answer *to, tabella_scan_found found, bool separators) {
    to->numbers[0] = found.separators;
    to->numbers[1] = found.records;
    to->numbers[2] = found.scanned;
    memset(to->first + found.records, 0, (ROOM - found.records) * sizeof *to->first);
    size_t kept = separators ? found.separators : 0;
    memset(to->second + kept, 0, (ROOM - kept) * sizeof *to->second);
}

static void check(uint8_t *input, size_t count) {
    tabella_scan_rules rules = {",;\t|"[below(4)], "\"'"[below(2)], '\\', 0};
    if (below(4) != 0) { rules = (tabella_scan_rules){',', '"', '\\', 0}; }
    static const uint8_t uses[] = {0, 11, 9, 15, 13, 1, 3, 7};
    rules.uses = uses[below(sizeof uses)];
    /* A scan must not end with half of a CRLF. */
    if (count > 0 && input[count - 1] == '\r') { input[count - 1] = 'x'; }
    tabella_scan_state start = tabella_scan_start();
    if (below(3) == 0) {
        start.inside = below(2) ? ~0ull : 0;
        start.opens = below(2);
        start.plain = rules.uses & TABELLA_SCAN_ESCAPE ? below(2) : 0;
        start.closed = below(2);
    }
    size_t room = 512 + below(3) * below(ROOM - 512);
    if (room > ROOM) { room = ROOM; }
    EACH("count", 0, {
        to->after = start;
        to->numbers[0] = kernel->count(bytes, count, rules, &to->after, &to->numbers[1]);
    });
    EACH("skip", 0, {
        to->after = start;
        to->numbers[0] = kernel->skip(bytes, count, rules, &to->after, &to->numbers[1]);
    });
    EACH("separators", 0, {
        to->after = start;
        keep(to, kernel->separators(bytes, count, rules, &to->after, to->second, to->first, room),
             true);
    });
    EACH("ends", 0, {
        to->after = start;
        keep(to, kernel->ends(bytes, count, rules, &to->after, to->first, room), false);
    });
    uint8_t four[4];
    for (int i = 0; i < 4; i++) { four[i] = below(2) ? (uint8_t)below(256) : "~\"\\,"[i]; }
    EACH("has", 0, { to->numbers[0] = kernel->has(bytes, count, four[0], four[1], four[2], four[3]); });
    EACH("is_utf8", 0, { to->numbers[0] = kernel->is_utf8(bytes, count); });
    EACH("unquote", TABELLA_SCAN_SLACK, {
        to->bytes = to->numbers[0] =
            kernel->unquote(bytes, count, rules.quote, to->written, &to->numbers[1]);
    });
    EACH("join", TABELLA_SCAN_SLACK, {
        to->bytes = to->numbers[0] =
            kernel->join(bytes, count, rules.delimiter, rules.quote, 0x1F, to->written);
    });
    EACH("quote", TABELLA_SCAN_SLACK, {
        to->bytes = to->numbers[0] = kernel->quote(bytes, count, to->written);
    });
}

/* Searches for pieces of the input, some with a changed byte. */
static void search(uint8_t *input, size_t count) {
    enum { TEXTS = 10, LONGEST = 12 };
    static uint8_t bytes_of[TEXTS][LONGEST];
    tabella_scan_text texts[TEXTS];
    size_t amount = 1 + below(TEXTS);
    int folds = (int)below(2);
    for (size_t i = 0; i < amount; i++) {
        size_t length = 1 + below(LONGEST);
        for (size_t at = 0; at < length; at++) {
            bytes_of[i][at] = count > 0 ? input[(at + i * 97) % count] : 'x';
        }
        size_t start = count > length ? below(count - length) : 0;
        if (count > length) { memcpy(bytes_of[i], input + start, length); }
        if (below(3) != 0) { bytes_of[i][below(length)] = (uint8_t)below(256); }
        for (size_t at = 0; folds && at < length; at++) {
            if (bytes_of[i][at] >= 'A' && bytes_of[i][at] <= 'Z') { bytes_of[i][at] |= 0x20; }
        }
        size_t first = below(length), second = first + below(length - first);
        texts[i] = (tabella_scan_text){bytes_of[i], length, first, second, folds};
    }
    tabella_scan_texts prepared = tabella_scan_prepare(texts, amount);
    EACH("find", 0, { to->numbers[0] = kernel->find(bytes, count, texts[0]); });
    EACH("find_any", 0, { to->numbers[0] = kernel->find_any(bytes, count, &prepared); });
}

int main(int arguments, char **argument) {
    uint64_t cases = arguments > 1 ? strtoull(argument[1], NULL, 10) : 10000;
    uint64_t seed = arguments > 2 ? strtoull(argument[2], NULL, 10) : 1;
    static uint8_t input[MOST];
    /* From many separators to few. */
    static const char *const alphabets[] = {"\"", ",\"", "a\"", ",\"\n\r\\a", "abc,\"\n", "ab\"\"\"c",
                                            "abcdefgh,\n", "\xC3\xA9 a\xE2\x82\xAC\xF0\x9F\x8D\x8E",
                                            "abcdefghijklmnopqrstuvwxyz,\"\n"};
    for (number = 0; number < cases && failed == NULL; number++) {
        state = seed * 1000003 + number;
        size_t count = below(4) == 0 ? below(MOST) : below(300);
        const char *letters = alphabets[below(sizeof alphabets / sizeof *alphabets)];
        size_t kinds = strlen(letters), plain = below(3) * below(40);
        for (size_t at = 0; at < count; at++) {
            input[at] = below(plain + 1) != 0 ? (uint8_t)('a' + below(26)) : (uint8_t)letters[below(kinds)];
        }
        check(input, count);
        search(input, count);
    }
    if (failed != NULL) { return 1; }
    printf("%llu cases: base, avx2 and avx512 agree\n", (unsigned long long)cases);
    return 0;
}
