/* A provider in C that tries forbidden acts: each from a constructor, from `open` and from a batch of rows. Its one
 * table contains the results: the moment, the act, the system call and the path that a denial should report, and the
 * error or "allowed".
 *
 * The acts affect victims next to the library in `victims/MOMENT/` (key, file, folder/, empty/), the parent process
 * and the machine. Acts on the machine fail for another reason if they are permitted, so that a failure of this test
 * breaks nothing. */
#define _GNU_SOURCE
#include "tabella_batch.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { NEW_FCHMODAT2 = 452, PATH_SIZE = 4200 };

static char folder[4096]; /* of the library */
static char library[4096];
static const char *moment;

static const char *victim(const char *name) {
  static char path[PATH_SIZE];
  snprintf(path, sizeof path, "%.4000s/victims/%s/%s", folder, moment, name);
  return path;
}

static const char *other(const char *name) {
  static char path[PATH_SIZE];
  snprintf(path, sizeof path, "%.4000s/victims/%s/%s", folder, moment, name);
  return path;
}

/* The result of a system call: 0 or -errno. A descriptor is closed. */
static int result(long value) { return value < 0 ? -errno : 0; }

static int closed(long file) {
  if (file < 0) return -errno;
  close((int)file);
  return 0;
}

static int open_path(const char *path, int flags) {
  return closed(syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600));
}

/* Files. */

static int read_key(void) { return open_path(victim("key"), O_RDONLY); }
static int read_shadow(void) { return open_path("/etc/shadow", O_RDONLY); }
static int list_folder(void) { return open_path(victim("folder"), O_RDONLY | O_DIRECTORY); }
static int write_file(void) { return open_path(victim("file"), O_WRONLY); }
static int cut_file(void) { return open_path(victim("file"), O_RDONLY | O_TRUNC); }
static int create_file(void) { return open_path(victim("folder/new"), O_WRONLY | O_CREAT); }
static int create_nameless(void) { return open_path(victim("folder"), O_RDWR | O_TMPFILE); }
static int write_library(void) { return open_path(library, O_WRONLY); }
static int open_device(void) { return open_path("/dev/ptmx", O_RDWR | O_NOCTTY); }
static int truncate_file(void) { return result(truncate(victim("file"), 0)); }
static int unlink_file(void) {
  return result(syscall(SYS_unlinkat, AT_FDCWD, victim("unlinked"), 0));
}
static int remove_folder(void) {
  return result(syscall(SYS_unlinkat, AT_FDCWD, victim("empty"), AT_REMOVEDIR));
}
static int rename_file(void) {
  return result(syscall(SYS_renameat2, AT_FDCWD, victim("renamed"), AT_FDCWD, other("folder/r"), 0));
}
static int exchange_files(void) {
  return result(syscall(SYS_renameat2, AT_FDCWD, victim("file"), AT_FDCWD, other("key"), 2));
}
static int link_file(void) {
  return result(syscall(SYS_linkat, AT_FDCWD, victim("key"), AT_FDCWD, other("folder/l"), 0));
}
static int make_link(void) {
  return result(syscall(SYS_symlinkat, "/", AT_FDCWD, victim("folder/s")));
}
static int make_folder(void) {
  return result(syscall(SYS_mkdirat, AT_FDCWD, victim("folder/d"), 0700));
}
static int make_pipe(void) {
  return result(syscall(SYS_mknodat, AT_FDCWD, victim("folder/p"), S_IFIFO | 0600, 0));
}
static int make_device(void) {
  return result(syscall(SYS_mknodat, AT_FDCWD, victim("folder/n"), S_IFCHR | 0600, 0x103));
}
static int change_mode(void) {
  return result(syscall(SYS_fchmodat, AT_FDCWD, victim("file"), 0644, 0));
}
static int change_mode_by_new_call(void) {
  return result(syscall(NEW_FCHMODAT2, AT_FDCWD, victim("file"), 0644, 0));
}
/* Opening any file as a place (O_PATH) is permitted, but must not permit more. */
static int change_mode_through_place(void) {
  char path[64];
  int place = open(victim("file"), O_PATH | O_CLOEXEC);
  snprintf(path, sizeof path, "/proc/self/fd/%d", place);
  int done = result(syscall(SYS_fchmodat, AT_FDCWD, path, 0644, 0));
  close(place);
  return done;
}
/* A descriptor for reading must not permit more either. */
static int change_open(const char *path) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0) return -errno;
  int done = result(fchmod(file, status.st_mode & 07777));
  close(file);
  return done;
}
static int change_mode_of_accounts(void) { return change_open("/etc/passwd"); }
static int change_mode_of_device(void) { return change_open("/dev/null"); }
static int change_owner(void) {
  return result(syscall(SYS_fchownat, AT_FDCWD, victim("file"), getuid(), getgid(), 0));
}
static int change_times(void) {
  return result(syscall(SYS_utimensat, AT_FDCWD, victim("file"), NULL, 0));
}
static int set_attribute(void) { return result(setxattr(victim("file"), "user.x", "y", 1, 0)); }
static int read_attribute(void) {
  char value[8];
  return result(getxattr(victim("key"), "user.secret", value, sizeof value));
}
static int watch_folder(void) { return closed(syscall(SYS_inotify_init1, 0)); }
static int watch_mount(void) { return closed(syscall(SYS_fanotify_init, 0, 0)); }
static int open_by_handle(void) {
  return closed(syscall(SYS_open_by_handle_at, AT_FDCWD, NULL, 0));
}

