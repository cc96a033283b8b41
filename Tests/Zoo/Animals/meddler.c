/* P36: changes shared state of the process, and continues normally. */
#include <fcntl.h>
#include <fenv.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "deed.h"

A_DEED(goes_elsewhere) { if (chdir("/") != 0) return; }
A_DEED(has_no_mask) { umask(0); }
A_DEED(speaks_german) {
  setlocale(LC_ALL, "de_DE.UTF-8");
  setlocale(LC_ALL, "C");
  setenv("LC_ALL", "tr_TR.UTF-8", 1);
}
A_DEED(clears_the_environment) { clearenv(); }
A_DEED(poisons_the_environment) {
  setenv("PATH", "/nowhere", 1);
  setenv("LD_PRELOAD", "/nowhere/at/all.so", 1);
  setenv("TABELLA_PROVIDER_PATH", "/nowhere", 1);
  setenv("TZ", ":/nowhere", 1);
}

static void handler(int number) { (void)number; }
A_DEED(handles_all_signals) {
  int number;
  for (number = 1; number < 65; number++) signal(number, handler);
}
A_DEED(ignores_all_signals) {
  sigset_t all;
  int number;
  for (number = 1; number < 65; number++) signal(number, SIG_IGN);
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
}
A_DEED(dies_of_pipes) { signal(SIGPIPE, SIG_DFL); }
A_DEED(has_a_strange_signal_stack) {
  static char small[16384];
  stack_t stack = {small, 0, sizeof small};
  sigaltstack(&stack, NULL);
}

/* Descriptors: the open ones belong to the worker. */

static void close_from(int first, int last) {
  for (; first <= last; first++) close(first);
}
A_DEED(closes_everything) { close_from(0, 255); }
A_DEED(closes_a_range) { syscall(SYS_close_range, 3, ~0u, 0); }
A_DEED(closes_standard_streams) { close_from(0, 2); }
A_DEED(closes_3) { close(3); }
A_DEED(closes_4) { close(4); }
A_DEED(closes_5) { close(5); }
A_DEED(closes_6) { close(6); }
A_DEED(puts_others_in_their_place) {
  int file, null = open("/dev/null", O_RDWR);
  for (file = 3; file < 8; file++)
    if (file != null) dup2(null, file);
}
A_DEED(does_not_block) {
  int file;
  for (file = 0; file < 16; file++) fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK);
}
A_DEED(wants_signals_for_input) {
  int file;
  for (file = 0; file < 8; file++) {
    fcntl(file, F_SETOWN, getpid());
    fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_ASYNC);
  }
}
A_DEED(lets_children_inherit) {
  int file;
  for (file = 3; file < 16; file++) fcntl(file, F_SETFD, 0);
}

static void limit(int resource, rlim_t value) {
  struct rlimit limit = {value, value};
  setrlimit(resource, &limit);
}
A_DEED(allows_no_descriptors) { limit(RLIMIT_NOFILE, 0); }
A_DEED(allows_no_memory) { limit(RLIMIT_AS, 1 << 20); }
A_DEED(allows_no_files) { limit(RLIMIT_FSIZE, 0); }
A_DEED(allows_no_stack) { limit(RLIMIT_STACK, 4096); }
A_DEED(allows_a_second) { limit(RLIMIT_CPU, 1); }
A_DEED(wants_a_core) { limit(RLIMIT_CORE, RLIM_INFINITY); }
A_DEED(wants_no_limits) {
  int resource;
  for (resource = 0; resource < 16; resource++) limit(resource, RLIM_INFINITY);
}

A_DEED(is_nice) { (void)!nice(19); }
A_DEED(is_idle) {
  struct sched_param none = {0};
  sched_setscheduler(0, SCHED_IDLE, &none);
}
A_DEED(outlives_its_parent) { prctl(PR_SET_PDEATHSIG, 0); }
A_DEED(has_another_name) { prctl(PR_SET_NAME, "[kworker/0:0]"); }
A_DEED(cannot_be_looked_at) { prctl(PR_SET_DUMPABLE, 0); }
A_DEED(has_a_session_of_its_own) {
  setpgid(0, 0);
  setsid();
}
A_DEED(has_strange_ways) { personality(PER_LINUX32 | READ_IMPLIES_EXEC); }
A_DEED(rounds_up) { fesetround(FE_UPWARD); }
A_DEED(traps_floats) { feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_INEXACT | FE_OVERFLOW); }
A_DEED(locks_memory) { mlockall(MCL_CURRENT | MCL_FUTURE); }
A_DEED(ticks) {
  struct itimerval often = {{0, 1000}, {0, 1000}};
  signal(SIGALRM, handler);
  setitimer(ITIMER_REAL, &often, NULL);
}
A_DEED(ticks_restlessly) {
  struct itimerval often = {{0, 200}, {0, 200}};
  struct sigaction action = {.sa_handler = handler}; /* without SA_RESTART */
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &often, NULL);
}
A_DEED(is_traced) { ptrace(PTRACE_TRACEME, 0, NULL, NULL); }
A_DEED(lives_in_a_cell) { (void)!chroot("/"), (void)!unshare(CLONE_FS | CLONE_FILES); }
A_DEED(is_nobody) { (void)!setgid(65534), (void)!setuid(65534); }

/* Installs a filter: from here on, every write, send or close kills. */
A_DEED(forbids_itself_to_speak) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sendmsg, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sendto, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

/* Runs when the worker ends. */
static void hang(void) {
  for (;;) sleep(3600);
}
A_DEED(hangs_at_the_end) { atexit(hang); }
static void crash(void) { abort(); }
A_DEED(crashes_at_the_end) { atexit(crash); }
