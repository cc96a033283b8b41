/*
 * tabella_system.h: the few calls that Swift cannot import from the C library, because they or their
 * types are hidden by _GNU_SOURCE. Each comment states the reason. Never installed.
 */
#ifndef TABELLA_SYSTEM_H
#define TABELLA_SYSTEM_H

#include <stddef.h>
#include <stdbool.h>
#include <pthread.h>
#include <stdint.h>

/* dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE): the last flag is not imported. */
void *_Nullable tabella_system_load(const char *_Nonnull path);

/* The library that was loaded from a file, as `tabella_system_load` returned it; null if it is not
 * loaded. RTLD_NOLOAD is not imported. The loader identifies files by device and inode, and from then
 * on also by the text of this path. */
void *_Nullable tabella_system_loaded(const char *_Nonnull path);

/* Whether an address belongs to a loaded library itself rather than to one of its dependencies. dladdr1
 * and dlinfo are not imported. */
bool tabella_system_belongs(void *_Nonnull library, const void *_Nonnull address);

/* The path of the library that contains an address, or null. dladdr is not imported. The string is
 * valid as long as the library is loaded. */
const char *_Nullable tabella_system_library_of(const void *_Nonnull address);

/* Whether this process has more rights than its user, for example after the start of a setuid program.
 * Its environment is then not trustworthy. getauxval is not imported. */
bool tabella_system_is_privileged(void);

/* Whether an open file is on a file system that forbids execution. The flag of statvfs is not imported. */
bool tabella_system_is_noexec(int file);

/* Whether an open file or O_PATH descriptor is in a file system of processes (/proc). */
bool tabella_system_is_proc(int file);

/* The number of bytes that malloc has allocated in all arenas. mallinfo2 is not imported. */
uint64_t tabella_system_heap_in_use(void);

/* Reads entries of an open directory into a buffer, in the format of getdents64(2), which is not
 * imported. Returns the number of bytes, 0 at the end, or -errno. */
int64_t tabella_system_entries(int directory, void *_Nonnull buffer, size_t size);

/* The result of statx(2) for a file. Its type and flags are not imported. */
typedef struct {
  uint64_t size;
  uint64_t room;         /* bytes of disk space */
  uint64_t inode;
  uint64_t device;
  uint64_t mount;        /* the id of the mount it was found through; 0 if unknown */
  int64_t modified;      /* seconds */
  int64_t changed;       /* the last change of anything, including names */
  uint32_t modified_rest; /* nanoseconds */
  uint32_t changed_rest;
  uint32_t born_rest;
  int64_t born;          /* the time of creation */
  bool has_birth;        /* whether the file system reports that time */
  uint32_t mode;
  uint32_t owner;
  uint32_t group;
  uint32_t links;
  bool is_mounted;       /* whether it is a mount point */
  bool is_immutable;     /* chattr +i */
  bool is_append_only;   /* chattr +a */
} tabella_status;

/* Examines a name in an open directory; an empty name means the directory descriptor itself. Does not
 * follow links and does not wait for a server. Returns 0 or -errno. */
int tabella_system_status(int directory, const char *_Nonnull name, tabella_status *_Nonnull out);

/* Opens a directory for reading, by its name in another directory. Follows a symbolic link only if
 * `follow` is set. Returns a descriptor or -errno. */
int tabella_system_open_directory(int directory, const char *_Nonnull name, int follow);

/* Opens a directory for reading, by its path below another directory. Follows no symbolic links.
 * Returns a descriptor or -errno; -ENOSYS before Linux 5.6. */
int tabella_system_open_directory_below(int directory, const char *_Nonnull path);

/* Copies bytes that wait in a pipe or a socket, and leaves them there. Returns their number; 0 if none
 * wait, or if the file is neither. tee(2) is not imported. */
size_t tabella_system_peek(int file, void *_Nonnull buffer, size_t size);

/* Whether an open directory or file is in /proc or /sys. There, only the kernel creates and removes
 * names, whatever their modes are, and files have no size. statfs(2) is not imported. */
bool tabella_system_is_of_kernel(int file);

/* Whether inotify(7) reports all changes of an open file or directory: not if other hosts can change its
 * file system (NFS, SMB, Ceph, AFS, 9P), nor on FUSE, nor in /proc and /sys. */
bool tabella_system_is_watchable(int file);

/* Creates an event counter that does not block; a descriptor or -errno. eventfd(2) is not imported. */
int tabella_system_make_event(void);

typedef enum {
  TABELLA_RENAME_OVER,       /* Replaces an existing file of the new name. */
  TABELLA_RENAME_NO_REPLACE, /* Returns -EEXIST if the new name exists. */
  TABELLA_RENAME_EXCHANGE,   /* Exchanges the two names. */
} tabella_rename_kind;

/* renameat2(2), whose flags are not imported: 0 or -errno. */
int tabella_system_rename(int from, const char *_Nonnull old_name, int to,
                          const char *_Nonnull new_name, tabella_rename_kind kind);

