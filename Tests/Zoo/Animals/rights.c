/* P43: tries to exceed a worker's rights: memory, threads, system files, a life after its host. -DDEED=name selects
 * the deed. -DEARLY performs it in a constructor instead of a read or a commit. Each deed returns whether it
 * succeeded. A deed that succeeded creates the file PLACE/proof/done or shows GOT IT in the first row. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "zoo_editing.h"

#define A_DEED(name) __attribute__((unused)) static int name(void)
enum { MEGABYTE = 1 << 20 };

/* The location as the provider received it. */
static char place[1200];

/* Root may change modes when it edits, but a mount of the worker protects system files. The new mode equals the old
 * one, so that a failure of this test does no harm. */
A_DEED(changes_system_modes) {
  static const char *const files[] = {"/etc/passwd", "/etc/group", "/usr/lib", "/proc/cpuinfo", "/proc/stat",
                                      "/proc/meminfo", "/proc/filesystems"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    struct stat status;
    int file = open(files[i], O_RDONLY);
    if (file < 0 || fstat(file, &status) != 0) continue;
    if (fchmod(file, status.st_mode & 07777) == 0 || fchown(file, (uid_t)-1, status.st_gid) == 0)
      return 1;
    close(file);
  }
  return 0;
}

A_DEED(makes_a_memory_file) { return memfd_create("memory", 0) >= 0; }

/* Maps memory twice: it writes through one mapping and runs the other. */
A_DEED(runs_what_it_writes) {
  int file = memfd_create("code", 0);
  if (file >= 0 && ftruncate(file, 4096) == 0 &&
      mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0) != MAP_FAILED)
    return 1;
  /* The host's memory, and everything else that was left open for writing. */
  for (file = 0; file < 1024; file++) {
    int way = fcntl(file, F_GETFL);
    if (way < 0 || (way & O_ACCMODE) == O_RDONLY) continue;
    if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0) != MAP_FAILED) return 1;
  }
  DIR *maps = opendir("/proc/self/map_files");
  struct dirent *entry;
  while (maps != NULL && (entry = readdir(maps)) != NULL) {
    file = openat(dirfd(maps), entry->d_name, O_RDWR);
    if (file >= 0 && mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0) != MAP_FAILED)
      return 1;
  }
  return 0;
}

/* 64 GiB that are never used: only the refusal matters. */
A_DEED(maps_shared_memory) {
  int got = 0;
  for (int i = 0; i < 64; i++)
    got += mmap(NULL, (size_t)1 << 30, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) !=
           MAP_FAILED;
  return got > 16;
}
A_DEED(reserves_addresses) {
  return mmap(NULL, (size_t)1 << 40, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
              0) != MAP_FAILED;
}
/* A limit of the process itself prevents a reader from extending files, even where nothing else does. */
A_DEED(may_grow_files) {
  struct rlimit limit;
  struct rlimit more = {RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_FSIZE, &more);
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur != 0;
}

static void *wait_for_ever(void *unused) {
  for (;;) pause();
  return unused;
}
/* Succeeds if it still runs a second after it exceeded the allowed number of threads. */
A_DEED(starts_threads) {
  pthread_attr_t attributes;
  pthread_t thread;
  int count = 0;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 16384);
  while (count < 3000 && pthread_create(&thread, &attributes, wait_for_ever, NULL) == 0) count++;
  sleep(1);
  return count > 100;
}
/* Starts as many threads as allowed, including the existing ones. */
A_DEED(starts_some_threads) {
  pthread_t thread;
  int count = 0;
  while (count < 56 && pthread_create(&thread, NULL, wait_for_ever, NULL) == 0) count++;
  usleep(300000);
  return count < 56;
}

/* Standard input is a terminal or a file that the command has open for writing, too. */
A_DEED(writes_to_its_input) {
  return write(0, "GOT IT\n", 7) >= 0 || ftruncate(0, 0) == 0 ||
         mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, 0, 0) != MAP_FAILED;
}

