/* P43: wants more than a worker may have: memory, threads, files of the system, a life after its host.
 * -DDEED=name names the deed, -DEARLY does it in a constructor instead of while rows are read or a batch is
 * committed. Each deed returns whether it succeeded. A deed that succeeded makes the file PLACE/proof/done or
 * shows GOT IT in the first row. */
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

/* The location as the provider was given it. */
static char place[1200];

/* Root that edits may change modes. The system's files keep theirs, by a mount of the worker's own. The mode is
 * set to what it is, so that a failure of this test does no harm. */
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

/* Memory that is mapped twice: one mapping is written, the other one runs. */
A_DEED(runs_what_it_writes) {
  int file = memfd_create("code", 0);
  if (file >= 0 && ftruncate(file, 4096) == 0 &&
      mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0) != MAP_FAILED)
    return 1;
  /* The host's memory, and whatever else was left open for writing. */
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

/* 64 GiB, of which nothing is used: only what is refused counts. */
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
/* A limit of the process's own keeps a reader from growing files, also where nothing else would. */
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
/* Succeeds if it still runs a second after it has more threads than are allowed. */
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
/* As many as are allowed, with those that there are. */
A_DEED(starts_some_threads) {
  pthread_t thread;
  int count = 0;
  while (count < 56 && pthread_create(&thread, NULL, wait_for_ever, NULL) == 0) count++;
  usleep(300000);
  return count < 56;
}

/* Standard input is a terminal or a file that the command has open for writing as well. */
A_DEED(writes_to_its_input) {
  return write(0, "GOT IT\n", 7) >= 0 || ftruncate(0, 0) == 0 ||
         mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, 0, 0) != MAP_FAILED;
}

/* Others read by the same opening of the input: what is set here must not be so for them. */
A_DEED(changes_its_input) {
  int flags = fcntl(0, F_GETFL);
  if (flags < 0 || fcntl(0, F_SETFL, flags | O_NONBLOCK | O_APPEND) != 0) return 1;
  lseek(0, 4096, SEEK_SET);
  return 0;
}

/* A rename that leaves a device behind, beside the location. */
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
/* A link in the place of a folder that it may change: a later command, or a wish, would be granted what the link
 * leads to. WHERE is that folder's, seen from the location, or from the folder that it is in. */
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

/* One who edits cannot show rows: what it got it writes beside its location, or into it. */
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