/* Sockets. */

static int connected(int family, int type, const void *address, socklen_t size) {
  int file = socket(family, type | SOCK_CLOEXEC, 0);
  if (file < 0) return -errno;
  int done = result(connect(file, address, size));
  close(file);
  return done;
}

static struct sockaddr_in local(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

static int connect_tcp(void) {
  struct sockaddr_in address = local();
  return connected(AF_INET, SOCK_STREAM, &address, sizeof address);
}
static int connect_udp(void) {
  struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(9)};
  address.sin6_addr.s6_addr[15] = 1;
  return connected(AF_INET6, SOCK_DGRAM, &address, sizeof address);
}
static int connect_unix(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/run/nothing"};
  return connected(AF_UNIX, SOCK_STREAM, &address, sizeof address);
}
static int connect_abstract(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "\0nothing"};
  return connected(AF_UNIX, SOCK_DGRAM, &address, offsetof(struct sockaddr_un, sun_path) + 8);
}
static int bind_port(void) {
  struct sockaddr_in address = local();
  address.sin_port = 0;
  int file = socket(AF_INET, SOCK_STREAM, 0);
  if (file < 0) return -errno;
  int done = result(bind(file, (struct sockaddr *)&address, sizeof address));
  close(file);
  return done;
}
static int raw_packets(void) { return closed(socket(AF_PACKET, SOCK_RAW, 0)); }
static int kernel_socket(void) { return closed(socket(AF_NETLINK, SOCK_RAW, 9)); }
static int pair_of_sockets(void) {
  int files[2];
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, files) < 0) return -errno;
  close(files[0]);
  close(files[1]);
  return 0;
}
static int message_queue(void) { return closed(syscall(SYS_mq_open, "nothing", 0, 0, NULL)); }
static int old_message_queue(void) { return result(syscall(SYS_msgget, 0x7ABE11A, 0)); }
static int semaphores(void) { return result(syscall(SYS_semget, 0x7ABE11A, 1, 0)); }
static int shared_memory(void) { return result(syscall(SYS_shmget, 0x7ABE11A, 1, 0)); }

/* Processes. */

