/* A provider in C with habits that a confinement must support. The scheme selects the habit, and the location is a
 * folder. Its one table contains each act and its result: "done", or the error. */
#define _GNU_SOURCE
#include "tabella_batch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { ROWS = 200, NAME = 64 };

static struct {
  char what[NAME];
  int error;
} done[ROWS];
static int count;
static char folder[4096];

static void note(const char *what, long value) {
  snprintf(done[count].what, NAME, "%s", what);
  done[count++].error = value < 0 ? errno : 0;
}

static const char *in(const char *name) {
  static char paths[4][4200];
  static int next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%.4000s/%s", folder, name);
  return path;
}

static long close_all(long file) {
  if (file >= 0) close((int)file);
  return file;
}

/* work: the usual acts of a provider in a folder that it edits. */

static void work(void) {
  int file = open(in("file"), O_RDWR | O_CREAT | O_EXCL, 0600);
  note("create", file);
  note("write", write(file, "0123456789", 10));
  note("fchmod", fchmod(file, 0640));
  struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
  note("futimens", futimens(file, times));
  note("fsync", fsync(file));
  close(file);
  note("truncate", truncate(in("file"), 4));
  note("open to cut", close_all(open(in("file"), O_WRONLY | O_TRUNC)));
  note("chmod", chmod(in("file"), 0600));
  note("fchmodat2", syscall(452, AT_FDCWD, in("file"), 0644, 0));
  note("chown", chown(in("file"), getuid(), getgid()));
  note("lchown", lchown(in("file"), getuid(), getgid()));
  note("utimensat", utimensat(AT_FDCWD, in("file"), times, 0));
  note("make a folder", mkdir(in("sub"), 0700));
  note("chmod of a folder", chmod(in("sub"), 0755));
  note("make a link", symlink("file", in("link")));
  /* These files exist before. */
  note("name a link again", linkat(AT_FDCWD, in("a"), AT_FDCWD, in("a-2"), 0));
  note("rename a link", rename(in("b"), in("b-2")));
  note("exchange a link", syscall(SYS_renameat2, AT_FDCWD, in("c"), AT_FDCWD, in("aside"), 2));
  note("chmod through a link", chmod(in("to-file"), 0600));
  note("rename", rename(in("file"), in("other")));
  note("hard link", link(in("other"), in("second")));
  note("unlink", unlink(in("second")));
  note("list", close_all(open(in("sub"), O_RDONLY | O_DIRECTORY)));
  note("nameless", close_all(open(folder, O_RDWR | O_TMPFILE, 0600)));
  note("move", rename(in("other"), in("sub/moved")));
  note("fork", syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0));
}

/* threads: some exist before the second layer, and some start later. */

static _Atomic int stage;    /* 1: the second layer is installed; 2: the test is over */
static _Atomic int are_live; /* the number of threads that have tried before the second layer */
static struct {
  int before, after;
  int error;
} of_threads[3];

static int read_library(void) {
  int file = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno;
  close(file);
  return 0;
}

static void *live(void *context) {
  int index = (int)(intptr_t)context;
  if (index == 1) {
    uint64_t all = ~UINT64_C(0);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof all);
  }
  /* Little more than the kernel itself needs there. */
  stack_t alternate = {.ss_size = index == 2 ? (size_t)sysconf(_SC_MINSIGSTKSZ) + 2048 : 0};
  if (index == 2) {
    alternate.ss_sp = malloc(alternate.ss_size);
    sigaltstack(&alternate, NULL);
  }
  of_threads[index].before = read_library();
  are_live++;
  while (stage == 0) usleep(1000);
  if (stage == 1) of_threads[index].after = read_library();
  return NULL;
}

static pthread_t early[3];

static void start_threads(void) {
  for (intptr_t index = 0; index < 3; index++)
    pthread_create(&early[index], NULL, live, (void *)index);
  while (are_live < 3) usleep(1000);
}

static void *try(void *context) {
  (void)context;
  errno = read_library();
  note("a later thread", errno != 0 ? -1 : 0);

  /* libdispatch inspects the threads of its pool in the same way. */
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/stat", syscall(SYS_gettid));
  note("look at a thread", close_all(open(path, O_RDONLY | O_NONBLOCK)));
  snprintf(path, sizeof path, "/proc/%d/stat", getppid());
  note("look at the parent", close_all(open(path, O_RDONLY | O_NONBLOCK)));
  return NULL;
}

