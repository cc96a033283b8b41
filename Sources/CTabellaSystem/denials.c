/* The handler of refused system calls. A refused call gets an error, and the host gets a report.
 *
 * The filter stops a call with SIGSYS. The handler makes the calls on which Landlock decides, so that
 * it sees their results. It refuses all others, and sends a record of each refusal. It can run at any
 * instruction of foreign code, on any stack. It therefore calls no function of the C library and needs
 * little stack. The handler only reports and does not protect: the kernel would allow everything that
 * the handler allows. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "handler.h"

tabella_call_rules tabella_rules_in_force;

const char *tabella_call_name(uint32_t number) {
  const tabella_call *call = tabella_find_call(number);
  return call != NULL ? call->name : NULL;
}

/* System calls. */

#if defined(__x86_64__)
__asm__(
    ".text\n"
    ".globl tabella_raw_call, tabella_raw_call_place, tabella_raw_return\n"
    ".hidden tabella_raw_call, tabella_raw_call_place, tabella_raw_return\n"
    ".type tabella_raw_call, @function\n"
    "tabella_raw_call:\n"
    "  mov %rdi, %rax\n"
    "  mov %rsi, %rdi\n"
    "  mov %rdx, %rsi\n"
    "  mov %rcx, %rdx\n"
    "  mov %r8, %r10\n"
    "  mov %r9, %r8\n"
    "  mov 8(%rsp), %r9\n"
    "  syscall\n"
    "tabella_raw_call_place:\n"
    "  ret\n"
    "tabella_raw_return:\n"
    "  mov $15, %eax\n"
    "  syscall\n");
#elif defined(__aarch64__)
__asm__(
    ".text\n"
    ".globl tabella_raw_call, tabella_raw_call_place, tabella_raw_return\n"
    ".hidden tabella_raw_call, tabella_raw_call_place, tabella_raw_return\n"
    ".type tabella_raw_call, @function\n"
    "tabella_raw_call:\n"
    "  mov x8, x0\n"
    "  mov x0, x1\n"
    "  mov x1, x2\n"
    "  mov x2, x3\n"
    "  mov x3, x4\n"
    "  mov x4, x5\n"
    "  mov x5, x6\n"
    "  svc #0\n"
    "tabella_raw_call_place:\n"
    "  ret\n"
    "tabella_raw_return:\n"
    "  mov x8, #139\n"
    "  svc #0\n");
#endif
extern void tabella_raw_return(void);

/* Records. */

typedef struct {
  char prefix[TABELLA_DENIAL_PREFIX];
  tabella_denial denial;
  char path[TABELLA_DENIAL_PATH];
} record;

static record records[TABELLA_DENIALS];
static int record_count;
static atomic_flag is_noting = ATOMIC_FLAG_INIT;
static int report_socket = -1;
static size_t prefix_size;
static char prefix[TABELLA_DENIAL_PREFIX];
static long own_pid;

NO_PROBES static bool are_same(const char *one, const char *other, size_t size) {
  for (size_t index = 0; index < size; index++) {
    if (one[index] != other[index]) return false;
  }
  return true;
}

/* Reads a string from an address that can be invalid, at most `room` bytes. Returns its length. It
 * reads page by page, because a string can end directly in front of unmapped memory. */
NO_PROBES static size_t read_string(char *to, size_t room, uint64_t from) {
  enum { PAGE = 4096 };
  size_t count = 0;
  while (count < room) {
    size_t wanted = PAGE - (from + count) % PAGE;
    if (wanted > room - count) wanted = room - count;
    struct iovec local = {to + count, wanted};
    struct iovec remote = {(void *)(uintptr_t)(from + count), wanted};
    long got = tabella_raw_call(__NR_process_vm_readv, own_pid, (long)&local, 1, (long)&remote, 1, 0);
    if (got <= 0) return count;
    for (long index = 0; index < got; index++) {
      if (to[count + (size_t)index] == 0) return count + (size_t)index;
    }
    count += (size_t)got;
  }
  return count;
}

/* The folder of a path, with a trailing slash; 0 on failure. */
NO_PROBES static size_t read_folder(char *to, size_t room, int folder) {
  char link[32] = "/proc/self/";
  size_t end = 11;
  if (folder == AT_FDCWD) {
    link[end++] = 'c', link[end++] = 'w', link[end++] = 'd';
  } else {
    link[end++] = 'f', link[end++] = 'd', link[end++] = '/';
    char digits[12];
    int count = 0;
    unsigned rest = (unsigned)folder;
    do digits[count++] = (char)('0' + rest % 10);
    while ((rest /= 10) != 0);
    while (count > 0) link[end++] = digits[--count];
  }
  link[end] = 0;
  long got = RAW(__NR_readlinkat, AT_FDCWD, link, to, room, 0);
  if (got <= 0 || (size_t)got >= room) return 0;
  if (to[got - 1] != '/') to[got++] = '/';
  return (size_t)got;
}

