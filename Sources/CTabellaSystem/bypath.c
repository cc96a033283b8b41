/* Changes of modes, owners, times, attributes and sizes by path. Landlock does not control these calls.
 * The handler therefore opens the path, which Landlock controls, and makes the corresponding call on
 * the descriptor. This file is part of the handler in denials.c.
 *
 * The handler refuses files that cannot be opened: symbolic links themselves, devices, sockets, and
 * files that their owner can neither read nor write. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "handler.h"

/* Opens an existing file without side effects. Devices are refused, because opening can start them. */
NO_PROBES static long open_path(long folder, uint64_t path, bool follows, int way) {
  struct stat status;
  long found = RAW(__NR_newfstatat, folder, path, &status, follows ? 0 : AT_SYMLINK_NOFOLLOW, 0);
  if (found < 0) return found;
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode) && !S_ISFIFO(status.st_mode)) return -EPERM;
  int flags = O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (follows ? 0 : O_NOFOLLOW);
  long file = RAW(__NR_openat, folder, path, way | flags, 0, 0);
  if (file != -EACCES || way != O_RDONLY || S_ISFIFO(status.st_mode)) return file;
  return RAW(__NR_openat, folder, path, O_WRONLY | flags, 0, 0);
}

NO_PROBES static long close_after(long file, long result) {
  RAW(__NR_close, file, 0, 0, 0, 0);
  return result;
}

/* The call on a descriptor that corresponds to an attribute call on a path. */
NO_PROBES static long number_of_open(uint32_t number) {
  switch (number) {
    case __NR_setxattr:
    case __NR_lsetxattr: return __NR_fsetxattr;
    case __NR_removexattr:
    case __NR_lremovexattr: return __NR_fremovexattr;
    case __NR_getxattr:
    case __NR_lgetxattr: return __NR_fgetxattr;
    default: return __NR_flistxattr;
  }
}

NO_PROBES static bool is_of_link(uint32_t number) {
  return number == __NR_lsetxattr || number == __NR_lremovexattr || number == __NR_lgetxattr ||
         number == __NR_llistxattr;
}

NO_PROBES static long change_attribute(uint32_t number, const uint64_t *a) {
  long file = open_path(AT_FDCWD, a[0], !is_of_link(number), O_RDONLY);
  if (file < 0) return file;
  return close_after(file, RAW(number_of_open(number), file, a[1], a[2], a[3], a[4]));
}

NO_PROBES static long change_mode(long folder, uint64_t path, uint64_t mode, uint64_t flags) {
  if ((flags & ~(uint64_t)AT_SYMLINK_NOFOLLOW) != 0) return -EPERM;
  long file = open_path(folder, path, flags == 0, O_RDONLY);
  if (file < 0) return file;
  return close_after(file, RAW(__NR_fchmod, file, mode, 0, 0, 0));
}

NO_PROBES static long change_owner(long folder, uint64_t path, uint64_t owner, uint64_t group,
                                   uint64_t flags) {
  if ((flags & ~(uint64_t)AT_SYMLINK_NOFOLLOW) != 0) return -EPERM;
  long file = open_path(folder, path, flags == 0, O_RDONLY);
  if (file < 0) return file;
  return close_after(file, RAW(__NR_fchown, file, owner, group, 0, 0));
}

NO_PROBES static long change_times(const uint64_t *a) {
  uint64_t flags = a[3];
  if ((flags & ~(uint64_t)AT_SYMLINK_NOFOLLOW) != 0) return -EPERM;
  long file = open_path((long)a[0], a[1], flags == 0, O_RDONLY);
  if (file < 0) return file;
  return close_after(file, RAW(__NR_utimensat, file, 0, a[2], 0, 0));
}

NO_PROBES static long change_size(uint64_t path, uint64_t size) {
  long file = open_path(AT_FDCWD, path, true, O_WRONLY);
  if (file < 0) return file;
  return close_after(file, RAW(__NR_ftruncate, file, size, 0, 0, 0));
}

NO_PROBES long tabella_make_by_path(const tabella_call *call, const uint64_t *a) {
  if (call->rule == RULE_ATTRIBUTE_BY_PATH) return change_attribute(call->number, a);
  if (call->rule == RULE_TRUNCATE) return change_size(a[0], a[1]);
  if (!tabella_rules_in_force.changes) return -EPERM;
  switch (call->number) {
    case __NR_fchmodat: return change_mode((long)a[0], a[1], a[2], 0);
    case __NR_fchmodat2: return change_mode((long)a[0], a[1], a[2], a[3]);
    case __NR_fchownat: return change_owner((long)a[0], a[1], a[2], a[3], a[4]);
    case __NR_utimensat: return change_times(a);
    case __NR_setxattr:
    case __NR_lsetxattr:
    case __NR_removexattr:
    case __NR_lremovexattr: return change_attribute(call->number, a);
#ifdef __x86_64__
    case __NR_chmod: return change_mode(AT_FDCWD, a[0], a[1], 0);
    case __NR_chown: return change_owner(AT_FDCWD, a[0], a[1], a[2], 0);
    case __NR_lchown: return change_owner(AT_FDCWD, a[0], a[1], a[2], AT_SYMLINK_NOFOLLOW);
#endif
    default: return -EPERM;
  }
}
