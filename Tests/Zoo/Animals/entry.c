/* P9: entry points of other contract versions, and ones that do not do their work. */
#define ZOO_OWN_ENTRY
#include "zoo.h"

ANIMAL {}

int32_t tabella_provider_entry(tabella_entry *entry) {
  (void)zoo_animal;
  entry->provider.id = tabella_cstring(ZOO_ID);
  entry->provider.version = tabella_cstring("1");
  entry->provider.open = zoo_open;
#ifdef CONTRACT
  entry->provider_contract = CONTRACT;
#endif
#ifdef MESSAGE
  (void)tabella_fail(&entry->error, TABELLA_DENIED, "%s", MESSAGE);
#endif
#ifdef WITHOUT_LIMITS
  /* A later contract with a larger struct: it writes after the end of the struct that it received. */
  memset(entry + 1, 0x5A, 1 << 16);
#endif
  return CODE;
}
