/*
 * host.c: a stand-in for hosts of other versions.
 *
 *   host LIBRARY VERSION [LOCATION]
 *
 * It calls the entry as a host of this version (a number), and prints code and version of the provider. If the
 * provider works with it, and with a location, it opens the location and prints the number of rows. Nothing lies
 * behind the first two fields if the version is not of this family.
 */
#define _GNU_SOURCE
#include "tabella_batch.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

typedef int32_t (*entry_function)(tabella_entry *entry);

static int fail(const char *what) {
  fprintf(stderr, "host: %s\n", what);
  return 2;
}

static tabella_entry *limited(void) {
  size_t page = (size_t)getpagesize();
  char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory + page, page, PROT_NONE) != 0) return NULL;
  return (tabella_entry *)(memory + page - 2 * sizeof(uint32_t));
}

int main(int count, char **arguments) {
  static tabella_entry whole;
  static const tabella_host host;
  uint32_t version;
  tabella_entry *entry;
  entry_function call;
  void *library;
  int32_t code;
  if (count < 3) return fail("host LIBRARY VERSION [LOCATION]");
  library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return fail(dlerror());
  *(void **)&call = dlsym(library, TABELLA_ENTRY_SYMBOL);
  if (call == NULL) return fail("no entry");
  version = (uint32_t)strtoul(arguments[2], NULL, 0);
  entry = TABELLA_CONTRACT_ACCEPTS(version) ? &whole : limited();
  if (entry == NULL) return fail("no memory");
  entry->contract_version = version;
  if (entry == &whole) entry->host = &host;
  code = call(entry);
  printf("%d %x\n", code, entry->provider_contract);
  if (code == TABELLA_OK && count > 3) {
    tabella_open_request request = {0};
    tabella_source source = {0};
    tabella_count rows = {0};
    tabella_error error = {0};
    request.location = tabella_cstring(arguments[3]);
    code = entry->provider.open(entry->provider.provider, &request, &source, &error);
    if (code != TABELLA_OK) return fail(error.message.bytes ? error.message.bytes : "open fails");
    code = source.table->row_count(source.source, 0, INT64_MAX, &rows, &error);
    if (code != TABELLA_OK) return fail("row_count fails");
    printf("%lld rows\n", (long long)rows.value);
    source.table->release(source.source);
  }
  return 0;
}
