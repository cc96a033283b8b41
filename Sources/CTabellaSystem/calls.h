/* The system calls of a confined process, with the rule of each call and the arguments that hold its
 * paths. */
#ifndef CALLS_H
#define CALLS_H

#include <stdint.h>
#include <sys/syscall.h>

/* Numbers that older headers lack. From 424 on they are the same on all machines. */
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
  /* The call reaches only this process, its open files, and information that stat(2) reports to
   * everyone. */
  RULE_ALLOW,
  /* Refused and reported. A call that is not in the table gets ENOSYS, as from a kernel that does not
   * know it. */
  RULE_DENY,
  /* Landlock decides. The filter stops the call, and the handler makes it, so that it can report a
   * refusal. */
  RULE_LANDLOCK,
  /* Changes attributes of an open file. Landlock has no right for such changes. Allowed if the process
   * may change anything. */
  RULE_CHANGE,
  /* The same by path, for files that need not be open. The handler opens the path, which Landlock
   * controls, and makes the call on the descriptor. */
  RULE_CHANGE_BY_PATH,
  /* Reads attributes by path, in the same way. */
  RULE_ATTRIBUTE_BY_PATH,
  /* truncate(2). Landlock decides from its version 3 on. Before that, the handler opens the path. */
  RULE_TRUNCATE,
  /* Allowed if the network is granted. */
  RULE_NETWORK,
  /* Allowed if signals are granted. */
  RULE_SIGNAL,
  /* Allowed if signals are granted, and always for this process itself. */
  RULE_SIGNAL_OF_OWN,
  /* Allowed for this process, and for the calling thread, which is 0. */
  RULE_OWN,
  /* Decided by the arguments, in seccomp.c. */
  RULE_ARGUMENTS,
} tabella_call_rule;

/* The arguments that hold a path and the descriptor of its folder. */
typedef struct {
  int8_t folder; /* the argument's index, or -1 for the current directory */
  int8_t path;   /* the argument's index, or -1 for none */
} tabella_path_arguments;

typedef struct {
  uint32_t number;
  tabella_call_rule rule;
  const char *name;
  tabella_path_arguments paths[2];
} tabella_call;

extern const tabella_call tabella_calls[];
extern const int tabella_call_count;

/* The entry of a call; null if it is not in the table. */
const tabella_call *tabella_find_call(uint32_t number);

/* Makes any system call. Returns the kernel's result, -errno for an error. The filter lets only this
 * code make the calls on which Landlock decides. A jump to this code gains nothing, because Landlock
 * still refuses. */
long tabella_raw_call(long number, long a, long b, long c, long d, long e, long f);
/* The instruction pointer when the kernel examines such a call. */
extern const char tabella_raw_call_place[];

#endif
