/* Starting a worker: calls and flags that Swift cannot import. All functions return -errno on failure. */
#define _GNU_SOURCE
#include "tabella_system.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

int tabella_system_make_shared_memory(size_t size) {
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

/* posix_spawn closes the targets of its dup2 calls, so sources must not have the numbers of targets. */
static int above(int file, int limit) { return fcntl(file, F_DUPFD_CLOEXEC, limit); }

static int spawn(const char *program, char *const *arguments, char *const *environment, const int *files,
                 int count) {
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

/* The thread that starts all workers of this process. The kernel sends the parent-death signal to a
 * worker when the thread that started the worker ends. That thread must therefore live as long as the
 * process. */
typedef struct {
  const char *program;
  char *const *arguments;
  char *const *environment;
  const int *files;
  int count;
  int result;
  bool is_done;
} spawn_request;

static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  spawn_request *request; /* the current or next request of the thread */
  bool runs;
} spawner = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *serve_requests(void *ignored) {
  pthread_mutex_lock(&spawner.lock);
  while (true) {
    while (spawner.request == NULL) pthread_cond_wait(&spawner.changed, &spawner.lock);
    spawn_request *request = spawner.request;
    pthread_mutex_unlock(&spawner.lock);
    int result = spawn(request->program, request->arguments, request->environment, request->files,
                       request->count);
    pthread_mutex_lock(&spawner.lock);
    request->result = result;
    request->is_done = true;
    spawner.request = NULL;
    pthread_cond_broadcast(&spawner.changed);
  }
  return ignored;
}

/* A forked child has no copy of the thread. The child starts its own thread with its first worker. */
static void forget_spawner(void) {
  pthread_mutex_init(&spawner.lock, NULL);
  pthread_cond_init(&spawner.changed, NULL);
  spawner.request = NULL;
  spawner.runs = false;
}

/* Starts the thread unless it runs; 0 or -errno. The caller holds the lock. */
static int start_spawner(void) {
  static bool has_fork_handler;
  if (spawner.runs) return 0;
  if (!has_fork_handler) {
    int reason = pthread_atfork(NULL, NULL, forget_spawner);
    if (reason != 0) return -reason;
    has_fork_handler = true;
  }
  /* This thread handles no signals of the host. */
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  int reason = pthread_create(&thread, NULL, serve_requests, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (reason != 0) return -reason;
  pthread_detach(thread);
  spawner.runs = true;
  return 0;
}

int tabella_system_spawn(const char *program, char *const *arguments, char *const *environment,
                         const int *files, int count) {
  spawn_request request = {program, arguments, environment, files, count, 0, false};
  pthread_mutex_lock(&spawner.lock);
  int result = start_spawner();
  if (result == 0) {
    while (spawner.request != NULL) pthread_cond_wait(&spawner.changed, &spawner.lock);
    spawner.request = &request;
    pthread_cond_broadcast(&spawner.changed);
    while (!request.is_done) pthread_cond_wait(&spawner.changed, &spawner.lock);
    result = request.result;
  }
  pthread_mutex_unlock(&spawner.lock);
  return result;
}

int tabella_system_end_with_host(int socket) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return -errno;
  struct ucred host;
  socklen_t size = sizeof host;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &host, &size) != 0) return -errno;
  /* The host may have ended before this process asked the kernel for the signal. */
  return host.pid == getppid() ? 0 : -ESRCH;
}

int tabella_system_wait(int process, int *status) {
  int got;
  do got = waitpid(process, status, WNOHANG);
  while (got < 0 && errno == EINTR);
  return got < 0 ? -errno : got;
}