static void threads(void) {
  static const char *const names[] = {"a thread", "a thread that blocks signals",
                                      "a thread with a small stack"};
  stage = 1;
  for (int index = 0; index < 3; index++) {
    pthread_join(early[index], NULL);
    errno = of_threads[index].before;
    note("loading", errno != 0 ? -1 : 0);
    errno = of_threads[index].after;
    note(names[index], errno != 0 ? -1 : 0);
  }
  errno = read_library();
  note("the main thread", errno != 0 ? -1 : 0);
  pthread_t late;
  note("start a thread", pthread_create(&late, NULL, try, NULL));
  pthread_join(late, NULL);
  /* A handler that blocks all signals, as in many programs. */
  struct sigaction action = {.sa_handler = SIG_IGN};
  sigfillset(&action.sa_mask);
  note("handle a signal", sigaction(SIGUSR1, &action, NULL));
  struct sigaction now;
  sigaction(SIGUSR1, NULL, &now);
  note(sigismember(&now.sa_mask, SIGSYS) ? "SIGSYS is blocked" : "SIGSYS is not blocked", 0);
  note("signal itself", kill(getpid(), SIGUSR1));
  note("signal its thread", raise(SIGUSR1));
}

/* limits: uses more and more of every resource until none is left. */

static long map_until_refused(int kind) {
  enum { MOST = 4096 };
  static void *maps[MOST];
  long got = 0;
  while (got < MOST) {
    maps[got] = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);
    if (maps[got] == MAP_FAILED) break;
    got++;
  }
  for (long index = 0; index < got; index++) munmap(maps[index], 1 << 20);
  return got;
}

static void limits(void) {
  long private = map_until_refused(MAP_PRIVATE);
  long shared = map_until_refused(MAP_SHARED);
  note(private < 4096 ? "memory ends" : "memory is endless", 0);
  note(shared < 4096 ? "shared memory ends" : "shared memory is endless", 0);
  note(private > 16 && private < shared ? "after a while" : "at once", 0);
  int file;
  long files = 0;
  while (files < 4096 && (file = open("/dev/null", O_RDONLY)) >= 0) files++;
  note(files < 4096 ? "files end" : "files are endless", 0);
  for (int number = 32; number < 4096; number++) close(number);
  note("make a memory file", memfd_create("x", 0));
  file = open(in("file"), O_RDWR | O_CREAT, 0600);
  note("write what is small", pwrite(file, "x", 1, 0));
  note("write what is large", pwrite(file, "x", 1, 1 << 30));
  struct rlimit core;
  getrlimit(RLIMIT_CORE, &core);
  note(core.rlim_max <= 1 ? "no core" : "a core", 0);
}

/* granted: acts that permissions allow, and acts that no permission allows. */

static void granted(void) {
  note("signal the parent", kill(getppid(), 0));
  int file = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  note("make a socket", file);
  note("connect", file < 0 ? file : connect(file, (struct sockaddr *)&address, sizeof address));
  note("a Unix socket", close_all(socket(AF_UNIX, SOCK_STREAM, 0)));
  note("raw packets", close_all(socket(AF_PACKET, SOCK_RAW, 0)));
  note("routes", close_all(socket(AF_NETLINK, SOCK_RAW, 0)));
  note("audit", close_all(socket(AF_NETLINK, SOCK_RAW, 9)));
  note("read a folder", close_all(open(folder, O_RDONLY | O_DIRECTORY)));
  note("read processes", close_all(open("/proc/1/stat", O_RDONLY)));
  note("read the parent's memory", close_all(open("/proc/1/mem", O_RDONLY)));
  char *none[] = {NULL};
  note("run", execve("/bin/true", none, none));
}

/* rights: the remaining rights of root, and attempts to regain more. */

static void rights(void) {
  FILE *status = fopen("/proc/self/status", "r");
  char line[NAME];
  while (status != NULL && fgets(line, sizeof line, status) != NULL) {
    char *value = strchr(line, '\t');
    int isRight = strncmp(line, "Cap", 3) == 0 || strncmp(line, "NoNewPrivs", 10) == 0;
    if (!isRight || value == NULL) continue;
    *value = ' ';
    line[strcspn(line, "\n")] = 0;
    note(line, 0);
  }
  if (status != NULL) fclose(status);
}

/* many: more denials than are reported. */

static void many(void) {
  for (int round = 0; round < 2; round++) {
    for (int index = 0; index < 150; index++) {
      char name[32];
      snprintf(name, sizeof name, "new-%d", index);
      mkdir(in(name), 0700);
    }
  }
  note("tried", 0);
}

/* odd: calls that a filter may overlook, and an invalid path. */

