/* A saver. saver FILE OFFSET|end LENGTH TEXT replaces LENGTH bytes by TEXT.

   It keeps the promise of docs/faults.md. Each BAD_… below plants one mistake that real programs make. The
   harness must pass the good saver and catch every bad one. Exit status: 0 saved and durable, 1 failed, 2 usage,
   4 refused, 5 another program has changed the file. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef BAD_NO_CHECKS
#define BAD_NO_FINGERPRINT
#endif

static const char *file_name;

static _Noreturn void fail(int status, const char *what) {
  fprintf(stderr, "saver: %s: %s (%s)\n", file_name, what, strerror(errno));
  exit(status);
}

static void say_saved(void) {
  static const char text[] = "saved\n";
  if (write(STDOUT_FILENO, text, sizeof text - 1) < 0) fail(1, "was saved, but this cannot be said");
}

/* The replaced file and its folder. */
static int directory;
static char base[NAME_MAX + 1];
static char temporary[NAME_MAX + 1];

/* Removes the temporary file and exits. */
static _Noreturn void give_up(int status, const char *what) {
  int reason = errno;
  if (temporary[0]) unlinkat(directory, temporary, 0);
  errno = reason;
  fail(status, what);
}

static void write_all(int out, const char *text, size_t count) {
#ifdef BAD_IGNORES_WRITE
  if (write(out, text, count) < 0) return;
#elif defined BAD_SHORT_WRITE
  if (write(out, text, count) < 0) give_up(1, "cannot be written");
#else
  while (count > 0) {
    ssize_t wrote = write(out, text, count);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) give_up(1, "cannot be written");
    text += wrote;
    count -= wrote;
  }
#endif
}

/* Copies bytes of `in` to the offset of `out`, in the kernel if possible. */
static void copy(int in, off_t from, int out, off_t count) {
#if !defined BAD_IGNORES_WRITE && !defined BAD_SHORT_WRITE
  while (count > 0) {
    ssize_t copied = copy_file_range(in, &from, out, NULL, count, 0);
    if (copied <= 0) break;
    count -= copied;
  }
#endif
  static char buffer[1 << 20];
  while (count > 0) {
    ssize_t got = pread(in, buffer, count < (off_t)sizeof buffer ? (size_t)count : sizeof buffer, from);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) give_up(1, "cannot be read");
    if (got == 0) give_up(5, "became shorter");
    write_all(out, buffer, got);
    from += got;
    count -= got;
  }
}

/* Whether both are the same file with the same bytes. A rename changes ctime, so ctime counts only before one. */
static int same(const struct stat *a, const struct stat *b, int with_ctime) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
         a->st_mode == b->st_mode && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
         a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
         (!with_ctime || (a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
                          a->st_ctim.tv_nsec == b->st_ctim.tv_nsec));
}

