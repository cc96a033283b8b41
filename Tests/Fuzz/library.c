/* A library with the required parts of a provider's library, as small as possible: a seed for fuzzing the checks
 * before loading. Tests/Fuzz/run links it. */
#include <stdint.h>

static int table[3] = {1, 2, 3};
int *tabella_where = &table[1];

int32_t tabella_provider_entry(uint32_t contract) { return (int32_t)contract + *tabella_where; }

int32_t tabella_other(void) { return 0; }
