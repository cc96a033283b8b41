/* The system calls of a confined process: which rule each is under, and where its paths stand. */
#ifndef CALLS_H
#define CALLS_H

#include <stdint.h>
#include <sys/syscall.h>

/* Numbers that older headers lack; from 424 on they are the same on all machines. */
#ifndef __NR_landlock_create_ruleset
#define __NR_landlock_create_ruleset 444
#define __NR_landlock_add_rule 445
#define __NR_landlock_restrict_self 446
#endif
#ifndef __NR_memfd_secret
#define __NR_memfd_secret 447
#endif
#ifndef __NR_process_mrelease
#define __NR_process_mrelease 448
#endif
#ifndef __NR_futex_waitv
#define __NR_futex_waitv 449
#endif
#ifndef __NR_set_mempolicy_home_node
#define __NR_set_mempolicy_home_node 450
#endif
#ifndef __NR_cachestat
#define __NR_cachestat 451
#endif
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif
#ifndef __NR_map_shadow_stack
#define __NR_map_shadow_stack 453
#endif
#ifndef __NR_futex_wake
#define __NR_futex_wake 454
#define __NR_futex_wait 455
#define __NR_futex_requeue 456
#endif
#ifndef __NR_statmount
#define __NR_statmount 457
#define __NR_listmount 458
#endif
#ifndef __NR_lsm_get_self_attr
#define __NR_lsm_get_self_attr 459
#define __NR_lsm_set_self_attr 460
#define __NR_lsm_list_modules 461
#endif
#ifndef __NR_mseal
#define __NR_mseal 462
#endif
#ifndef __NR_setxattrat
#define __NR_setxattrat 463
#define __NR_getxattrat 464
#define __NR_listxattrat 465
#define __NR_removexattrat 466
#endif
#ifndef __NR_open_tree_attr
#define __NR_open_tree_attr 467
#endif
#ifndef __NR_file_getattr
#define __NR_file_getattr 468
#define __NR_file_setattr 469
#endif

typedef enum {
  /* It reaches nothing but this process, what it has open, or what stat(2) tells anybody. */
  RULE_ALLOW,
  /* Refused and told. What is not in the table at all is refused as a kernel does that does not know it. */
  RULE_DENY,
  /* Landlock decides. The filter stops the call, and the handler makes it, to tell of a refusal. */
  RULE_LANDLOCK,
  /* Changes what an open file is beside its bytes. Landlock knows no right for that: allowed where
   * something may be changed at all. */
  RULE_CHANGE,
  /* The same by path, of what need not be open: the handler opens the path, on which Landlock decides, and
   * makes the call that takes a descriptor. */
  RULE_CHANGE_BY_PATH,
  /* Attributes by path, read in the same way. */
  RULE_ATTRIBUTE_BY_PATH,
  /* truncate(2): Landlock decides from its version 3 on; before that the handler opens the path. */
  RULE_TRUNCATE,
  /* Where the network was granted. */
  RULE_NETWORK,
  /* Where signals were granted. */
  RULE_SIGNAL,
  /* Where signals were granted; to this process always. */
  RULE_SIGNAL_OF_OWN,
  /* Of this process, or of the calling thread, which is 0. */
  RULE_OWN,
  /* By its arguments: seccomp.c. */
  RULE_ARGUMENTS,
} tabella_call_rule;

/* Where a path stands among the arguments, and the descriptor of the folder that it is in. */
typedef struct {
  int8_t folder; /* the argument, or -1: the current directory */
  int8_t path;   /* the argument, or -1: none */
} tabella_path_place;

typedef struct {
  uint32_t number;
  tabella_call_rule rule;
  const char *name;
  tabella_path_place paths[2];
} tabella_call;

extern const tabella_call tabella_calls[];
extern const int tabella_call_count;

/* The entry of a call; null if the table does not have it. */
const tabella_call *tabella_find_call(uint32_t number);

/* Makes any system call; what it returns is the kernel's, -errno for an error. The filter lets this one
 * place make the calls on which Landlock decides: to jump here gains nothing that Landlock refuses. */
long tabella_raw_call(long number, long a, long b, long c, long d, long e, long f);
/* Where the processor stands when the kernel looks at such a call. */
extern const char tabella_raw_call_place[];

#endif
