/* P37: accesses foreign data. Its location is PLACE/open/rows; the forbidden data is in PLACE/closed. It shows
 * everything that it could read. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "zoo.h"

static char closed[1200];
static char loot[ZOO_WORD];

#define A_DEED(name) __attribute__((unused)) static int name(void)

static const char *in_closed(const char *name) {
  static char path[1300];
  snprintf(path, sizeof path, "%s/%s", closed, name);
  return path;
}

/* Each deed returns whether it succeeded. */

static int take(int file) {
  ssize_t count = file < 0 ? -1 : read(file, loot, sizeof loot - 1);
  if (file >= 0) close(file);
  return count > 0;
}
A_DEED(reads_a_key) { return take(open(in_closed("key"), O_RDONLY)); }
A_DEED(reads_through_a_link) {
  char path[1300];
  snprintf(path, sizeof path, "%s/../open/link", closed);
  return take(open(path, O_RDONLY));
}
A_DEED(reads_shadow) { return take(open("/etc/shadow", O_RDONLY)); }
A_DEED(reads_the_parents_memory) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/environ", (int)getppid());
  if (take(open(path, O_RDONLY))) return 1;
  snprintf(path, sizeof path, "/proc/%d/mem", (int)getppid());
  return open(path, O_RDWR) >= 0;
}
A_DEED(copies_from_the_parent) {
  struct iovec here = {loot, 16}, there = {(void *)0x10000, 16};
  return syscall(SYS_process_vm_readv, getppid(), &here, 1, &there, 1, 0) >= 0 ||
         ptrace(PTRACE_SEIZE, getppid(), NULL, NULL) == 0;
}
A_DEED(writes_elsewhere) {
  int file = open(in_closed("key"), O_WRONLY | O_TRUNC);
  return file >= 0 || open(in_closed("new"), O_CREAT | O_WRONLY, 0600) >= 0;
}
A_DEED(writes_its_location) {
  /* The location is opened for reading. */
  char path[1300];
  snprintf(path, sizeof path, "%s/../open/rows", closed);
  return open(path, O_WRONLY | O_TRUNC) >= 0 || truncate(path, 1) == 0;
}
A_DEED(removes) { return unlink(in_closed("key")) == 0 || rmdir(in_closed("empty")) == 0; }
A_DEED(renames) {
  char from[1300];
  snprintf(from, sizeof from, "%s", in_closed("key"));
  return rename(from, in_closed("other")) == 0 || link(from, in_closed("linked")) == 0 ||
         symlink(from, in_closed("soft")) == 0;
}
A_DEED(changes_modes) {
  return chmod(in_closed("key"), 0777) == 0 || chown(in_closed("key"), 65534, 65534) == 0;
}
A_DEED(changes_times) {
  struct timespec times[2] = {{1, 0}, {1, 0}};
  return utimensat(AT_FDCWD, in_closed("key"), times, 0) == 0 ||
         setxattr(in_closed("key"), "user.zoo", "1", 1, 0) == 0;
}
A_DEED(calls_out) {
  struct sockaddr_in address = {AF_INET, htons(9), {htonl(INADDR_LOOPBACK)}, {0}};
  int file = socket(AF_INET, SOCK_STREAM, 0);
  /* A refused connection proves access to the network, too. */
  return file >= 0 && (connect(file, (struct sockaddr *)&address, sizeof address) == 0 ||
                       errno == ECONNREFUSED);
}
A_DEED(calls_out_by_datagram) {
  struct sockaddr_in address = {AF_INET, htons(9), {htonl(INADDR_LOOPBACK)}, {0}};
  int file = socket(AF_INET, SOCK_DGRAM, 0);
  return file >= 0 && sendto(file, "x", 1, 0, (struct sockaddr *)&address, sizeof address) == 1;
}
A_DEED(listens) {
  struct sockaddr_un address = {AF_UNIX, "\0tabella-zoo"};
  int file = socket(AF_UNIX, SOCK_STREAM, 0);
  return file >= 0 && bind(file, (struct sockaddr *)&address, 14) == 0;
}
A_DEED(ends_the_parent) {
  return kill(getppid(), SIGKILL) == 0 || kill(getppid(), SIGTERM) == 0 ||
         syscall(SYS_tgkill, getppid(), getppid(), SIGKILL) == 0;
}
A_DEED(runs_a_program) {
  pid_t child = fork();
  int status = 0;
  if (child < 0) return 0;
  if (child == 0) {
    char *arguments[] = {"/bin/sh", "-c", "exit 7", NULL};
    execv(arguments[0], arguments);
    _exit(1);
  }
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 7;
}
A_DEED(mounts) {
  /* ENODEV means that mounting is permitted, because the kind does not exist. */
  return mount("none", closed, "no-such-kind", 0, NULL) != 0 && errno == ENODEV;
}
A_DEED(makes_a_device) { return mknod(in_closed("device"), S_IFCHR | 0600, 0x103) == 0; }

static int32_t open_and_try(void *provider, const tabella_open_request *request,
                            tabella_source *out, tabella_error *error) {
  zoo_source *source;
  int is_done;
  int32_t code;
  snprintf(closed, sizeof closed, "%.*s", (int)request->location.length, request->location.bytes);
  if (strrchr(closed, '/') == NULL) return tabella_fail(error, TABELLA_NOT_FOUND, "no place");
  strcpy(strrchr(closed, '/'), "/../closed");
  is_done = DEED();
  code = zoo_open(provider, request, out, error);
  if (code != TABELLA_OK) return code;
  source = out->source;
  snprintf(source->data->rows[0].word, ZOO_WORD, "%s", is_done ? "GOT IT" : "refused");
  source->data->rows[0].length = is_done ? 6 : 7;
  memcpy(source->data->rows[1].word, loot, ZOO_WORD);
  return code;
}

ANIMAL { entry->provider.open = open_and_try; }