static int trace_parent(void) { return result(ptrace(PTRACE_SEIZE, getppid(), NULL, NULL)); }
static int signal_parent(void) { return result(kill(getppid(), 0)); }
static int signal_all(void) { return result(kill(-1, 0)); }
static int signal_group(void) { return result(kill(0, 0)); }
static int signal_thread_of_parent(void) {
  return result(syscall(SYS_tgkill, getppid(), getppid(), 0));
}
static int hold_parent(void) { return closed(syscall(SYS_pidfd_open, getppid(), 0)); }
static int take_descriptor(void) { return closed(syscall(SYS_pidfd_getfd, -1, 0, 0)); }
static int read_parent(void) {
  char bytes[8];
  struct iovec here = {bytes, sizeof bytes};
  struct iovec there = {&folder, sizeof bytes};
  return result(syscall(SYS_process_vm_readv, getppid(), &here, 1, &there, 1, 0));
}
static int write_parent(void) {
  struct iovec there = {NULL, 0};
  return result(syscall(SYS_process_vm_writev, getppid(), &there, 0, &there, 0, 0));
}
static const char *of_parent(const char *name) {
  static char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", (int)getppid(), name);
  return path;
}
static int open_memory_of_parent(void) { return open_path(of_parent("mem"), O_RDONLY); }
static int read_environment_of_parent(void) { return open_path(of_parent("environ"), O_RDONLY); }
static int renice_parent(void) {
  int now = getpriority(PRIO_PROCESS, (id_t)getppid());
  return result(setpriority(PRIO_PROCESS, (id_t)getppid(), now));
}
static int pin_parent(void) {
  unsigned long processors[16];
  long size = syscall(SYS_sched_getaffinity, getppid(), sizeof processors, processors);
  return result(syscall(SYS_sched_setaffinity, getppid(), size, processors));
}
static int limit_parent(void) {
  return result(syscall(SYS_prlimit64, getppid(), RLIMIT_CORE, NULL, NULL));
}
static int signal_by_descriptor(void) {
  int ends[2];
  if (pipe(ends) < 0) return 0;
  int done = result(fcntl(ends[0], F_SETOWN, getppid()));
  close(ends[0]);
  close(ends[1]);
  return done;
}

static int waited(long child) {
  if (child < 0) return -errno;
  if (child == 0) _exit(0);
  while (waitpid((pid_t)child, NULL, 0) < 0 && errno == EINTR) {
  }
  return 0;
}
static int fork_process(void) { return waited(fork()); }
static int clone_process(void) { return waited(syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0)); }
/* The C library blocks all signals around this. */
static int run_command(void) {
  char *arguments[] = {"true", NULL};
  pid_t child = -1;
  int failed = posix_spawn(&child, "/bin/true", NULL, NULL, arguments, NULL);
  return failed != 0 ? -failed : waited(child);
}
static int run_program(void) {
  char *none[] = {NULL};
  return result(execve("/dev/null/nothing", none, none));
}
static int run_memory(void) {
  char *none[] = {NULL};
  return result(syscall(SYS_execveat, -1, "", none, none, AT_EMPTY_PATH));
}

/* Memory. */

static int write_and_run(void) {
  void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
                      -1, 0);
  if (memory == MAP_FAILED) return -errno;
  munmap(memory, 4096);
  return 0;
}
static int run_what_was_written(void) {
  void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 0;
  int done = result(mprotect(memory, 4096, PROT_READ | PROT_EXEC));
  munmap(memory, 4096);
  return done;
}
/* One memory file is mapped twice. The code is written through one mapping and runs through the other. */
static int run_what_is_written(void) {
  int file = memfd_create("code", 0);
  if (file < 0 || ftruncate(file, 4096) != 0) return file < 0 ? -errno : 0;
  void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
  int done = code == MAP_FAILED ? -errno : 0;
  close(file);
  return done;
}
static int fault_handler(void) { return closed(syscall(SYS_userfaultfd, 0)); }

/* The machine. */

