/* The filter of system calls: a classic BPF program that is made from the table in calls.c. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "handler.h"

#if defined(__x86_64__)
#define THIS_MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define THIS_MACHINE AUDIT_ARCH_AARCH64
#else
#error "Only 64-bit x86 and ARM are known here."
#endif

enum {
  CAPACITY = 2048, /* instructions; the kernel's limit is 4096 */
  ALL_NAMESPACES = 0x7E020000,
  A_THREAD = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD,
  /* Older headers lack these. */
  QUERY_DUPLICATE = 1024 + 3,
  QUERY_CREATED = 1024 + 4,
};

typedef struct {
  struct sock_filter code[CAPACITY];
  int count;
  const tabella_call_rules *rules;
} filter;

/* Instructions. Between two rules, the accumulator holds the number of the call. */

static void add(filter *f, uint16_t code, uint32_t value, uint8_t if_true, uint8_t if_false) {
  if (f->count < CAPACITY) {
    f->code[f->count] = (struct sock_filter){code, if_true, if_false, value};
  }
  f->count++;
}

static void load(filter *f, size_t offset) { add(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0); }
static void load_number(filter *f) { load(f, offsetof(struct seccomp_data, nr)); }
/* The bits that the kernel uses of an int or of flags. */
static void load_low(filter *f, int argument) {
  load(f, offsetof(struct seccomp_data, args) + 8 * (size_t)argument);
}
static void load_high(filter *f, int argument) {
  load(f, offsetof(struct seccomp_data, args) + 8 * (size_t)argument + 4);
}

static void return_action(filter *f, uint32_t action) { add(f, BPF_RET | BPF_K, action, 0, 0); }
static void allow(filter *f) { return_action(f, SECCOMP_RET_ALLOW); }
static void stop(filter *f) { return_action(f, SECCOMP_RET_TRAP); }