/* Copies bytes between files inside the kernel. Returns the number of bytes or -errno.
 * copy_file_range(2) is not imported. */
int64_t tabella_system_copy_range(int from, int64_t from_offset, int to, int64_t to_offset,
                                  size_t count);

/* Starts writing bytes of a file to the disk without waiting, so that fsync(2) takes less time. fsync
 * reports errors. sync_file_range(2) is not imported. */
void tabella_system_begin_writing(int file, int64_t offset, int64_t count);

/* Creates a nameless file in an open directory. Only its owner can read and write it. Returns a
 * descriptor or -errno; -EOPNOTSUPP if the file system has no nameless files. O_TMPFILE is not
 * imported. */
int tabella_system_make_nameless(int directory);

/* The first function reserves disk space for `size` bytes of a file from an offset on. The second one
 * makes a file share the disk space of another file's bytes. Both return 0 or -errno; -EOPNOTSUPP if
 * the file system does not support it, and then nothing is done. fallocate(2) and FICLONE are not
 * imported. */
int tabella_system_reserve_space(int file, int64_t from, int64_t size);
int tabella_system_share_bytes(int from, int to);

/* Gives a nameless file a name that does not exist yet; 0 or -errno. */
int tabella_system_name(int file, int directory, const char *_Nonnull name);

/* Locks an open file exclusively for this file description; 0, -EWOULDBLOCK if another one holds a
 * lock, or -errno. The lock ends when the descriptor is closed or the process ends. Swift cannot import
 * flock(2), because a struct has the same name. */
int tabella_system_lock(int file);
/* Locks an open file, shared with others that do the same; -EWOULDBLOCK if another one holds an
 * exclusive lock. */
int tabella_system_lock_shared(int file);
int tabella_system_unlock(int file);

/* Takes a read lease on a file that is open read-only.
 *
 * While the lease holds, no one has the file open for writing, not even through a mapping. A program
 * that opens it for writing from now on waits until the descriptor is closed, at most
 * /proc/sys/fs/lease-break-time. Returns 0, -EAGAIN if someone has the file open for writing, or -errno
 * if no lease is possible: -EACCES for another user's file, -EINVAL, -EOPNOTSUPP. F_SETLEASE is not
 * imported. */
int tabella_system_lease(int file);
/* Whether the lease is unbroken: no one waits to open the file for writing. */
bool tabella_system_holds_lease(int file);
/* The maximum length in bytes of a symbolic link in an open folder that needs no disk block, because
 * the file system stores it in the inode. struct statfs is not imported. */
int tabella_system_short_link(int folder);

/* Reads the names of an open file's extended attributes, each with its NUL. Returns the number of bytes
 * or -errno. A size of 0 asks for the size. This call and the next three are not imported. */
int64_t tabella_system_list_attributes(int file, char *_Nullable names, size_t size);
int64_t tabella_system_attribute(int file, const char *_Nonnull name, void *_Nullable value,
                                 size_t size);
int tabella_system_set_attribute(int file, const char *_Nonnull name, const void *_Nonnull value,
                                 size_t size);
int tabella_system_remove_attribute(int file, const char *_Nonnull name);

/* Copies the chattr(1) flags d, A and S from one open file to another. Returns 0 or -errno; 0 also if
 * the file system has no such flags. FS_IOC_GETFLAGS is not imported. */
int tabella_system_copy_flags(int from, int to);

/* The time of an open file's creation, in nanoseconds since 1970; 0 if the file system does not report
 * it. Together with the inode number it identifies a file among all others, whatever its name is. 0 or
 * -errno. statx(2) is not imported. */
int tabella_system_time_of_birth(int file, int64_t *_Nonnull born);

/* Opens an entry of any type only as a location (O_PATH), without following links. Returns a descriptor
 * for the next two functions, or -errno. O_PATH is not imported. */
int tabella_system_open_entry(int directory, const char *_Nonnull name);

/* Sets the permissions, or the modification time, of the object of such a descriptor, even if its name
 * has changed; 0 or -errno. fchmod(2) and futimens(3) refuse such a descriptor. */
int tabella_system_set_mode(int entry, uint32_t mode);
int tabella_system_set_modified(int entry, int64_t seconds, uint32_t nanoseconds);

/* Writes a whole file system to its disk; 0 or -errno. syncfs(2) is not imported. */
int tabella_system_sync_file_system(int file);

/* A descriptor for a process, or -errno. It always refers to this process, even if its pid is reused. */
int tabella_system_open_process(int pid);

/* Sends a signal through such a descriptor; 0 or -errno (-ESRCH: the process has ended). */
int tabella_system_signal_process(int process, int number);

/* The name of a signal without SIG ("TERM"), or null if there is none. */
const char *_Nullable tabella_system_signal_name(int number);

/* Makes malloc keep some MiB of freed memory. Each batch needs the same amount, and fresh pages would
 * cost a quarter of an export. Call it before other threads run. */