static int mount_something(void) { return result(syscall(SYS_mount, "none", "/", "nothing", 0, "")); }
static int unshare_names(void) { return result(unshare(CLONE_NEWUTS)); }
static int join_namespace(void) { return result(setns(-1, 0)); }
static int change_root(void) { return result(chroot("/")); }
static int new_mount_api(void) { return closed(syscall(SYS_fsopen, "nothing", 0)); }
static int become_user(void) { return result(setuid(getuid())); }
static int become_group(void) { return result(setgid(getgid())); }
static int get_capabilities(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct data[2];
  syscall(SYS_capget, &header, data);
  return result(syscall(SYS_capset, &header, data));
}
static int restart_machine(void) { return result(syscall(SYS_reboot, 0, 0, 0, NULL)); }
static int load_kernel(void) { return result(syscall(SYS_kexec_load, 0, 0, NULL, 1u << 30)); }
static int load_module(void) { return result(syscall(SYS_finit_module, -1, "", 0)); }
static int rename_machine(void) { return result(syscall(SYS_sethostname, NULL, -1)); }
static int set_clock(void) { return result(syscall(SYS_clock_settime, 99, NULL)); }
static int swap(void) { return result(syscall(SYS_swapon, "", 0)); }
static int read_kernel_log(void) { return result(syscall(SYS_syslog, 10, NULL, 0)); }
static int set_up_ring(void) { return closed(syscall(SYS_io_uring_setup, 0, NULL)); }
static int load_bpf(void) { return closed(syscall(SYS_bpf, 0, NULL, 0)); }
static int watch_events(void) {
  return closed(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
}
static int use_keys(void) { return result(syscall(SYS_keyctl, 0, -3, 0)); }
static int type_for_terminal(void) { return result(ioctl(0, TIOCSTI, "x")); }

/* The confinement itself. */

static int own_filter(void) { return result(syscall(SYS_seccomp, 1, 0, NULL)); }
static int hide_from_host(void) { return result(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)); }
static int change_personality(void) { return result(syscall(SYS_personality, 0x0400000)); }
static int leave_session(void) { return result(setsid()); }

/* With SIGSYS blocked or without a handler, the kernel would end the process instead. */
static int read_with_signals_blocked(void) {
  uint64_t all = ~UINT64_C(0);
  uint64_t before = 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
  int done = read_key();
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof all);
  return done;
}
static int read_with_signal_unhandled(void) {
  signal(SIGSYS, SIG_DFL);
  return read_key();
}

typedef struct {
  const char *name;
  const char *call; /* the system call that a denial reports */
  const char *path; /* begins with / or is relative to victims/MOMENT/; null if none is reported */
  int (*try)(void);
} act;

