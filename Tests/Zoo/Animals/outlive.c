/* Tries to outlive its host, for Tests/Zoo/orphans. Each deed continues forever. If the location is opened for
 * editing, the deed also writes next to it as long as it lives. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "deed.h"

static void be_deaf(void) {
  sigset_t all;
  for (int number = 1; number < 65; number++) signal(number, SIG_IGN);
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
}

/* Writes to the current folder, which the caller has set. */
static void *write_for_ever(void *unused) {
  int file = open("alive", O_CREAT | O_WRONLY | O_APPEND, 0600);
  for (;;) {
    if (file >= 0 && write(file, "x", 1) < 0) sched_yield();
    usleep(500);
  }
  return unused;
}
static void start_writing(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, write_for_ever, NULL);
}

A_DEED(stops_itself) {
  start_writing();
  usleep(20000);
  for (;;) raise(SIGSTOP);
}
A_DEED(loops_deaf) {
  be_deaf();
  for (;;) sched_yield();
}
A_DEED(writes_deaf) {
  be_deaf();
  write_for_ever(NULL);
}

static void park(int number) {
  (void)number;
  for (;;) sleep(3600);
}
/* Stops all other threads of the process, including the one that notices the end of the host. */
A_DEED(parks_all_others) {
  struct sigaction action = {.sa_handler = park};
  sigaction(SIGUSR1, &action, NULL);
  DIR *tasks = opendir("/proc/self/task");
  struct dirent *entry;
  while (tasks != NULL && (entry = readdir(tasks)) != NULL) {
    int thread = atoi(entry->d_name);
    if (thread > 0 && thread != (int)syscall(SYS_gettid))
      syscall(SYS_tgkill, getpid(), thread, SIGUSR1);
  }
  be_deaf();
  start_writing();
  for (;;) pause();
}
A_DEED(hangs_up) {
  for (int file = 3; file < 64; file++) close(file);
  be_deaf();
  write_for_ever(NULL);
}
A_DEED(asks_to_stay) {
  prctl(PR_SET_PDEATHSIG, 0);
  prctl(PR_SET_DUMPABLE, 0);
  setsid();
  setpgid(0, 0);
  be_deaf();
  write_for_ever(NULL);
}
/* Ends the thread that the host started, while the process lives on. */
A_DEED(ends_its_first_thread) {
  start_writing();
  be_deaf();
  if (getpid() == (int)syscall(SYS_gettid)) syscall(SYS_exit, 0);
  for (;;) pause();
}
A_DEED(leaves_children) {
  for (int i = 0; i < 8; i++) {
    if (fork() == 0) write_for_ever(NULL);
    if (syscall(SYS_vfork) == 0) write_for_ever(NULL);
    if (syscall(SYS_clone, 0, NULL, NULL, NULL, NULL) == 0) write_for_ever(NULL);
  }
  write_for_ever(NULL);
}
A_DEED(has_many_threads) {
  be_deaf();
  for (int i = 0; i < 40; i++) start_writing();
  for (;;) pause();
}
static void *stop_for_ever(void *unused) {
  for (;;) {
    kill(getpid(), SIGSTOP);
    kill(getpid(), SIGTSTP);
  }
  return unused;
}
A_DEED(is_stopped_by_a_thread) {
  pthread_t thread;
  start_writing();
  pthread_create(&thread, NULL, stop_for_ever, NULL);
  for (;;) sched_yield();
}