static void allow_if(filter *f, uint32_t value) {
  add(f, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
  allow(f);
}
static void stop_if_any(filter *f, uint32_t bits) {
  add(f, BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
  stop(f);
}
static void allow_if_none(filter *f, uint32_t bits) {
  add(f, BPF_JMP | BPF_JSET | BPF_K, bits, 1, 0);
  allow(f);
}
/* Allows a null pointer: both halves are 0. */
static void allow_if_null(filter *f, int argument) {
  load_low(f, argument);
  add(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3);
  load_high(f, argument);
  allow_if(f, 0);
  load_number(f);
}

/* The following rules apply to one call only. They end with a decision, or with the number loaded. */
static int begin(filter *f, uint32_t number) {
  add(f, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 0);
  return f->count - 1;
}
static void end(filter *f, int start) {
  if (start < CAPACITY) f->code[start].jf = (uint8_t)(f->count - start - 1);
}

static void allow_call(filter *f, uint32_t number) { allow_if(f, number); }

/* Rules by arguments. */

static void allow_values(filter *f, uint32_t number, int argument, const uint32_t *values,
                         size_t count) {
  int start = begin(f, number);
  load_low(f, argument);
  for (size_t index = 0; index < count; index++) allow_if(f, values[index]);
  stop(f);
  end(f, start);
}
#define ALLOW_VALUES(f, number, argument, ...)                               \
  do {                                                                       \
    const uint32_t values[] = {__VA_ARGS__};                                 \
    allow_values(f, number, argument, values, sizeof values / sizeof *values); \
  } while (0)

static void allow_memory(filter *f) {
  int start = begin(f, __NR_mmap);
  load_low(f, 2);
  allow_if_none(f, PROT_EXEC);
  stop_if_any(f, PROT_WRITE);
  load_low(f, 3);
  stop_if_any(f, MAP_ANONYMOUS);
  allow(f);
  end(f, start);
  const uint32_t protecting[] = {__NR_mprotect, __NR_pkey_mprotect};
  for (size_t index = 0; index < 2; index++) {
    start = begin(f, protecting[index]);
    load_low(f, 2);
    stop_if_any(f, PROT_EXEC);
    allow(f);
    end(f, start);
  }
}

static void allow_threads(filter *f) {
  int start = begin(f, __NR_clone);
  load_low(f, 0);
  stop_if_any(f, ALL_NAMESPACES);
  add(f, BPF_ALU | BPF_AND | BPF_K, A_THREAD, 0, 0);
  allow_if(f, A_THREAD);
  stop(f);
  end(f, start);
  /* The flags of clone3 are in memory, which a filter cannot read. Without clone3, the C library uses
   * clone. */
  start = begin(f, __NR_clone3);
  return_action(f, SECCOMP_RET_ERRNO | ENOSYS);
  end(f, start);
}

/* Opening with O_PATH is allowed without a stop. It is frequent and gives no access that Landlock
 * controls. */
static void allow_places(filter *f, uint32_t number, int flags) {
  int start = begin(f, number);
  load_low(f, flags);
  add(f, BPF_JMP | BPF_JSET | BPF_K, O_PATH, 0, 1);
  allow(f);
  if (!f->rules->truncates) {
    /* Landlock before version 3 does not require the right to write here. */
    add(f, BPF_ALU | BPF_AND | BPF_K, O_TRUNC | O_ACCMODE, 0, 0);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, O_TRUNC | O_RDONLY, 0, 1);
    return_action(f, SECCOMP_RET_ERRNO | EACCES);
  }
  load_number(f);
  end(f, start);
}

/* A rename that leaves a device at the old name. */
static void refuse_whiteouts(filter *f) {
  enum { WHITEOUT = 4 };
  int start = begin(f, __NR_renameat2);
  load_low(f, 4);
  add(f, BPF_JMP | BPF_JSET | BPF_K, WHITEOUT, 0, 1);
  return_action(f, SECCOMP_RET_ERRNO | EPERM);
  load_number(f);
  end(f, start);
}

static void allow_opening(filter *f) {
  if (!f->rules->landlock) return;
  allow_places(f, __NR_openat, 2);
#ifdef __NR_open
  allow_places(f, __NR_open, 1);
#endif
  if (f->rules->truncates) return;
  /* The flags are in memory. */
  int start = begin(f, __NR_openat2);
  return_action(f, SECCOMP_RET_ERRNO | ENOSYS);
  end(f, start);
}

static void allow_sockets(filter *f) {
  if (!f->rules->network) return;
  int start = begin(f, __NR_socket);
  load_low(f, 0);
  allow_if(f, AF_INET);
  allow_if(f, AF_INET6);
  /* The C library lists the addresses of this machine before it resolves a name. Sockets with a path or
   * a name would lead to programs that have more rights than this process. */
  add(f, BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 1, 0);
  stop(f);
  load_low(f, 2);
  allow_if(f, NETLINK_ROUTE);
  stop(f);
  end(f, start);
}

static void allow_signals(filter *f, uint32_t pid) {
  /* A new handler or mask must not disable SIGSYS. The handler makes both calls. */
  int start = begin(f, __NR_rt_sigaction);
  allow_if_null(f, 1);
  end(f, start);
  start = begin(f, __NR_rt_sigprocmask);
  allow_if_null(f, 1);
  end(f, start);
  if (f->rules->signals) {
    allow_call(f, __NR_setpriority);
    return;
  }
  start = begin(f, __NR_setpriority);
  load_low(f, 0);
  add(f, BPF_JMP | BPF_JEQ | BPF_K, PRIO_PROCESS, 1, 0);
  stop(f);
  load_low(f, 1);
  allow_if(f, 0);
  allow_if(f, pid);
  stop(f);
  end(f, start);
}

static void allow_attributes(filter *f) {
  if (!f->rules->changes) return;
  /* The form without a path, for an open file. */
  int start = begin(f, __NR_utimensat);
  allow_if_null(f, 1);
  end(f, start);
}

static void allow_by_arguments(filter *f, uint32_t pid) {
  allow_memory(f);
  allow_opening(f);
  refuse_whiteouts(f);
  /* The owner of a descriptor's signals cannot be changed. Leases require the right to change
   * something. A lease delays everyone who opens the file for writing. A program that removes a file
   * needs it to see that no one writes. */
  ALLOW_VALUES(f, __NR_fcntl, 1, F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK,
               F_SETLK, F_SETLKW, F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW, F_GETOWN, F_SETPIPE_SZ,
               F_GETPIPE_SZ, F_ADD_SEALS, F_GET_SEALS, F_GET_RW_HINT, F_SET_RW_HINT, QUERY_DUPLICATE,
               QUERY_CREATED, F_SETSIG, F_GETLEASE, f->rules->changes ? F_SETLEASE : F_GETLEASE);
  /* No input to a terminal and no devices. FS_IOC_SETFLAGS requires the right to change something. */
  ALLOW_VALUES(f, __NR_ioctl, 1, TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX, FICLONE,
               FICLONERANGE, FS_IOC_GETFLAGS,
               f->rules->changes ? FS_IOC_SETFLAGS : FS_IOC_GETFLAGS);
  allow_signals(f, pid);
  allow_attributes(f);
  allow_threads(f);
  allow_sockets(f);
  ALLOW_VALUES(f, __NR_process_vm_readv, 0, pid);
  /* Queries only. */
  ALLOW_VALUES(f, __NR_seccomp, 0, SECCOMP_GET_ACTION_AVAIL, SECCOMP_GET_NOTIF_SIZES);
  ALLOW_VALUES(f, __NR_personality, 0, 0xFFFFFFFF);
  ALLOW_VALUES(f, __NR_prctl, 0, PR_SET_NAME, PR_GET_NAME, PR_GET_PDEATHSIG, PR_GET_DUMPABLE,
               PR_GET_SECCOMP, PR_GET_NO_NEW_PRIVS, PR_SET_NO_NEW_PRIVS, PR_CAPBSET_READ,
               PR_GET_TIMERSLACK, PR_SET_TIMERSLACK, PR_GET_SPECULATION_CTRL, PR_SET_THP_DISABLE,
               PR_GET_THP_DISABLE, PR_GET_TID_ADDRESS, PR_SET_VMA, PR_GET_TAGGED_ADDR_CTRL);
}

/* Whether a rule allows a call whatever its arguments are. */
static bool allows(const filter *f, tabella_call_rule rule) {
  switch (rule) {
    case RULE_ALLOW: return true;
    case RULE_LANDLOCK: return !f->rules->landlock;
    case RULE_TRUNCATE: return !f->rules->landlock;
    case RULE_CHANGE: return f->rules->changes;
    case RULE_NETWORK: return f->rules->network;
    case RULE_SIGNAL:
    case RULE_SIGNAL_OF_OWN: return f->rules->signals;
    default: return false;
  }
}

/* Whether the handler makes a call from the one address that the filter allows. */
static bool is_made_by_handler(const filter *f, const tabella_call *call) {
  switch (call->rule) {
    case RULE_LANDLOCK: return f->rules->landlock;
    case RULE_TRUNCATE: return f->rules->truncates;
    default:
      return call->number == __NR_rt_sigaction || call->number == __NR_rt_sigprocmask ||
             (call->number == __NR_openat2 && f->rules->landlock);
  }
}

static void allow_of_own(filter *f, uint32_t pid) {
  for (int index = 0; index < tabella_call_count; index++) {
    const tabella_call *call = &tabella_calls[index];
    if (call->rule == RULE_OWN) ALLOW_VALUES(f, call->number, 0, 0, pid);
    if (call->rule == RULE_SIGNAL_OF_OWN && !f->rules->signals) {
      ALLOW_VALUES(f, call->number, 0, pid);
    }
  }
}

static void allow_from_handler(filter *f) {
  const uint64_t place = (uint64_t)(uintptr_t)tabella_raw_call_place;
  const size_t offset = offsetof(struct seccomp_data, instruction_pointer);
  load(f, offset);
  add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)place, 1, 0);
  stop(f);
  load(f, offset + 4);
  add(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(place >> 32), 1, 0);
  stop(f);
  load_number(f);
  for (int index = 0; index < tabella_call_count; index++) {
    if (is_made_by_handler(f, &tabella_calls[index])) allow_call(f, tabella_calls[index].number);
  }
  stop(f);
}

