/* Signals to a process that cannot be confused with another. All functions return -errno on failure. */
#define _GNU_SOURCE
#include "tabella_system.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int tabella_system_open_process(int pid) {
  long descriptor = syscall(SYS_pidfd_open, pid, 0);
  return descriptor < 0 ? -errno : (int)descriptor;
}

int tabella_system_thread_count(int process) {
  char path[32];
  struct stat status;
  snprintf(path, sizeof path, "/proc/%d/task", process);
  if (stat(path, &status) < 0) return -errno;
  /* The folder has one link for itself, one for its name, and one per thread. */
  return (int)status.st_nlink - 2;
}

int tabella_system_signal_process(int process, int number) {
  return syscall(SYS_pidfd_send_signal, process, number, NULL, 0) < 0 ? -errno : 0;
}

const char *tabella_system_signal_name(int number) {
  return number > 0 && number < NSIG ? sigabbrev_np(number) : NULL;
}
