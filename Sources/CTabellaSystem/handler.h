/* Shared declarations of the handler of refused calls. denials.c explains the handler. */
#ifndef HANDLER_H
#define HANDLER_H

#include "calls.h"
#include "tabella_confinement.h"

/* No sanitizer instrumentation in code that can run at any instruction. */
#define NO_PROBES __attribute__((no_sanitize("address", "thread", "undefined")))

#define RAW(number, a, b, c, d, e) \
  tabella_raw_call((number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)

/* The rules that the filter was made for. */
extern tabella_call_rules tabella_rules_in_force;

/* Replaces a call on a path by a call on a descriptor; -EPERM for every other call. */
long tabella_make_by_path(const tabella_call *call, const uint64_t *arguments);

/* Confines the calling thread if tabella_confine_threads waits for it. */
void tabella_confine_if_asked(void);

#endif