static const act every_act[] = {
    {"read a private key", "openat", "key", read_key},
    {"read the passwords", "openat", "/etc/shadow", read_shadow},
    {"list a folder", "openat", "folder", list_folder},
    {"write a file", "openat", "file", write_file},
    {"cut a file by opening", "openat", "file", cut_file},
    {"create a file", "openat", "folder/new", create_file},
    {"create a file without a name", "openat", "folder", create_nameless},
    {"write its own library", "openat", "library", write_library},
    {"open a device", "openat", "/dev/ptmx", open_device},
    {"cut a file", "truncate", "file", truncate_file},
    {"unlink a file", "unlinkat", "unlinked", unlink_file},
    {"remove a folder", "unlinkat", "empty", remove_folder},
    {"rename a file", "renameat2", "renamed", rename_file},
    {"exchange two files", "renameat2", "file", exchange_files},
    {"make a hard link", "linkat", "key", link_file},
    {"make a symbolic link", "symlinkat", "folder/s", make_link},
    {"make a folder", "mkdirat", "folder/d", make_folder},
    {"make a pipe", "mknodat", "folder/p", make_pipe},
    {"make a device", "mknodat", "folder/n", make_device},
    {"change a mode", "fchmodat", "file", change_mode},
    {"change a mode by the new call", "fchmodat2", "file", change_mode_by_new_call},
    {"change a mode through a place", "fchmodat", "place", change_mode_through_place},
    {"change the mode of the accounts", "fchmod", NULL, change_mode_of_accounts},
    {"change the mode of a device", "fchmod", NULL, change_mode_of_device},
    {"change an owner", "fchownat", "file", change_owner},
    {"change times", "utimensat", "file", change_times},
    {"set an attribute", "setxattr", "file", set_attribute},
    {"read an attribute", "getxattr", "key", read_attribute},
    {"watch folders", "inotify_init1", NULL, watch_folder},
    {"watch mounts", "fanotify_init", NULL, watch_mount},
    {"open by handle", "open_by_handle_at", NULL, open_by_handle},
    {"connect by TCP", "socket", NULL, connect_tcp},
    {"connect by UDP", "socket", NULL, connect_udp},
    {"connect to a Unix socket", "socket", NULL, connect_unix},
    {"connect to an abstract socket", "socket", NULL, connect_abstract},
    {"bind a port", "socket", NULL, bind_port},
    {"receive raw packets", "socket", NULL, raw_packets},
    {"talk to the kernel", "socket", NULL, kernel_socket},
    {"make a pair of sockets", "socketpair", NULL, pair_of_sockets},
    {"open a message queue", "mq_open", NULL, message_queue},
    {"get a message queue", "msgget", NULL, old_message_queue},
    {"get semaphores", "semget", NULL, semaphores},
    {"get shared memory", "shmget", NULL, shared_memory},
    {"trace the parent", "ptrace", NULL, trace_parent},
    {"signal the parent", "kill", NULL, signal_parent},
    {"signal everything", "kill", NULL, signal_all},
    {"signal the group", "kill", NULL, signal_group},
    {"signal a thread of the parent", "tgkill", NULL, signal_thread_of_parent},
    {"hold the parent", "pidfd_open", NULL, hold_parent},
    {"take a descriptor of another", "pidfd_getfd", NULL, take_descriptor},
    {"read the parent's memory", "process_vm_readv", NULL, read_parent},
    {"write the parent's memory", "process_vm_writev", NULL, write_parent},
    {"open the parent's memory", "openat", "mem", open_memory_of_parent},
    {"read the parent's environment", "openat", "environ", read_environment_of_parent},
    {"renice the parent", "setpriority", NULL, renice_parent},
    {"pin the parent", "sched_setaffinity", NULL, pin_parent},
    {"read the parent's limits", "prlimit64", NULL, limit_parent},
    {"signal by a descriptor", "fcntl", NULL, signal_by_descriptor},
    {"fork", "clone", NULL, fork_process},
    {"clone a process", "clone", NULL, clone_process},
    {"run a command", "clone", NULL, run_command},
    {"run a program", "execve", "/dev/null/nothing", run_program},
    {"run a program from memory", "execveat", NULL, run_memory},
    {"map memory to write and run", "mmap", NULL, write_and_run},
    {"run what was written", "mprotect", NULL, run_what_was_written},
    {"run what is written", "memfd_create", NULL, run_what_is_written},
    {"handle page faults", "userfaultfd", NULL, fault_handler},
    {"mount", "mount", "/", mount_something},
    {"unshare a namespace", "unshare", NULL, unshare_names},
    {"join a namespace", "setns", NULL, join_namespace},
    {"change the root", "chroot", "/", change_root},
    {"mount by the new calls", "fsopen", NULL, new_mount_api},
    {"become a user", "setuid", NULL, become_user},
    {"become a group", "setgid", NULL, become_group},
    {"set capabilities", "capset", NULL, get_capabilities},
    {"restart the machine", "reboot", NULL, restart_machine},
    {"load a kernel", "kexec_load", NULL, load_kernel},
    {"load a module", "finit_module", NULL, load_module},
    {"rename the machine", "sethostname", NULL, rename_machine},
    {"set a clock", "clock_settime", NULL, set_clock},
    {"swap", "swapon", NULL, swap},
    {"read the kernel's log", "syslog", NULL, read_kernel_log},
    {"set up a ring", "io_uring_setup", NULL, set_up_ring},
    {"load a program into the kernel", "bpf", NULL, load_bpf},
    {"watch events", "perf_event_open", NULL, watch_events},
    {"use keys", "keyctl", NULL, use_keys},
    {"type for the terminal", "ioctl", NULL, type_for_terminal},
    {"filter its own calls", "seccomp", NULL, own_filter},
    {"hide from the host", "prctl", NULL, hide_from_host},
    {"change its personality", "personality", NULL, change_personality},
    {"leave its session", "setsid", NULL, leave_session},
    {"read with all signals blocked", "openat", "key", read_with_signals_blocked},
    {"read with SIGSYS unhandled", "openat", "key", read_with_signal_unhandled},
};
enum { ACTS = sizeof every_act / sizeof *every_act, MOMENTS = 3 };

static const char *const moments[MOMENTS] = {"constructor", "open", "rows"};
static int results[MOMENTS][ACTS];
static int tried[MOMENTS];

static void try_all(int at) {
  if (tried[at]++) return;
  moment = moments[at];
#ifdef ONLY
  if (strcmp(moment, ONLY) != 0) return;
#endif
  for (int index = 0; index < ACTS; index++) results[at][index] = every_act[index].try();
}

