/* P14, P15: never returns, or too late. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

#include "deed.h"

static atomic_int spins;

A_DEED(loops) {
  for (;;) atomic_fetch_add(&spins, 1);
}
A_DEED(sleeps) {
  for (;;) sleep(3600);
}
A_DEED(waits_for_itself) {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  pthread_mutex_lock(&lock);
}
A_DEED(stops_itself) { kill(getpid(), SIGSTOP); }

static void be_deaf(void) {
  sigset_t all;
  int number;
  for (number = 1; number < 65; number++) signal(number, SIG_IGN);
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
}
A_DEED(loops_deaf) {
  be_deaf();
  loops();
}
A_DEED(sleeps_deaf) {
  be_deaf();
  sleeps();
}

/* Leaves the session and the process group, which are killed together. */
A_DEED(runs_away_and_loops) {
  be_deaf();
  setpgid(0, 0);
  setsid();
  loops();
}

/* Starts several generations of processes. */
A_DEED(loops_with_children) {
  int i;
  for (i = 0; i < 4; i++)
    if (fork() == 0) break;
  loops();
}

A_DEED(reads_the_keyboard) {
  char byte;
  for (;;)
    if (read(0, &byte, 1) <= 0) sleep(3600);
}

static void *hold_output(void *unused) {
  (void)unused;
  flockfile(stdout);
  sleep(3600);
  return NULL;
}
A_DEED(hangs_in_print) {
  pthread_t thread;
  pthread_create(&thread, NULL, hold_output, NULL);
  usleep(20000);
  printf("never\n");
}

A_DEED(takes_a_second) { usleep(1000000); }

/* Waits longer than the allowed time without a sign of life. */
A_DEED(takes_three_seconds) { usleep(3000000); }
