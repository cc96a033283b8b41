/* For LD_PRELOAD: makes calls of the C library fail as on other file systems, and simulates other programs between
 * two calls. The words in TABELLA_TEST_FILES select the behaviour. */
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

static int ends(const char *path, const char *end) {
  size_t size = strlen(path), count = strlen(end);
  return size >= count && strcmp(path + size - count, end) == 0;
}

/* Another program appends to t.csv ("a") or rewrites it ("w"). */
static void other_writes(const char *mode) {
  FILE *other = fopen("t.csv", mode);
  if (other == NULL || fputs("other,row\n", other) < 0 || fclose(other) != 0) abort();
}

/* No flags, as on NFS. */
PUBLIC int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
  int (*real)(int, const char *, int, const char *, unsigned) = dlsym(RTLD_NEXT, "renameat2");
  if (flags != 0 && wants("plain")) return fails(EINVAL);
  if (flags == 0 && wants("no-rename") && strcmp(new, "t.csv") == 0) return fails(EIO);
  if (flags == 0 && wants("other-adds-at-backup") && strcmp(new, "t.csv~") == 0) other_writes("a");
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

/* Whether the path of an open file has this end. */
static int is_at(int file, const char *end) {
  char link[64], path[4096] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  return readlink(link, path, sizeof path - 1) >= 0 && ends(path, end);
}

/* The disk of t.csv is broken, permanently or once, or slow. Or another program writes into the file as soon as it
 * has its name, when its folder is synced. Or it writes before a save in place is durable. */
PUBLIC int fsync(int file) {
  int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
  static int failed = 0;
  if (is_at(file, "/t.csv")) {
    if (wants("no-sync")) return fails(EIO);
    if (wants("sync-fails-once") && failed++ == 0) return fails(EIO);
    if (wants("slow-sync")) usleep(1000000);
    if (wants("other-adds-at-sync")) other_writes("a");
    if (wants("other-rewrites-at-sync")) other_writes("w");
  }
  if (is_at(file, "/sealed") && wants("other-writes")) other_writes("a");
  return real(file);
}

/* Another program appends to t.csv while new bytes are written into it. */
PUBLIC ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *there, size_t size,
                               unsigned flags) {
  ssize_t (*real)(int, off64_t *, int, off64_t *, size_t, unsigned) =
      dlsym(RTLD_NEXT, "copy_file_range");
  if (is_at(to, "/t.csv") && wants("other-adds-at-copy")) other_writes("a");
  return real(from, at, to, there, size, flags);
}

/* Another program writes when a save in place no longer needs the old bytes. */
PUBLIC int unlink(const char *path) {
  int (*real)(const char *) = dlsym(RTLD_NEXT, "unlink");
  if (strstr(path, "/in-place/") != NULL) {
    if (wants("other-adds-at-end")) other_writes("a");
    if (wants("other-rewrites-at-end")) other_writes("w");
  }
  return real(path);
}

PUBLIC int fsetxattr(int file, const char *name, const void *value, size_t size, int flags) {
  int (*real)(int, const char *, const void *, size_t, int) = dlsym(RTLD_NEXT, "fsetxattr");
  return wants("no-attributes") ? fails(EPERM) : real(file, name, value, size, flags);
}

/* No birth times, as on NFS. Or the call fails: one certain request for a birth time, or all for a note in the
 * trash. */
PUBLIC int statx(int directory, const char *path, int flags, unsigned mask, struct statx *status) {
  int (*real)(int, const char *, int, unsigned, struct statx *) = dlsym(RTLD_NEXT, "statx");
  static int births = 0;
  char word[32];
  if (mask == STATX_BTIME) {
    snprintf(word, sizeof word, "birth-%d-fails", ++births);
    if (wants(word)) return fails(EIO);
  }
  if (path[0] == 0 && wants("note-fails") && is_at(directory, ".trashinfo")) return fails(EIO);
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
  /* Only for the folder of the table. */
  if (wants("locked") && strcmp(path, ".") == 0 && (mode & W_OK) != 0 &&
      real(directory, "t.csv", F_OK, 0) == 0)
    return fails(EACCES);
  return real(directory, path, mode, flags);
}
