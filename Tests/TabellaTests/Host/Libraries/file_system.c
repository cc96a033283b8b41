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
#include <sys/stat.h>
#include <sys/xattr.h>
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
  if (strcmp(path, "planets.so") == 0 && (flags & O_PATH) == 0) {
    if (wants("becomes-other") && renameat(directory, "other.so", directory, path) != 0) abort();
    if (wants("vanishes")) {
      int file = real(directory, path, flags, mode);
      if (unlinkat(directory, path, 0) != 0) abort();
      return file;
    }
  }
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

static int ends(const char *path, const char *end) {
  size_t size = strlen(path), count = strlen(end);
  return size >= count && strcmp(path + size - count, end) == 0;
}

/* The disk under t.csv is broken: for good, or for a moment. Or another program writes into the file as soon
 * as it has its name: its folder is made durable then. */
PUBLIC int fsync(int file) {
  int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
  char link[64], path[4096] = "";
  static int failed = 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  if (readlink(link, path, sizeof path - 1) < 0) return real(file);
  if (ends(path, "/t.csv") && wants("no-sync")) return fails(EIO);
  if (ends(path, "/t.csv") && wants("sync-fails-once") && failed++ == 0) return fails(EIO);
  if (ends(path, "/sealed") && wants("other-writes")) {
    FILE *other = fopen("t.csv", "a");
    if (other == NULL || fputs("other,row\n", other) < 0 || fclose(other) != 0) abort();
  }
  return real(file);
}

PUBLIC int fsetxattr(int file, const char *name, const void *value, size_t size, int flags) {
  int (*real)(int, const char *, const void *, size_t, int) = dlsym(RTLD_NEXT, "fsetxattr");
  return wants("no-attributes") ? fails(EPERM) : real(file, name, value, size, flags);
}

/* No times of birth, as on NFS. */
PUBLIC int statx(int directory, const char *path, int flags, unsigned mask, struct statx *status) {
  int (*real)(int, const char *, int, unsigned, struct statx *) = dlsym(RTLD_NEXT, "statx");
  int result = real(directory, path, flags, mask, status);
  if (result == 0 && wants("no-birth")) status->stx_mask &= ~STATX_BTIME;
  return result;
}

PUBLIC int fchown(int file, uid_t owner, gid_t group) {
  int (*real)(int, uid_t, gid_t) = dlsym(RTLD_NEXT, "fchown");
  return wants("no-chown") ? fails(EPERM) : real(file, owner, group);
}

PUBLIC int faccessat(int directory, const char *path, int mode, int flags) {
  int (*real)(int, const char *, int, int) = dlsym(RTLD_NEXT, "faccessat");
  /* The table's folder, and no other. */
  if (wants("locked") && strcmp(path, ".") == 0 && (mode & W_OK) != 0 &&
      real(directory, "t.csv", F_OK, 0) == 0)
    return fails(EACCES);
  return real(directory, path, mode, flags);
}
