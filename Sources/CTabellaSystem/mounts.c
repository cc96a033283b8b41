/* Private mounts of a process. All functions return -errno on failure. The C library of 2021 has no
 * functions for the newer calls. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tabella_confinement.h"

/* linux/mount.h and sys/mount.h cannot be included together. */
enum { CLONE_TREE = 1, FROM_OPEN = 4, ONLY_READ = 1, RECURSIVE = 0x8000 };
struct attributes {
  uint64_t set;
  uint64_t clear;
  uint64_t propagation;
  uint64_t user_namespace;
};

static int result(long value) { return value < 0 ? -errno : (int)value; }

int tabella_own_mounts(void) {
  if (unshare(CLONE_NEWNS) < 0) return -errno;
  /* Later mounts of other processes still appear here. In a chroot whose root is no mount point, this is EINVAL, and the
   * mount that contains the root has no path here. */
  return result(mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL));
}

int tabella_mount_read_only(const char *path) {
  int tree = result(syscall(SYS_open_tree, AT_FDCWD, path, CLONE_TREE | O_CLOEXEC | RECURSIVE));
  if (tree < 0) return tree;
  struct attributes attributes = {.set = ONLY_READ};
  int done = result(syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | RECURSIVE, &attributes,
                            sizeof attributes));
  if (done == 0) done = result(syscall(SYS_move_mount, tree, "", AT_FDCWD, path, FROM_OPEN));
  close(tree);
  return done;
}
