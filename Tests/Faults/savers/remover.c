/* A remover. remover note FILE NOTE records the state of the file. remover undo FILE NOTE removes the file,
   unless another program has changed, replaced or opened it since.

   It keeps the promise of docs/faults.md. Each BAD_… below plants one mistake. The harness must pass the good
   remover and catch every bad one. Exit status: 0 removed and durable, 1 failed, 2 usage, 5 another program has
   changed the file. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef BAD_LOOKS_ONCE
#define BAD_BLIND_UNLINK
#define BAD_NO_LEASE
#endif

static const char *file_name;
static int directory;
static char base[NAME_MAX + 1];
static char aside[NAME_MAX + 1];

static _Noreturn void fail(int status, const char *what) {
  fprintf(stderr, "remover: %s: %s (%s)\n", file_name, what, strerror(errno));
  exit(status);
}

/* Whether both are the same file with the same bytes. A rename changes ctime, so ctime counts only before one. */
static int same(const struct stat *a, const struct stat *b, int with_ctime) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
         a->st_mode == b->st_mode && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
         a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
         (!with_ctime || (a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
                          a->st_ctim.tv_nsec == b->st_ctim.tv_nsec));
}

static void set_aside(void) {
  unsigned long long random;
  if (getrandom(&random, sizeof random, 0) != sizeof random) fail(1, "no random name");
  sprintf(aside, ".tabella-%016llx", random);
  if (renameat2(directory, base, directory, aside, RENAME_NOREPLACE) < 0) fail(5, "cannot be set aside");
}

static _Noreturn void put_back(const char *what) {
  if (renameat2(directory, aside, directory, base, RENAME_NOREPLACE) < 0 && errno != ENOENT)
    fail(1, "stays aside");
  fail(5, what);
}

/* Reads or writes the note. */
static void note(const char *where, struct stat *status, int writes) {
  FILE *stream = fopen(where, writes ? "w" : "r");
  if (!stream) fail(1, "its note cannot be opened");
  size_t done = writes ? fwrite(status, sizeof *status, 1, stream) : fread(status, sizeof *status, 1, stream);
  if (fclose(stream) != 0 || done != 1) fail(1, "its note is damaged");
}

int main(int count, char **arguments) {
  if (count != 4) return 2;
  file_name = arguments[2];
  char path[PATH_MAX];
  strncpy(path, file_name, sizeof path - 1);
  char *slash = strrchr(path, '/');
  if (!slash) return 2;
  strcpy(base, slash + 1);
  *slash = 0;
  directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct stat before, now;
  if (directory < 0 || fstatat(directory, base, &before, AT_SYMLINK_NOFOLLOW) < 0) fail(1, "cannot be found");
  if (strcmp(arguments[1], "note") == 0) {
    note(arguments[3], &before, 1);
    return 0;
  }
  note(arguments[3], &now, 0);
  if (!same(&before, &now, 1)) fail(5, "was changed since");
  int entry = openat(directory, base, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (entry < 0) fail(5, "is gone");
#ifndef BAD_LOOKS_ONCE
  if (fstat(entry, &now) < 0 || !same(&before, &now, 1)) fail(5, "was changed");
#endif
#ifndef BAD_NO_LEASE
  char link[64];
  sprintf(link, "/proc/self/fd/%d", entry);
  int file = open(link, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0 || fcntl(file, F_SETSIG, SIGURG) < 0 || fcntl(file, F_SETLEASE, F_RDLCK) < 0)
    fail(5, "is open for writing");
  if (fstat(entry, &now) < 0 || !same(&before, &now, 1)) fail(5, "was changed");
#endif
#ifdef BAD_BLIND_UNLINK
  if (unlinkat(directory, base, 0) < 0) fail(5, "cannot be removed");
#else
  set_aside();
  if (fstatat(directory, aside, &now, AT_SYMLINK_NOFOLLOW) < 0 || !same(&before, &now, 0))
    put_back("was changed or replaced");
#ifndef BAD_NO_LEASE
  if (fcntl(file, F_GETLEASE) != F_RDLCK) put_back("is open for writing");
#endif
  if (unlinkat(directory, aside, 0) < 0) put_back("cannot be removed");
#endif
  if (fsync(directory) < 0) fail(1, "was done, but may not survive a power cut");
  static const char text[] = "removed\n";
  if (write(STDOUT_FILENO, text, sizeof text - 1) < 0) fail(1, "was done, but this cannot be said");
  return 0;
}