void tabella_system_keep_memory(void);

/* Allocates `count` bytes of memory, or enlarges `pages`, which has `had` bytes, without copying it.
 * From 4 MiB on it uses pages of 2 MiB if the system has them, because each of thousands of smaller
 * pages costs a page fault. Returns null if there is no memory; existing memory then stays. Free the
 * memory with munmap. */
void *_Nullable tabella_system_grow_pages(void *_Nullable pages, size_t had, size_t count);

/* The arguments of the program, followed by null. Swift's CommandLine reads them from /proc, which can
 * be unmounted. */
char *_Nullable const *_Nonnull tabella_system_arguments(void);

/* The resource limit that is too low for the program, as text for a message; null if there is none.
 * Large data can need more. */
const char *_Nullable tabella_system_shortage(void);

/* Installs handlers for SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGXCPU. They clear the progress line and
 * wait for the pager before the signal ends the program. A signal handler must not be Swift. */
void tabella_system_end_cleanly(void);

/* From now on, a write beyond the limit on file sizes (ulimit -f) fails with EFBIG instead of ending
 * the program. A handler that the program has installed stays. */
void tabella_system_survive_file_limit(void);

/* From now on, a write without a reader fails with EPIPE instead of ending the program, so that it can
 * finish its work. The second function then ends the program by SIGPIPE, unless the program was started
 * with SIGPIPE ignored. */
void tabella_system_survive_broken_pipe(void);
void tabella_system_end_by_broken_pipe(void);

/* From now on, the first of these signals calls `stop`, on a separate thread, instead of ending the
 * program. A second signal ends the program. Release the signals once, at the end of the program; that
 * ends the program by the signal if one came. */
void tabella_system_hold_signals(void (*_Nullable stop)(void *_Nullable context),
                                 void *_Nullable context);
void tabella_system_release_signals(void);

/* Creates nameless memory that two processes can share, with a sealed size. Returns a descriptor or
 * -errno. memfd_create(2) and the seals are not imported. */
int tabella_system_make_shared_memory(size_t size);

/* Creates a pair of connected packet sockets, or a pipe. They are closed on exec. 0 or -errno. */
int tabella_system_make_sockets(int *_Nonnull ends);
int tabella_system_make_pipe(int *_Nonnull ends);

/* Starts a program in a new session, without blocked or ignored signals. It has these descriptors as 0,
 * 1, 2, … and no others. Returns its process id or -errno. One thread starts all programs and lives as
 * long as this process; see tabella_system_end_with_host. The required features of posix_spawn(3) are
 * not imported. */
int tabella_system_spawn(const char *_Nonnull program,
                         char *_Nullable const *_Nonnull arguments,
                         char *_Nullable const *_Nonnull environment, const int *_Nonnull files,
                         int count);

/* Makes the kernel end this process with SIGKILL when the process at the other end of `socket` ends.
 * That process must be the parent. 0, -ESRCH if it has ended already, or -errno. This is
 * PR_SET_PDEATHSIG of prctl(2): the signal comes when the thread that started this process ends. */
int tabella_system_end_with_host(int socket);

/* The number of processors on which the calling thread may run; -errno if the system does not say. */
int tabella_system_processor_count(void);

/* Moves a new thread to another processor than that of the caller. Of `count` threads that are started
 * together, this one has the number `number`, from 0; each gets another part of the other processors.
 * Afterwards, the thread may run wherever the caller may.
 *
 * Linux can start a thread on the processor of its parent although another one is idle: in 10 of 12 starts on
 * a virtual machine. The new thread then waited for up to 4 ms. Does nothing if there are fewer other
 * processors than threads, or in a process that may not gain privileges (no_new_privs). */
void tabella_system_place_thread(pthread_t thread, int number, int count);

/* The number of threads of a process; -errno if /proc does not report it. */
int tabella_system_thread_count(int process);

/* Tests whether a child has ended. Returns its process id and status, 0 if it has not ended, or -errno.
 * It is waitpid(2) without waiting. */
int tabella_system_wait(int process, int *_Nonnull status);

/* Uses the whole screen of a terminal, an open descriptor, until tabella_system_end_screen. The end of
 * the program by a signal, a crash and Ctrl-Z restore the terminal. If the size of the terminal changes,
 * and after Ctrl-Z, a handler writes the byte "r" to `wake`, so that the caller draws again. If standard
 * input is the terminal, keys are not echoed and can be read at once. A signal handler must not be
 * Swift. */
void tabella_system_begin_screen(int terminal, int wake);
void tabella_system_end_screen(void);
/* Whether keys can be read from standard input now. */
bool tabella_system_screen_has_keys(void);

/* Records whether standard error shows a progress line. */
void tabella_system_has_progress_line(bool there_is);

/* Records the pager's process and the descriptor that feeds it; 0 and -1 for none. */
void tabella_system_has_pager(int process, int input);

#endif
