/* P16: takes all resources that it can get. If a request is refused, it continues, or ends if it must. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/timerfd.h>

#include "deed.h"

/* An animal that nobody stops must not exhaust the machine: 9 GB, 500 processes or threads. */
enum { MEGABYTE = 1 << 20, MOST_MEGABYTES = 9000, MOST_OTHERS = 500 };

A_DEED(eats_memory) {
  int i;
  for (i = 0; i < MOST_MEGABYTES; i++) {
    void *piece = malloc(MEGABYTE);
    if (piece == NULL) abort();
    memset(piece, 0x5A, MEGABYTE);
  }
}

A_DEED(eats_shared_memory) {
  int i;
  for (i = 0; i < MOST_MEGABYTES; i++) {
    void *piece = mmap(NULL, MEGABYTE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (piece == MAP_FAILED) abort();
    memset(piece, 0x5A, MEGABYTE);
  }
}

A_DEED(reserves_the_address_space) {
  size_t size;
  for (size = (size_t)1 << 46; size >= 4096; size /= 2)
    while (mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) !=
           MAP_FAILED) {}
}

A_DEED(forks_and_forks) {
  int i;
  for (i = 0; i < MOST_OTHERS; i++) {
    pid_t child = fork();
    if (child < 0) break;
    if (child == 0) {
      pause();
      _exit(0);
    }
  }
}

A_DEED(leaves_a_child) {
  if (fork() == 0) {
    for (;;) sleep(3600);
  }
}

A_DEED(leaves_a_daemon) {
  if (fork() == 0) {
    setsid();
    signal(SIGTERM, SIG_IGN);
    if (fork() == 0)
      for (;;) sleep(3600);
    _exit(0);
  }
}

static void *wait_for_ever(void *unused) {
  for (;;) sleep(3600);
  return unused;
}
A_DEED(starts_threads) {
  pthread_t thread;
  int i;
  for (i = 0; i < MOST_OTHERS; i++)
    if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0) break;
}

A_DEED(opens_and_opens) {
  int i;
  for (i = 0; i < 2000000; i++)
    if (dup(1) < 0) break;
}

A_DEED(watches_and_times) {
  int i;
  for (i = 0; i < 100000; i++)
    if (inotify_init1(0) < 0 && timerfd_create(CLOCK_MONOTONIC, 0) < 0) break;
}

static void *burn(void *unused) {
  static atomic_int spins;
  for (;;) atomic_fetch_add(&spins, 1);
  return unused;
}
A_DEED(burns) {
  pthread_t thread;
  pthread_create(&thread, NULL, burn, NULL);
}

/* Writes until an error. */
static void fill(int file) {
  static char piece[MEGABYTE];
  int i;
  signal(SIGXFSZ, SIG_IGN);
  if (file < 0) return;
  for (i = 0; i < MOST_MEGABYTES; i++)
    if (write(file, piece, sizeof piece) <= 0) break;
}
A_DEED(fills_memory_files) { fill(memfd_create("full", 0)); }
A_DEED(fills_disks) {
  static const char *const places[] = {"/tmp", "/var/tmp", "/dev/shm", ".", "/run"};
  size_t i;
  for (i = 0; i < sizeof places / sizeof *places; i++) {
    char path[256];
    int file = open(places[i], O_TMPFILE | O_RDWR, 0600);
    fill(file);
    snprintf(path, sizeof path, "%s/tabella-zoo-was-here", places[i]);
    file = open(path, O_CREAT | O_RDWR, 0600);
    fill(file);
    if (file >= 0) unlink(path);
  }
}
A_DEED(eats_its_stack) {
  volatile char *stack = __builtin_alloca(512 * MEGABYTE);
  size_t i;
  for (i = 0; i < 512u * MEGABYTE; i += 4096) stack[i] = 1;
}