/* Calls that are allowed whatever their arguments are come before any check of arguments or addresses.
 * The kernel then detects in advance that it need not run the filter for them. */
static void make(filter *f, uint32_t pid) {
  load(f, offsetof(struct seccomp_data, arch));
  add(f, BPF_JMP | BPF_JEQ | BPF_K, THIS_MACHINE, 1, 0);
  return_action(f, SECCOMP_RET_KILL_PROCESS);
  load_number(f);
#ifdef __x86_64__
  /* The calls of x32 have other numbers. */
  add(f, BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);
  return_action(f, SECCOMP_RET_KILL_PROCESS);
#endif
  allow_by_arguments(f, pid);
  allow_of_own(f, pid);
  for (int index = 0; index < tabella_call_count; index++) {
    if (allows(f, tabella_calls[index].rule)) allow_call(f, tabella_calls[index].number);
  }
  if (!f->rules->landlock) allow_call(f, __NR_openat2);
  allow_from_handler(f);
}

bool tabella_seccomp_is_there(void) {
  uint32_t action = SECCOMP_RET_TRAP;
  return syscall(__NR_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

int tabella_seccomp_install(const tabella_call_rules *rules) {
  static filter f;
  f.count = 0;
  f.rules = rules;
  make(&f, (uint32_t)getpid());
  if (f.count > CAPACITY) return -E2BIG;
  tabella_rules_in_force = *rules;
  struct sock_fprog program = {(unsigned short)f.count, f.code};
  long failed = syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
  /* A positive result is the id of a thread that has another filter. */
  return failed < 0 ? -errno : failed > 0 ? -EBUSY : 0;
}
