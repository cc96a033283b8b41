/* The processors on which threads run. */
#define _GNU_SOURCE
#include "tabella_system.h"

#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>

int tabella_system_processor_count(void) {
  cpu_set_t processors;
  if (sched_getaffinity(0, sizeof processors, &processors) < 0) return -errno;
  return CPU_COUNT(&processors);
}

/* Keeps one of `count` parts of a set, all of which have about the same size. */
static void keep_part(cpu_set_t *processors, int number, int count) {
  int size = CPU_COUNT(processors), index = 0;
  int first = number * size / count, end = (number + 1) * size / count;
  for (int processor = 0; processor < CPU_SETSIZE; processor++) {
    if (!CPU_ISSET(processor, processors)) continue;
    if (index < first || index >= end) CPU_CLR(processor, processors);
    index++;
  }
}

void tabella_system_place_thread(pthread_t thread, int number, int count) {
  cpu_set_t all, others;
  int here = sched_getcpu();
  if (here < 0 || sched_getaffinity(0, sizeof all, &all) < 0) return;
  others = all;
  CPU_CLR(here, &others);
  if (CPU_COUNT(&others) < count) return;
  /* The filter of a confined process refuses and reports changes of other threads. */
  if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 0) return;
  keep_part(&others, number, count);
  /* If the thread has ended, these calls move the caller, and then allow it all processors again. */
  if (pthread_setaffinity_np(thread, sizeof others, &others) == 0) {
    pthread_setaffinity_np(thread, sizeof all, &all);
  }
}
