/* Confines each thread of a process, because the kernel confines only the calling thread. All functions
 * return -errno on failure. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/prctl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "handler.h"

/* Drops the rights of a thread. It runs in the handler. */

NO_PROBES static long keep_capabilities(uint64_t kept) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct sets[2];
  long result = RAW(__NR_capget, &header, sets, 0, 0, 0);
  if (result < 0) return result;
  /* The capabilities that a program could gain when it is executed. Dropping them requires a
   * capability; without that capability, none can be gained. */
  for (long bit = 0; RAW(__NR_prctl, PR_CAPBSET_READ, bit, 0, 0, 0) >= 0; bit++) {
    result = RAW(__NR_prctl, PR_CAPBSET_DROP, bit, 0, 0, 0);
    if (result < 0 && result != -EPERM) return result;
  }
  RAW(__NR_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  for (int word = 0; word < 2; word++) {
    uint32_t mask = (uint32_t)(kept >> (32 * word));
    sets[word].permitted &= mask;
    sets[word].effective &= mask;
    sets[word].inheritable = 0;
  }
  return RAW(__NR_capset, &header, sets, 0, 0, 0);
}

NO_PROBES static long confine_this_thread(const tabella_thread_rules *rules) {
  long result = RAW(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (result == 0 && rules->capabilities != UINT64_MAX) {
    result = keep_capabilities(rules->capabilities);
  }
  if (result == 0 && rules->landlock >= 0) {
    result = RAW(__NR_landlock_restrict_self, rules->landlock, 0, 0, 0, 0);
  }
  return result;
}

uint64_t tabella_capabilities(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct sets[2] = {{0}};
  if (syscall(SYS_capget, &header, sets) < 0) return 0;
  return sets[0].permitted | (uint64_t)sets[1].permitted << 32;
}

/* Asking the other threads. */

static struct {
  tabella_thread_rules rules;
  _Atomic int thread;
  _Atomic long answer; /* 1 for done */
} asked;

NO_PROBES void tabella_confine_if_asked(void) {
  if (RAW(__NR_gettid, 0, 0, 0, 0, 0) != atomic_load(&asked.thread)) return;
  long result = confine_this_thread(&asked.rules);
  atomic_store(&asked.answer, result < 0 ? result : 1);
}

typedef struct {
  int64_t end;
  int count; /* threads that answered or ended */
  int threads[4096];
} round_of_threads;

static int64_t milliseconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Whether a thread that does not answer is ignored. The threads of a sanitizer block all signals and
 * run no foreign code. */
static bool is_spared(void) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  return true;
#endif
#endif
  return false;
}

/* Asks a thread and waits for its answer; 0 or -errno. */
static int ask(int thread, int64_t end) {
  atomic_store(&asked.answer, 0);
  atomic_store(&asked.thread, thread);
  while (syscall(__NR_tgkill, getpid(), thread, SIGSYS) == 0) {
    /* Ask again from time to time, because a new thread can still have the mask of another handler. */
    for (int pause = 0; pause < 200; pause++) {
      long answer = atomic_load(&asked.answer);
      if (answer != 0) return answer < 0 ? (int)answer : 0;
      if (milliseconds_now() > end) return is_spared() ? 0 : -ETIME;
      struct timespec moment = {.tv_nsec = 50000};
      nanosleep(&moment, NULL);
      if (syscall(__NR_tgkill, getpid(), thread, 0) < 0) return 0;
    }
  }
  return errno == ESRCH ? 0 : -errno;
}

static bool was_asked(const round_of_threads *r, int thread) {
  for (int index = 0; index < r->count; index++) {
    if (r->threads[index] == thread) return true;
  }
  return false;
}

/* Asks all threads of a listing that were not asked before. Returns their number or -errno. */
static int ask_listed(round_of_threads *r, const char *entries, long size) {
  int count = 0;
  for (long at = 0; at < size;) {
    const struct {
      uint64_t inode;
      int64_t offset;
      uint16_t size;
      uint8_t kind;
      char name[];
    } *entry = (const void *)(entries + at);
    at += entry->size;
    int thread = 0;
    for (const char *digit = entry->name; *digit >= '0' && *digit <= '9'; digit++) {
      thread = thread * 10 + (*digit - '0');
    }
    if (thread == 0 || thread == gettid() || was_asked(r, thread)) continue;
    if ((size_t)r->count == sizeof r->threads / sizeof *r->threads) return -EAGAIN;
    int result = ask(thread, r->end);
    if (result < 0) return result;
    r->threads[r->count++] = thread;
    count++;
  }
  return count;
}

static int ask_others(round_of_threads *r) {
  int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return -errno;
  int count = 0;
  int result = 0;
  char buffer[2048] __attribute__((aligned(8)));
  while (result >= 0) {
    long got = syscall(__NR_getdents64, folder, buffer, sizeof buffer);
    result = got < 0 ? -errno : ask_listed(r, buffer, got);
    if (result > 0) count += result;
    if (got <= 0) break;
  }
  close(folder);
  return result < 0 ? result : count;
}

int tabella_confine_threads(const tabella_thread_rules *rules, int milliseconds) {
  static round_of_threads r;
  r.count = 0;
  r.end = milliseconds_now() + milliseconds;
  asked.rules = *rules;
  /* Repeat until a round finds no new thread. Threads that a confined thread starts are confined too. */
  int result;
  do result = ask_others(&r);
  while (result > 0);
  atomic_store(&asked.thread, 0);
  return result < 0 ? result : (int)confine_this_thread(rules);
}