static void odd(void) {
  note("a path that is not there", close_all(syscall(SYS_openat, AT_FDCWD, 8, O_RDONLY)));
  char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(page + 4096, 4096);
  memcpy(page + 4096 - 11, "/etc/shadow", 11);
  note("a path that has no end", close_all(syscall(SYS_openat, AT_FDCWD, page + 4085, O_RDONLY)));
  char *at_end = page + 4096 - 12;
  memcpy(at_end, "/etc/shadow", 12);
  note("a path at the end", close_all(syscall(SYS_openat, AT_FDCWD, at_end, O_RDONLY)));
  int here = open(folder, O_PATH | O_DIRECTORY);
  note("a place", here);
  note("from a place", close_all(openat(here, "new", O_WRONLY | O_CREAT, 0600)));
  note("a call of tomorrow", syscall(2000));
  note("a mask that is not there", syscall(SYS_rt_sigprocmask, SIG_BLOCK, 8, NULL, 8));
  note("a handler that is not there", syscall(SYS_rt_sigaction, SIGUSR2, 8, NULL, 8));
}

/* abi: the system calls of another machine. */

static void abi(void) {
#ifdef __x86_64__
  note("x32", syscall(0x40000000 + 39));
#else
  raise(SIGSYS);
  _exit(1);
#endif
}

static const struct {
  const char *name;
  void (*act)(void);
} habits[] = {
    {"work", work}, {"threads", threads}, {"limits", limits}, {"granted", granted},
    {"many", many}, {"odd", odd},         {"abi", abi},       {"rights", rights},
};

__attribute__((constructor)) static void begin(void) { start_threads(); }

/* The table. */

static const tabella_column columns[] = {
    {"what", TABELLA_TYPE_TEXT, NULL},
    {"result", TABELLA_TYPE_TEXT, NULL},
};

static void release(void *source) { (void)source; }
static uint64_t flags(void *source) {
  (void)source;
  return 0;
}
static int32_t version(void *source, tabella_string *out, tabella_error *error) {
  (void)source, (void)out, (void)error;
  return TABELLA_OK;
}
static int32_t schema(void *source, struct ArrowSchema *out, tabella_error *error) {
  (void)source;
  return tabella_schema_make(columns, 2, out, error);
}
static int32_t row_count(void *source, int64_t section, int64_t at_least, tabella_count *out,
                         tabella_error *error) {
  (void)source, (void)at_least;
  if (section != 0) return tabella_fail(error, TABELLA_NOT_FOUND, "there is no section");
  out->value = count;
  out->exact = 1;
  return TABELLA_OK;
}
static int32_t rows(void *source, const tabella_row_request *request, tabella_batch *out,
                    tabella_error *error) {
  int64_t row, i;
  tabella_batch_builder *batch;
  (void)source;
  if (request->section != 0 || request->first > count)
    return tabella_fail(error, TABELLA_NOT_FOUND, "there is no such row");
  if (request->flags & TABELLA_ROWS_IDS)
    return tabella_fail(error, TABELLA_NOT_SUPPORTED, "rows have no ids");
  batch = tabella_batch_for(request, columns);
  for (row = request->first; row < count && row - request->first < request->count; row++)
    for (i = 0; i < request->column_count; i++)
      tabella_batch_cstring(batch, i,
                            request->columns[i] == 0 ? done[row].what
                            : done[row].error == 0   ? "done"
                                                     : strerrorname_np(done[row].error));
  return tabella_batch_finish_rows(batch, row - request->first, out, error);
}

static const tabella_source_table table = {release, NULL,   NULL,      flags,
                                           version, schema, row_count, rows};

static int32_t open_location(void *provider, const tabella_open_request *request,
                             tabella_source *out, tabella_error *error) {
  (void)provider;
  snprintf(folder, sizeof folder, "%.*s", (int)request->location.length, request->location.bytes);
  for (size_t index = 0; index < sizeof habits / sizeof *habits; index++) {
    if (!tabella_string_equals(request->scheme, habits[index].name)) continue;
    habits[index].act();
    if (stage == 0) stage = 2;
    out->table = &table;
    out->source = done;
    return TABELLA_OK;
  }
  return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "there is no such habit");
}

__attribute__((visibility("default"))) int32_t tabella_provider_entry(tabella_entry *entry) {
  entry->provider_contract = TABELLA_CONTRACT_VERSION;
  if (!TABELLA_CONTRACT_ACCEPTS(entry->contract_version)) return TABELLA_NOT_SUPPORTED;
  entry->provider.id = tabella_cstring("habits");
  entry->provider.version = tabella_cstring("1");
  entry->provider.open = open_location;
  return TABELLA_OK;
}