__attribute__((constructor)) static void begin(void) {
  Dl_info info;
  if (dladdr((void *)begin, &info) == 0) return;
  /* The library is loaded through its open file, so the loader's name for it is a link to the file. */
  ssize_t length = readlink(info.dli_fname, library, sizeof library - 1);
  if (length > 0)
    library[length] = 0;
  else
    snprintf(library, sizeof library, "%s", info.dli_fname);
  snprintf(folder, sizeof folder, "%s", library);
  *strrchr(folder, '/') = 0;
  try_all(0);
}

/* The table. */

static const tabella_column columns[] = {
    {"moment", TABELLA_TYPE_TEXT, NULL}, {"act", TABELLA_TYPE_TEXT, NULL},
    {"call", TABELLA_TYPE_TEXT, NULL},   {"path", TABELLA_TYPE_TEXT, NULL},
    {"result", TABELLA_TYPE_TEXT, NULL},
};

static const char *path_of(const act *a, int at) {
  moment = moments[at];
  if (a->path == NULL) return "";
  if (strcmp(a->path, "library") == 0) return library;
  if (strcmp(a->path, "mem") == 0 || strcmp(a->path, "environ") == 0) return of_parent(a->path);
  if (strcmp(a->path, "place") == 0) return "/proc/self/fd/";
  return a->path[0] == '/' ? a->path : victim(a->path);
}

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
  return tabella_schema_make(columns, sizeof columns / sizeof *columns, out, error);
}
static int32_t row_count(void *source, int64_t section, int64_t at_least, tabella_count *out,
                         tabella_error *error) {
  (void)source, (void)at_least;
  if (section != 0) return tabella_fail(error, TABELLA_NOT_FOUND, "there is no section");
  out->value = MOMENTS * ACTS;
  out->exact = 1;
  return TABELLA_OK;
}

static const char *cell(int64_t column, int64_t row) {
  int at = (int)(row / ACTS);
  const act *a = &every_act[row % ACTS];
  int number = -results[at][row % ACTS];
  switch (column) {
    case 0: return moments[at];
    case 1: return a->name;
    case 2: return a->call;
    case 3: return path_of(a, at);
    default: return number == 0 ? "allowed" : strerrorname_np(number);
  }
}

static int32_t rows(void *source, const tabella_row_request *request, tabella_batch *out,
                    tabella_error *error) {
  int64_t row, i;
  tabella_batch_builder *batch;
  (void)source;
  if (request->section != 0) return tabella_fail(error, TABELLA_NOT_FOUND, "there is no section");
  if (request->first > MOMENTS * ACTS) return tabella_fail(error, TABELLA_NOT_FOUND, "no such row");
  if (request->flags & TABELLA_ROWS_IDS)
    return tabella_fail(error, TABELLA_NOT_SUPPORTED, "rows have no ids");
  try_all(2);
  batch = tabella_batch_for(request, columns);
  for (row = request->first; row < MOMENTS * ACTS && row - request->first < request->count; row++)
    for (i = 0; i < request->column_count; i++)
      tabella_batch_cstring(batch, i, cell(request->columns[i], row));
  return tabella_batch_finish_rows(batch, row - request->first, out, error);
}

static const tabella_source_table table = {release, NULL,   NULL,      flags,
                                           version, schema, row_count, rows};

static int32_t open_location(void *provider, const tabella_open_request *request,
                             tabella_source *out, tabella_error *error) {
  (void)provider, (void)request, (void)error;
  try_all(1);
  out->table = &table;
  out->source = results;
  return TABELLA_OK;
}

__attribute__((visibility("default"))) int32_t tabella_provider_entry(tabella_entry *entry) {
  entry->provider_contract = TABELLA_CONTRACT_VERSION;
  if (!TABELLA_CONTRACT_ACCEPTS(entry->contract_version)) return TABELLA_NOT_SUPPORTED;
  entry->provider.id = tabella_cstring("acts");
  entry->provider.version = tabella_cstring("1");
  entry->provider.open = open_location;
  return TABELLA_OK;
}
