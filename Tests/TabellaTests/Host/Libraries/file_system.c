/* For LD_PRELOAD: has the calls of the C library fail as on other file systems, and has other programs
 * come between two of them. TABELLA_TEST_FILES says what, in words. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

static int wants(const char *word) {
  const char *words = getenv("TABELLA_TEST_FILES");
  return words != NULL && strstr(words, word) != NULL;
}

static int fails(int number) {
  errno = number;
  return -1;
}

/* No flags, as on NFS. */
PUBLIC int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
  int (*real)(int, const char *, int, const char *, unsigned) = dlsym(RTLD_NEXT, "renameat2");
  if (flags != 0 && wants("plain")) return fails(EINVAL);
  if (flags == 0 && wants("no-rename") && strcmp(new, "t.csv") == 0) return fails(EIO);
  static int exchanges = 0;
  if (flags == RENAME_EXCHANGE && exchanges++ == 0) {
    if (wants("link") && linkat(to, new, to, "twin", 0) != 0) abort();
    if (wants("remove") && unlinkat(to, new, 0) != 0) abort();
  }
  return real(from, old, to, new, flags);
}

static int open_as(const char *name, int directory, const char *path, int flags, mode_t mode) {
  int (*real)(int, const char *, int, mode_t) = dlsym(RTLD_NEXT, name);
  if ((flags & O_TMPFILE) == O_TMPFILE && wants("plain")) return fails(EOPNOTSUPP);
  if (directory == AT_FDCWD && (flags & (O_DIRECTORY | O_PATH)) == O_DIRECTORY && wants("sealed") &&
      strstr(path, "/sealed") != NULL) {
    return fails(EACCES);
  }
  return real(directory, path, flags, mode);
}

#define MODE(flags)                                                       \
  va_list rest;                                                           \
  va_start(rest, flags);                                                  \
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
  va_end(rest)

PUBLIC int openat(int directory, const char *path, int flags, ...) {
  MODE(flags);
  return open_as("openat", directory, path, flags, mode);
}

PUBLIC int openat64(int directory, const char *path, int flags, ...) {
  MODE(flags);
  return open_as("openat64", directory, path, flags, mode);
}

PUBLIC int open(const char *path, int flags, ...) {
  MODE(flags);
  return open_as("openat", AT_FDCWD, path, flags, mode);
}

PUBLIC int open64(const char *path, int flags, ...) {
  MODE(flags);
  return open_as("openat64", AT_FDCWD, path, flags, mode);
}

/* The disk under t.csv is broken. */
PUBLIC int fsync(int file) {
  int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
  char link[64], path[4096] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t size = readlink(link, path, sizeof path - 1);
  if (size > 6 && strcmp(path + size - 6, "/t.csv") == 0 && wants("no-sync")) return fails(EIO);
  return real(file);
}

PUBLIC int fchown(int file, uid_t owner, gid_t group) {
  int (*real)(int, uid_t, gid_t) = dlsym(RTLD_NEXT, "fchown");
  return wants("no-chown") ? fails(EPERM) : real(file, owner, group);
}

PUBLIC int faccessat(int directory, const char *path, int mode, int flags) {
  int (*real)(int, const char *, int, int) = dlsym(RTLD_NEXT, "faccessat");
  if (wants("locked") && strcmp(path, ".") == 0 && (mode & W_OK) != 0) return fails(EACCES);
  return real(directory, path, mode, flags);
}
