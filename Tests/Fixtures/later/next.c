/* A provider of contract 2.0, whose structs differ after the first two fields of the entry. */
#include <stdint.h>

typedef struct next_entry {
  uint32_t contract_version;
  uint32_t provider_contract;
  char other[4096];
} next_entry;

#define NOT_SUPPORTED 1

__attribute__((visibility("default"))) int32_t tabella_provider_entry(next_entry *entry) {
  entry->provider_contract = 0x00020000u;
  if (entry->contract_version < 0x00020000u) return NOT_SUPPORTED;
  entry->other[sizeof entry->other - 1] = 1;
  return 0;
}
