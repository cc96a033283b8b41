/* A library that has what a provider's must have, small enough to be changed anywhere: what the fuzzer of
 * the checks before loading begins with. Linked by Tests/Fuzz/run. */
#include <stdint.h>

static int table[3] = {1, 2, 3};
int *tabella_where = &table[1];

int32_t tabella_provider_entry(uint32_t contract) { return (int32_t)contract + *tabella_where; }

int32_t tabella_other(void) { return 0; }
