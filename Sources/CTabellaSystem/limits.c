/* The minimum resources of a Swift program. The Swift runtime ends the program if memory or stack run
 * out. */
#include "tabella_system.h"

#include <sys/mman.h>
#include <sys/resource.h>

enum { LEAST_STACK = 256 << 10, LEAST_MEMORY = 64 << 20 };

static rlim_t limit_on(int resource) {
  struct rlimit limit;
  return getrlimit(resource, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

const char *tabella_system_shortage(void) {
  if (limit_on(RLIMIT_STACK) < LEAST_STACK) {
    return "the limit on the stack (ulimit -s) is below the 256 KiB that are needed";
  }
  if (limit_on(RLIMIT_AS) == RLIM_INFINITY && limit_on(RLIMIT_DATA) == RLIM_INFINITY) return NULL;
  void *memory = mmap(NULL, LEAST_MEMORY, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return "the limits on memory (ulimit -v, ulimit -d) leave less than the 64 MiB that are needed";
  }
  munmap(memory, LEAST_MEMORY);
  return NULL;
}
