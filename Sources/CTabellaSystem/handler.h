/* What the parts of the handler of refused calls share; denials.c says what it is. */
#ifndef HANDLER_H
#define HANDLER_H

#include "calls.h"
#include "tabella_confinement.h"

/* Nothing of a sanitizer in code that runs at any instruction. */
#define NO_PROBES __attribute__((no_sanitize("address", "thread", "undefined")))

#define RAW(number, a, b, c, d, e) \
  tabella_raw_call((number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)

/* What the filter was made for. */
extern tabella_call_rules tabella_rules_in_force;

/* Makes a call that takes a path by one that takes a descriptor; -EPERM for every other call. */
long tabella_make_by_path(const tabella_call *call, const uint64_t *arguments);

/* Confines the calling thread, if it is the one that tabella_confine_threads waits for. */
void tabella_confine_if_asked(void);

#endif