/* The path of a call, absolute if the folder can be determined. */
NO_PROBES static size_t read_path(char *to, size_t room, tabella_path_arguments indices,
                                  const uint64_t *arguments) {
  size_t count = read_string(to, room, arguments[indices.path]);
  if (count == 0 || to[0] == '/' || count == room) return count;
  int folder = indices.folder < 0 ? AT_FDCWD : (int)arguments[indices.folder];
  size_t before = read_folder(to, room - count, folder);
  return before + read_string(to + before, room - before, arguments[indices.path]);
}

NO_PROBES static void read_paths(record *r, const tabella_call *call, const uint64_t *arguments) {
  size_t count = 0;
  for (int index = 0; call != NULL && index < 2; index++) {
    if (call->paths[index].path < 0) break;
    if (index > 0 && count < sizeof r->path) r->path[count++] = 0;
    count += read_path(r->path + count, sizeof r->path - count, call->paths[index], arguments);
  }
  r->denial.path_size = (uint32_t)count;
}

/* Whether no earlier record contains this refusal. `r` is the last record. */
NO_PROBES static bool is_new(const record *r) {
  for (const record *other = records; other < r; other++) {
    if (other->denial.call == r->denial.call &&
        other->denial.path_size == r->denial.path_size &&
        are_same(other->path, r->path, r->denial.path_size) &&
        (r->denial.path_size > 0 || other->denial.arguments[0] == r->denial.arguments[0]))
      return false;
  }
  return true;
}

/* Stores and sends a record of a refused call, unless it was sent before. */
NO_PROBES static void note(const tabella_call *call, uint32_t number, const uint64_t *arguments,
                           int error, uint32_t flags) {
  if (report_socket < 0) return;
  /* The flag is held for microseconds. This thread itself can hold it, if a signal handler of the
   * library interrupted this function. */
  int patience = 10000;
  while (atomic_flag_test_and_set(&is_noting)) {
    if (--patience == 0) return;
  }
  if (record_count < TABELLA_DENIALS) {
    record *r = &records[record_count];
    r->denial = (tabella_denial){.call = number, .error = error, .flags = flags};
    for (int index = 0; index < 3; index++) r->denial.arguments[index] = arguments[index];
    read_paths(r, call, arguments);
    if (is_new(r)) {
      if (++record_count == TABELLA_DENIALS) r->denial.flags |= TABELLA_DENIAL_LAST;
      char *start = (char *)&r->denial - prefix_size;
      for (size_t index = 0; index < prefix_size; index++) start[index] = prefix[index];
      size_t size = prefix_size + sizeof r->denial + r->denial.path_size;
      RAW(__NR_sendto, report_socket, start, size, MSG_DONTWAIT | MSG_NOSIGNAL, 0);
    }
  }
  atomic_flag_clear(&is_noting);
}

/* Calls on which Landlock decides. */

/* A refusal by Landlock, by the filter, or by a read-only mount. */
NO_PROBES static bool is_refusal(long result) {
  return result == -EACCES || result == -EPERM || result == -EROFS;
}

/* Whether the file's permissions also forbid the open. Landlock does not consider them. */
NO_PROBES static bool is_refused_by_mode(const tabella_call *call, const uint64_t *arguments) {
  int flags;
  if (call->number == __NR_openat) flags = (int)arguments[2];
#ifdef __NR_open
  else if (call->number == __NR_open) flags = (int)arguments[1];
#endif
  else return false;
  int way = flags & O_ACCMODE;
  int wanted = way == O_RDONLY ? R_OK : way == O_WRONLY ? W_OK : R_OK | W_OK;
  tabella_path_arguments indices = call->paths[0];
  long folder = indices.folder < 0 ? AT_FDCWD : (long)arguments[indices.folder];
  long result = RAW(__NR_faccessat, folder, arguments[indices.path], wanted, 0, 0);
  return result == -EACCES || result == -EPERM;
}

/* Opens /proc/N/WHAT after a refusal, if N is a thread of this process. It uses the path through
 * /proc/self/task, which is granted. The thread pool of libdispatch inspects its threads in this way,
 * and ends the process if it cannot. */
NO_PROBES static long open_of_thread(const tabella_call *call, const uint64_t *a) {
  static const char start[] = "/proc/", way[] = "/proc/self/task/";
  enum { START = sizeof start - 1, WAY = sizeof way - 1, ROOM = 64 };
  if (call->number != __NR_openat) return -EACCES;
  char path[WAY - START + ROOM], *asked = path + WAY - START;
  size_t count = read_string(asked, ROOM, a[1]);
  if (count <= START || count == ROOM || !are_same(asked, start, START)) return -EACCES;
  if (asked[START] < '0' || asked[START] > '9') return -EACCES;
  asked[count] = 0;
  for (size_t index = 0; index < WAY; index++) path[index] = way[index];
  return RAW(__NR_openat, AT_FDCWD, path, a[2], a[3], 0);
}

NO_PROBES static long make_call(const tabella_call *call, const uint64_t *a) {
  long result = tabella_raw_call(call->number, (long)a[0], (long)a[1], (long)a[2], (long)a[3],
                                 (long)a[4], (long)a[5]);
  if (is_refusal(result)) {
    long other = open_of_thread(call, a);
    if (other >= 0) return other;
    uint32_t flags = is_refused_by_mode(call, a) ? TABELLA_DENIAL_BY_MODE : 0;
    note(call, call->number, a, (int)-result, flags);
  }
  return result;
}

