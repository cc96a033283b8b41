/* Starting a worker: calls and flags that are not imported into Swift. All return -errno. */
#define _GNU_SOURCE
#include "tabella_system.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

int tabella_system_make_arena(size_t size) {
  int file = memfd_create("tabella-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return -errno;
  if (ftruncate(file, (off_t)size) != 0 ||
      fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    int reason = errno;
    close(file);
    return -reason;
  }
  return file;
}

int tabella_system_make_sockets(int *ends) {
  return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0 ? 0 : -errno;
}

int tabella_system_make_pipe(int *ends) { return pipe2(ends, O_CLOEXEC) == 0 ? 0 : -errno; }

/* posix_spawn closes what it dups over, so sources must not lie among the targets. */
static int above(int file, int limit) { return fcntl(file, F_DUPFD_CLOEXEC, limit); }

int tabella_system_spawn(const char *program, char *const *arguments, char *const *environment,
                         const int *files, int count) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int copies[16];
  int made = 0;
  int reason = 0;
  pid_t process = 0;
  sigset_t none;
  sigset_t all;
  if (count > 16) return -EINVAL;
  if (posix_spawn_file_actions_init(&actions) != 0) return -ENOMEM;
  if (posix_spawnattr_init(&attributes) != 0) {
    posix_spawn_file_actions_destroy(&actions);
    return -ENOMEM;
  }
  for (; made < count && reason == 0; made++) {
    copies[made] = above(files[made], 16);
    if (copies[made] < 0) {
      reason = errno;
      break;
    }
    reason = posix_spawn_file_actions_adddup2(&actions, copies[made], made);
  }
  if (reason == 0) reason = posix_spawn_file_actions_addclosefrom_np(&actions, count);
  sigemptyset(&none);
  sigfillset(&all);
  sigdelset(&all, SIGKILL);
  sigdelset(&all, SIGSTOP);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(
      &attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  if (reason == 0)
    reason = posix_spawn(&process, program, &actions, &attributes, arguments, environment);
  while (made > 0) close(copies[--made]);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return reason == 0 ? (int)process : -reason;
}

int tabella_system_wait(int process, int *status) {
  int got;
  do got = waitpid(process, status, WNOHANG);
  while (got < 0 && errno == EINTR);
  return got < 0 ? -errno : got;
}
