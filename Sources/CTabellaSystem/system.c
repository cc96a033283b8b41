#define _GNU_SOURCE
#include "tabella_system.h"

#include <dlfcn.h>
#include <malloc.h>

void *tabella_system_load(const char *path) {
  return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

const char *tabella_system_library_of(const void *address) {
  Dl_info info;
  return dladdr(address, &info) != 0 ? info.dli_fname : NULL;
}

uint64_t tabella_system_heap_in_use(void) {
  struct mallinfo2 info = mallinfo2();
  return (uint64_t)info.uordblks + (uint64_t)info.hblkhd;
}
