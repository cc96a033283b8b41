/* What a safe save and a directory's edits need of the kernel, as -errno. */
#define _GNU_SOURCE
#include "tabella_system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/xattr.h>
#include <unistd.h>

static int result(int value) { return value < 0 ? -errno : value; }

int tabella_system_rename(int from, const char *old_name, int to, const char *new_name,
                          tabella_rename_kind kind) {
  const unsigned flags[] = {0, RENAME_NOREPLACE, RENAME_EXCHANGE};
  return result(renameat2(from, old_name, to, new_name, flags[kind]));
}

int64_t tabella_system_copy_range(int from, int64_t from_offset, int to, int64_t to_offset,
                                  size_t count) {
  off64_t in = from_offset;
  off64_t out = to_offset;
  ssize_t copied = copy_file_range(from, &in, to, &out, count, 0);
  return copied < 0 ? -errno : copied;
}

int tabella_system_make_nameless(int directory) {
  return result(openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
}

int tabella_system_name(int file, int directory, const char *name) {
  /* AT_EMPTY_PATH would need a capability; the way through /proc does not. */
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  return result(linkat(AT_FDCWD, path, directory, name, AT_SYMLINK_FOLLOW));
}

int tabella_system_lock(int file) { return result(flock(file, LOCK_EX | LOCK_NB)); }

int tabella_system_unlock(int file) { return result(flock(file, LOCK_UN)); }

int64_t tabella_system_list_attributes(int file, char *names, size_t size) {
  ssize_t got = flistxattr(file, names, size);
  return got < 0 ? -errno : got;
}

int64_t tabella_system_attribute(int file, const char *name, void *value, size_t size) {
  ssize_t got = fgetxattr(file, name, value, size);
  return got < 0 ? -errno : got;
}

int tabella_system_set_attribute(int file, const char *name, const void *value, size_t size) {
  return result(fsetxattr(file, name, value, size, 0));
}

int tabella_system_remove_attribute(int file, const char *name) {
  return result(fremovexattr(file, name));
}