/* Other programs share the open file of standard input. Changes here must not affect them. */
A_DEED(changes_its_input) {
  int flags = fcntl(0, F_GETFL);
  if (flags < 0 || fcntl(0, F_SETFL, flags | O_NONBLOCK | O_APPEND) != 0) return 1;
  lseek(0, 4096, SEEK_SET);
  return 0;
}

/* A rename that leaves a device behind, next to the location. */
A_DEED(leaves_a_device) {
  char from[1300], to[1300];
  struct stat status;
  snprintf(from, sizeof from, "%s.renamed", place);
  snprintf(to, sizeof to, "%s.there", place);
  int file = open(from, O_CREAT | O_WRONLY, 0600);
  if (file < 0) return 0;
  close(file);
  if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 4 /* RENAME_WHITEOUT */) != 0) return 0;
  return lstat(from, &status) == 0 && S_ISCHR(status.st_mode);
}

static int is_folder(void) {
  struct stat status;
  return stat(place, &status) == 0 && S_ISDIR(status.st_mode);
}
/* Replaces a folder that it may change by a link. Then a later command, or a permission, would be granted the target
 * of the link. WHERE is the path of that folder, relative to the location or to its folder. */
#ifndef WHERE
#define WHERE ""
#endif
A_DEED(plants_a_link) {
  char sub[1300], aside[1300], link[1300];
  int length = (int)(is_folder() ? strlen(place) : (size_t)(strrchr(place, '/') - place));
  snprintf(sub, sizeof sub, "%.*s%s/sub", length, place, WHERE);
  snprintf(aside, sizeof aside, "%.*s%s/sub.aside", length, place, WHERE);
  snprintf(link, sizeof link, "%.*s%s/link", length, place, WHERE);
  if (rename(sub, aside) != 0) return 0;
  int got = symlink("../closed", sub) == 0;
  got += linkat(AT_FDCWD, link, AT_FDCWD, sub, 0) == 0;
  got += rename(link, sub) == 0;
  got += syscall(SYS_renameat2, AT_FDCWD, link, AT_FDCWD, aside, 2 /* RENAME_EXCHANGE */) == 0;
  return got > 0;
}

A_DEED(does_nothing) { return 0; }

static int is_done = -1;
static void try_it(void) {
  if (is_done < 0) is_done = DEED();
}

#ifdef EARLY
__attribute__((constructor)) static void try_early(void) { try_it(); }
#endif

static void tell(zoo_source *source) {
  snprintf(source->data->rows[0].word, ZOO_WORD, "%s", is_done ? "GOT IT" : "refused");
  source->data->rows[0].length = is_done ? 6 : 7;
}

static int32_t open_and_try(void *provider, const tabella_open_request *request,
                            tabella_source *out, tabella_error *error) {
  int32_t code;
  tabella_open_request given = *request;
  snprintf(place, sizeof place, "%.*s", (int)request->location.length, request->location.bytes);
  /* Not for rows. */
  if (strcmp(place, "/dev/stdin") == 0 || is_folder()) given.location.length = 0;
  code = zoo_open(provider, &given, out, error);
  if (code != TABELLA_OK) return code;
  try_it();
  tell(out->source);
  return code;
}

/* An editing provider cannot show rows, so it writes its results next to the location, or into it. */
static int32_t commit(void *self, const tabella_edit_batch *batch, tabella_edit_result *out,
                      tabella_error *error) {
  char path[1300];
  try_it();
  snprintf(path, sizeof path, "%s%s.%s", place, is_folder() ? "/rows" : "",
           is_done ? "done" : "tried");
  int file = open(path, O_CREAT | O_WRONLY, 0600);
  if (file >= 0) close(file);
  return zoo_commit(self, batch, out, error);
}

ANIMAL {
  zoo_may_edit();
  zoo_editing.commit = commit;
  entry->provider.open = open_and_try;
}