/* Masks and handlers. */

enum { MASK_SIZE = 8 };
static const uint64_t of_sigsys = UINT64_C(1) << (SIGSYS - 1);

/* Sets the signal mask as requested, except for SIGSYS. If SIGSYS were blocked, the next stopped call
 * would end the process. The handler runs with the mask of the interrupted code. That code later gets
 * the mask in its context. */
NO_PROBES static long set_mask(ucontext_t *context, const uint64_t *a) {
  long result = RAW(__NR_rt_sigprocmask, a[0], a[1], a[2], a[3], 0);
  if (result < 0) return result;
  uint64_t now = 0;
  RAW(__NR_rt_sigprocmask, SIG_BLOCK, 0, &now, MASK_SIZE, 0);
  now &= ~of_sigsys;
  *(uint64_t *)&context->uc_sigmask = now;
  return result;
}

/* The kernel's struct. It differs from the C library's. */
typedef struct {
  void *handler;
  unsigned long flags;
  void *restorer;
  uint64_t mask;
} kernel_action;

enum { HAS_RESTORER = 0x04000000 };

/* Sets a handler as requested, but without blocking SIGSYS. The handler of SIGSYS never changes. */
NO_PROBES static long set_handler(const uint64_t *a) {
  if (a[0] == SIGSYS) return RAW(__NR_rt_sigaction, SIGSYS, 0, a[2], a[3], 0);
  long result = RAW(__NR_rt_sigaction, a[0], a[1], a[2], a[3], 0);
  if (result < 0) return result;
  kernel_action now = {0};
  if (RAW(__NR_rt_sigaction, a[0], 0, &now, MASK_SIZE, 0) == 0 && (now.mask & of_sigsys) != 0) {
    now.mask &= ~of_sigsys;
    RAW(__NR_rt_sigaction, a[0], &now, 0, MASK_SIZE, 0);
  }
  return result;
}

/* The handler. */

NO_PROBES static long answer(uint32_t number, const uint64_t *arguments, ucontext_t *context) {
  const tabella_call *call = tabella_find_call(number);
  if (call == NULL) {
    /* A newer program makes a newer call and can do without it. */
    note(NULL, number, arguments, ENOSYS, 0);
    return -ENOSYS;
  }
  if (number == __NR_rt_sigprocmask) return set_mask(context, arguments);
  if (number == __NR_rt_sigaction) return set_handler(arguments);
  bool is_by_landlock = call->rule == RULE_LANDLOCK || number == __NR_openat2 ||
                        (call->rule == RULE_TRUNCATE && tabella_rules_in_force.truncates);
  if (is_by_landlock) return make_call(call, arguments);
  long result = tabella_make_by_path(call, arguments);
  if (is_refusal(result)) {
    note(call, number, arguments, (int)-result, 0);
  }
  return result;
}

NO_PROBES static void handle(int signal, siginfo_t *info, void *pointer) {
  (void)signal;
  enum { FROM_FILTER = 1 };
  if (info->si_code == SI_TKILL) tabella_confine_if_asked();
  if (info->si_code != FROM_FILTER) return;
  ucontext_t *context = pointer;
#if defined(__x86_64__)
  greg_t *now = context->uc_mcontext.gregs;
  const uint64_t arguments[6] = {
      (uint64_t)now[REG_RDI], (uint64_t)now[REG_RSI], (uint64_t)now[REG_RDX],
      (uint64_t)now[REG_R10], (uint64_t)now[REG_R8],  (uint64_t)now[REG_R9],
  };
  now[REG_RAX] = answer((uint32_t)info->si_syscall, arguments, context);
#elif defined(__aarch64__)
  unsigned long long *now = context->uc_mcontext.regs;
  const uint64_t arguments[6] = {now[0], now[1], now[2], now[3], now[4], now[5]};
  now[0] = (uint64_t)answer((uint32_t)info->si_syscall, arguments, context);
#endif
}

int tabella_denials_begin(int socket, const void *bytes, size_t size) {
  if (size > sizeof prefix) return -EINVAL;
  for (size_t index = 0; index < size; index++) prefix[index] = ((const char *)bytes)[index];
  prefix_size = size;
  report_socket = socket;
  own_pid = getpid();
  /* The handler uses the alternate stack if a thread has one, because threads of some languages have
   * small stacks. It blocks no signal, so that the mask is that of the interrupted code. It is set
   * without the C library, which under a sanitizer would delay the signal. */
  kernel_action action = {
      .handler = (void *)handle,
      .flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART | HAS_RESTORER,
      .restorer = (void *)tabella_raw_return,
  };
  long result = RAW(__NR_rt_sigaction, SIGSYS, &action, 0, MASK_SIZE, 0);
  uint64_t set = of_sigsys;
  if (result == 0) result = RAW(__NR_rt_sigprocmask, SIG_UNBLOCK, &set, 0, MASK_SIZE, 0);
  return (int)result;
}