static int make_temporary(void) {
#if defined BAD_PREDICTABLE
  strcpy(temporary, ".tabella-new");
  return openat(directory, temporary, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
#elif defined BAD_ADOPTS
  strcpy(temporary, ".tabella-new");
  return openat(directory, temporary, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
#else
  unsigned long long random;
  if (getrandom(&random, sizeof random, 0) != sizeof random) return -1;
  sprintf(temporary, ".tabella-%016llx", random);
  int made = openat(directory, temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (made < 0) temporary[0] = 0;
  return made;
#endif
}

static void sync_file(int file) {
#if defined BAD_NO_FSYNC
  (void)file;
#elif defined BAD_RETRIES_FSYNC
  if (fsync(file) < 0 && fsync(file) < 0) give_up(1, "cannot be made durable");
#else
  if (fsync(file) < 0) give_up(1, "cannot be made durable");
#endif
}

static void fill(int in, off_t size, off_t offset, off_t length, const char *text, int out) {
  copy(in, 0, out, offset);
  write_all(out, text, strlen(text));
  copy(in, offset + length, out, size - offset - length);
}

/* Replaces the file by the temporary file, if it is still the one that was read. */
static void replace(int in, const struct stat *before) {
  struct stat now;
#ifndef BAD_NO_FINGERPRINT
  if (fstat(in, &now) < 0) give_up(1, "cannot be examined");
  if (!same(before, &now, 1)) give_up(5, "changed meanwhile");
#ifndef BAD_FOLLOWS_LINK
  if (fstatat(directory, base, &now, AT_SYMLINK_NOFOLLOW) < 0)
    give_up(errno == ENOENT ? 5 : 1, "cannot be examined");
  if (!same(before, &now, 1)) give_up(5, "changed meanwhile");
#endif
#endif
#if defined BAD_FOLLOWS_LINK
  /* Looks up the path of the file again. */
  char where[PATH_MAX];
  if (!realpath(file_name, where)) give_up(5, "is gone");
  if (renameat(directory, temporary, AT_FDCWD, where) < 0) give_up(1, "cannot be replaced");
#elif defined BAD_UNLINKS_FIRST
  unlinkat(directory, base, 0);
  if (renameat(directory, temporary, directory, base) < 0) give_up(1, "cannot be replaced");
#elif defined BAD_NO_FINGERPRINT || defined BAD_BLIND_RENAME
  if (renameat(directory, temporary, directory, base) < 0) give_up(1, "cannot be replaced");
#else
  if (renameat2(directory, temporary, directory, base, RENAME_EXCHANGE) < 0)
    give_up(errno == ENOENT ? 5 : 1, "cannot be replaced");
  /* The displaced file must be the one that was read. This closes the gap between check and rename. */
  if (fstatat(directory, temporary, &now, AT_SYMLINK_NOFOLLOW) < 0 || !same(before, &now, 0)) {
    if (renameat2(directory, temporary, directory, base, RENAME_EXCHANGE) < 0)
      fail(1, "was saved, but what another program wrote is in the file .tabella-… beside it");
    give_up(5, "changed meanwhile");
  }
#endif
}

static void sync_directory(void) {
#ifndef BAD_NO_DIRECTORY_FSYNC
  if (fsync(directory) < 0) give_up(1, "was saved, but may not survive a power cut");
#endif
}

int main(int count, char **arguments) {
  if (count != 5) return 2;
#ifndef BAD_DIES_OF_LIMITS
  signal(SIGXFSZ, SIG_IGN);
#endif
  file_name = arguments[1];
  const char *text = arguments[4];
  char path[PATH_MAX];
  if (!realpath(file_name, path)) fail(1, "cannot be found");
  char *slash = strrchr(path, '/');
  strcpy(base, slash + 1);
  slash[slash == path] = 0;
  directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) fail(1, "its directory cannot be opened");
  int in = openat(directory, base, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  struct stat before;
  if (in < 0 || fstat(in, &before) < 0) fail(1, "cannot be opened");
  if (!S_ISREG(before.st_mode) || before.st_nlink > 1) fail(4, "is no file of one name");
  /* Protects savers from each other. Without this lock, one of three could undo its exchange after another had saved
     on top of it. The new file is locked, too, before it has a name. */
#ifndef BAD_NO_CHECKS
  if (flock(in, LOCK_EX | LOCK_NB) < 0) fail(5, "is being saved by another process");
#endif
  off_t length = strtoll(arguments[3], NULL, 10);
  off_t offset = strcmp(arguments[2], "end") ? strtoll(arguments[2], NULL, 10) : before.st_size;
  if (offset + length > before.st_size) fail(4, "is shorter");

#ifdef BAD_IN_PLACE
  char *bytes = malloc(before.st_size + 1);
  if (!bytes || pread(in, bytes, before.st_size, 0) != before.st_size) fail(1, "cannot be read");
  int out = openat(directory, base, O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (out < 0) fail(1, "cannot be opened");
  write_all(out, bytes, offset);
  write_all(out, text, strlen(text));
  write_all(out, bytes + offset + length, before.st_size - offset - length);
  sync_file(out);
#else
  int out = make_temporary();
  if (out < 0) fail(1, "cannot be written beside");
  flock(out, LOCK_EX | LOCK_NB);
  fill(in, before.st_size, offset, length, text, out);
#ifndef BAD_FORGETS_MODE
  if (fchmod(out, before.st_mode & 07777) < 0) give_up(1, "its mode cannot be kept");
#endif
#ifdef BAD_CLAIMS_EARLY
  say_saved();
#endif
#ifdef BAD_RENAMES_FIRST
  replace(in, &before);
  sync_file(out);
#else
  sync_file(out);
  replace(in, &before);
#endif
  sync_directory();
  unlinkat(directory, temporary, 0);
#endif
#ifndef BAD_CLAIMS_EARLY
  say_saved();
#endif
  return 0;
}
