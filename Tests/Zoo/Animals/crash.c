/* P11, P12, P13: crashes, or ends its process. */
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "deed.h"

/* Values that the compiler cannot predict. */
static volatile uintptr_t nothing;
static volatile int zero;

/* Signals */

A_DEED(writes_to_null) { *(volatile int *)nothing = 1; }

A_DEED(calls_nowhere) { ((void (*)(void))(nothing + 0x1000))(); }

A_DEED(runs_off_a_file) {
  int file = open("/etc/passwd", O_RDONLY);
  volatile char *bytes = mmap(NULL, 1 << 24, PROT_READ, MAP_SHARED, file, 0);
  if (file < 0 || bytes == MAP_FAILED) _exit(9);
  (void)bytes[(1 << 24) - 1];
}

A_DEED(divides) { zero = 1 / zero; }
A_DEED(traps) { __builtin_trap(); }
A_DEED(aborts) { abort(); }
A_DEED(asserts) { assert(zero == 1); }

__attribute__((noinline)) static int deeper(int depth) {
  volatile char frame[4096];
  frame[0] = (char)depth;
  return deeper(depth + 1) + frame[0];
}
A_DEED(recurses) { zero = deeper(0); }

A_DEED(kills_itself) { kill(getpid(), SIGKILL); }
A_DEED(terminates_itself) { kill(getpid(), SIGTERM); }
A_DEED(pipes_itself) { signal(SIGPIPE, SIG_DFL), raise(SIGPIPE); }
A_DEED(interrupts_itself) { raise(SIGINT); }
A_DEED(signals_its_group) { kill(0, SIGKILL); }

A_DEED(sets_an_alarm) {
  struct itimerval soon = {{0, 0}, {0, 20000}};
  signal(SIGALRM, SIG_DFL);
  setitimer(ITIMER_REAL, &soon, NULL);
  usleep(5000000);
}

A_DEED(frees_twice) {
  void *volatile memory = malloc(64);
  void *volatile again = memory;
  free(memory);
  free(again);
}

A_DEED(ruins_the_heap) {
  char *volatile memory = malloc(32);
  size_t i;
  for (i = 0; i < 1 << 20; i++) memory[i] = (char)0xAA;
  for (i = 0; i < 1000; i++) free(malloc(i * 8));
}

__attribute__((noinline)) static void overrun(volatile char *bytes) {
  int i;
  for (i = 0; i < 400; i++) bytes[i] = 0x41;
}
A_DEED(smashes_the_stack) {
  volatile char small[8];
  overrun(small);
}

A_DEED(jumps) {
  jmp_buf nowhere;
  memset(&nowhere, 0x41, sizeof nowhere);
  longjmp(nowhere, 1);
}

/* Ends */

A_DEED(exits_0) { exit(0); }
A_DEED(exits_3) { exit(3); }
A_DEED(leaves_0) { _exit(0); }
A_DEED(leaves_quickly) { quick_exit(0); }
A_DEED(leaves_by_system_call) { syscall(SYS_exit_group, 0); }
A_DEED(ends_the_thread) { pthread_exit(NULL); }
A_DEED(ends_the_thread_by_system_call) { syscall(SYS_exit, 0); }

A_DEED(becomes_another_program) {
  char *arguments[] = {"/bin/true", NULL};
  execv(arguments[0], arguments);
}

/* From another thread */

static void *do_exit(void *unused) {
  (void)unused;
  usleep(20000);
  exit(0);
}
static void *do_crash(void *unused) {
  (void)unused;
  usleep(20000);
  writes_to_null();
  return NULL;
}
static void start(void *(*body)(void *)) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, body, NULL) != 0) _exit(9);
  usleep(5000000);
}
A_DEED(exits_from_a_thread) { start(do_exit); }
A_DEED(crashes_from_a_thread) { start(do_crash); }

/* At the end, after all output */

static void *crash_later(void *unused) {
  (void)unused;
  usleep(1000);
  writes_to_null();
  return NULL;
}
A_DEED(crashes_a_little_later) {
  pthread_t thread;
  pthread_create(&thread, NULL, crash_later, NULL);
}
