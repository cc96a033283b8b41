/*
 * tabella_system.h: the few calls that Swift cannot import from the C library, because they or
 * their types are hidden behind _GNU_SOURCE. Each says why it is here. Never installed.
 */
#ifndef TABELLA_SYSTEM_H
#define TABELLA_SYSTEM_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

/* dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE): the last flag is not imported. */
void *_Nullable tabella_system_load(const char *_Nonnull path);

/* The library that a file is loaded as, the same as `tabella_system_load` returned for it, or null if it is
 * not loaded: RTLD_NOLOAD is not imported. The loader knows files by device and inode, and from then on
 * this path by its text as well. */
void *_Nullable tabella_system_loaded(const char *_Nonnull path);

/* Whether an address belongs to a loaded library and not to one that it depends on: dladdr1 and dlinfo are
 * not imported. */
bool tabella_system_belongs(void *_Nonnull library, const void *_Nonnull address);

/* The path of the library that an address belongs to, or null: dladdr is not imported. The string
 * lives as long as the library. */
const char *_Nullable tabella_system_library_of(const void *_Nonnull address);

/* Whether this process has rights that its user has not, as when a setuid program starts: the environment is
 * then not to be believed. getauxval is not imported. */
bool tabella_system_is_privileged(void);

/* Whether an open file lies where nothing may be run from: the flag of statvfs is not imported. */
bool tabella_system_is_noexec(int file);

/* Whether an open file or place is in a file system of processes (/proc). */
bool tabella_system_is_proc(int file);

/* The bytes that malloc has handed out in all arenas: mallinfo2 is not imported. */
uint64_t tabella_system_heap_in_use(void);

/* Reads entries of an open directory into a buffer, as getdents64(2) lays them out; returns how many
 * bytes that was, 0 at the end, or -errno: not imported. */
int64_t tabella_system_entries(int directory, void *_Nonnull buffer, size_t size);

/* What statx(2) says of a file; its type and flags are not imported. */
typedef struct {
  uint64_t size;
  uint64_t room;         /* bytes that it takes on the disk */
  uint64_t inode;
  uint64_t device;
  uint64_t mount;        /* which mount it was found through; 0 is not known */
  int64_t modified;      /* seconds */
  int64_t changed;       /* when anything of it was changed, its names too */
  uint32_t modified_rest; /* nanoseconds */
  uint32_t changed_rest;
  uint32_t born_rest;
  int64_t born;          /* when it was made */
  bool has_birth;        /* whether the file system tells that */
  uint32_t mode;
  uint32_t owner;
  uint32_t group;
  uint32_t links;
  bool is_mounted;       /* whether something is mounted there */
  bool is_immutable;     /* chattr +i */
  bool is_append_only;   /* chattr +a */
} tabella_status;

/* Examines a name in an open directory, or what is open if the name is empty, without following it and
 * without waiting for a server; returns 0 or -errno. */
int tabella_system_status(int directory, const char *_Nonnull name, tabella_status *_Nonnull out);

/* Opens a directory to read it, by its name in another, without following a symbolic link unless
 * `follow` is set; returns a descriptor or -errno. */
int tabella_system_open_directory(int directory, const char *_Nonnull name, int follow);

/* Whether an open directory or file is in /proc or /sys, where only the kernel makes and removes names,
 * whatever their modes say, and files have no size. statfs(2) is not imported. */
bool tabella_system_is_of_kernel(int file);

typedef enum {
  TABELLA_RENAME_OVER,       /* Whatever has the new name is replaced. */
  TABELLA_RENAME_NO_REPLACE, /* -EEXIST if something has the new name. */
  TABELLA_RENAME_EXCHANGE,   /* The two change their names. */
} tabella_rename_kind;

/* renameat2(2), whose flags are not imported: 0 or -errno. */
int tabella_system_rename(int from, const char *_Nonnull old_name, int to,
                          const char *_Nonnull new_name, tabella_rename_kind kind);

/* Copies bytes from one file to another inside the kernel: how many, or -errno; not imported. */
int64_t tabella_system_copy_range(int from, int64_t from_offset, int to, int64_t to_offset,
                                  size_t count);

/* Has the disk begin to take bytes of a file, so that fsync(2) has less to wait for, and waits for nothing.
 * What fails fsync will say. sync_file_range(2) is not imported. */
void tabella_system_begin_writing(int file, int64_t offset, int64_t count);

/* Makes a file without a name in an open directory, readable and writable by its owner only; returns
 * a descriptor or -errno (-EOPNOTSUPP where there is no such thing). O_TMPFILE is not imported. */
int tabella_system_make_nameless(int directory);

/* Takes room on the disk for `size` bytes of a file from a place on, or has it share the disk's copy of another
 * file's bytes; 0 or -errno (-EOPNOTSUPP where there is no such thing, and nothing is done by hand instead).
 * fallocate(2) and FICLONE are not imported. */
int tabella_system_take_room(int file, int64_t from, int64_t size);
int tabella_system_share_bytes(int from, int to);

/* Gives such a file a name that nothing has; 0 or -errno. */
int tabella_system_name(int file, int directory, const char *_Nonnull name);

/* Locks an open file for this description alone; 0, -EWOULDBLOCK if another has it, or -errno. Ends
 * when the descriptor is closed, or with the process. flock(2) is hidden by the struct of its name. */
int tabella_system_lock(int file);
/* The same together with others that lock it so: -EWOULDBLOCK if one has it for itself alone. */
int tabella_system_lock_shared(int file);
int tabella_system_unlock(int file);

/* Takes a read lease on a file that is open here to be read only: nobody has it open for writing, be it
 * through a mapping, and whoever opens it for writing from now on waits until the descriptor is closed, for
 * /proc/sys/fs/lease-break-time at most. 0, -EAGAIN if somebody has it open for writing, or -errno if there
 * is no lease to be had: -EACCES for another's file, -EINVAL, -EOPNOTSUPP. F_SETLEASE is not imported. */
int tabella_system_lease(int file);
/* Whether such a lease stands: nobody waits to open the file for writing. */
bool tabella_system_holds_lease(int file);
/* How many bytes the text of a link in an open folder may have that takes no block, because the file system keeps
 * it in the inode. struct statfs is not imported. */
int tabella_system_short_link(int folder);

/* The names of an open file's extended attributes, each with its NUL; how many bytes, or -errno. Not
 * imported, as the next three. A size of 0 asks for the size. */
int64_t tabella_system_list_attributes(int file, char *_Nullable names, size_t size);
int64_t tabella_system_attribute(int file, const char *_Nonnull name, void *_Nullable value,
                                 size_t size);
int tabella_system_set_attribute(int file, const char *_Nonnull name, const void *_Nonnull value,
                                 size_t size);
int tabella_system_remove_attribute(int file, const char *_Nonnull name);

/* Gives one open file the flags of another that chattr(1) calls d, A and S; 0, also where there is no such
 * thing, or -errno. FS_IOC_GETFLAGS is not imported. */
int tabella_system_copy_flags(int from, int to);

/* Finds out when an open file was made, in nanoseconds since 1970; 0 where the file system does not tell. With
 * the inode's number it tells a file from all others, whatever its name. 0 or -errno. statx(2) is not imported. */
int tabella_system_time_of_birth(int file, int64_t *_Nonnull born);

/* Opens an entry as a place only, whatever it is, without following it: a descriptor for the next two, or
 * -errno. O_PATH is not imported. */
int tabella_system_open_entry(int directory, const char *_Nonnull name);

/* Sets the permissions, or the time of the last change, of what such a descriptor stands for and of
 * nothing else, whatever its name has become; 0 or -errno. fchmod(2) and futimens(3) refuse it. */
int tabella_system_set_mode(int entry, uint32_t mode);
int tabella_system_set_modified(int entry, int64_t seconds, uint32_t nanoseconds);

/* Writes a whole file system to its disk: 0 or -errno; syncfs(2) is not imported. */
int tabella_system_sync_file_system(int file);

/* A descriptor for a process, which stays this process's however pids are used again; or -errno. */
int tabella_system_open_process(int pid);

/* Sends a signal through such a descriptor; 0 or -errno (-ESRCH: it has ended). */
int tabella_system_signal_process(int process, int number);

/* The name of a signal without SIG ("TERM"), or null if there is none. */
const char *_Nullable tabella_system_signal_name(int number);

/* Has malloc keep some MiB that were freed instead of giving them back: one batch after the other needs
 * as much, and fresh pages would cost a quarter of an export. Before other threads run. */
void tabella_system_keep_memory(void);

/* Fresh memory of `count` bytes, or where `pages` are some of it, which had `had` bytes, the same with more:
 * it moves without being copied. From 4 MiB on in pages of 2 MiB where the system has them, because each of
 * thousands of smaller ones is a fault. Null if there is none, and what was there stays. To be given back
 * with munmap. */
void *_Nullable tabella_system_grow_pages(void *_Nullable pages, size_t had, size_t count);

/* The arguments that the program was started with, the last one followed by null. CommandLine reads them from
 * /proc, which may not be mounted. */
char *_Nullable const *_Nonnull tabella_system_arguments(void);

/* What limit leaves the program too little to work with, for a message; null if none does. What it needs for
 * much data may be more. */
const char *_Nullable tabella_system_shortage(void);

/* From now on SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGXCPU end the program as ever, but first wipe the line
 * of progress and wait for the pager: a signal handler must not be Swift. */
void tabella_system_end_cleanly(void);

/* From now on a write beyond the limit on a file's size (ulimit -f) is an error, EFBIG, and not the end. */
void tabella_system_survive_file_limit(void);

/* From now on a write that nobody reads is an error, EPIPE, and not the end: what was begun can be ended.
 * Then the second ends the program by SIGPIPE after all, unless it was started to ignore that. */
void tabella_system_survive_broken_pipe(void);
void tabella_system_end_by_broken_pipe(void);

/* From now on the first of these signals does not end the program but has `stop` called, on a thread of
 * its own; a second one does. To be released once, at the program's end, which ends it
 * after all if one came. */
void tabella_system_hold_signals(void (*_Nullable stop)(void *_Nullable context),
                                 void *_Nullable context);
void tabella_system_release_signals(void);

/* Memory without a name for two processes to share, of a size that is sealed; a descriptor or -errno.
 * memfd_create(2) and the seals are not imported. */
int tabella_system_make_arena(size_t size);

/* A pair of connected sockets of packets, or a pipe, closed on exec: 0 or -errno. */
int tabella_system_make_sockets(int *_Nonnull ends);
int tabella_system_make_pipe(int *_Nonnull ends);

/* Starts a program in a session of its own, without signals blocked or ignored, with these descriptors as
 * 0, 1, 2, … and no others; its process, or -errno. One thread, which lives as long as this process, starts
 * all of them: see tabella_system_end_with_host. What posix_spawn(3) has for this is not imported. */
int tabella_system_spawn(const char *_Nonnull program,
                         char *_Nullable const *_Nonnull arguments,
                         char *_Nullable const *_Nonnull environment, const int *_Nonnull files,
                         int count);

/* Has the kernel end this process with SIGKILL when the process that made the other end of `socket` ends.
 * That process must be the parent. 0, -ESRCH if it has ended already, or -errno. prctl(2), PR_SET_PDEATHSIG:
 * the signal comes when the parent's thread ends that started this process. */
int tabella_system_end_with_host(int socket);

/* How many threads a process has; -errno where /proc does not tell. */
int tabella_system_thread_count(int process);

/* Whether a child has ended: its number and status, 0 if not, or -errno. waitpid(2) without waiting. */
int tabella_system_wait(int process, int *_Nonnull status);

/* Whether a line of progress stands on standard error. */
void tabella_system_has_progress_line(bool there_is);

/* The pager's process and the descriptor that feeds it; 0 and -1 when there is none. */
void tabella_system_has_pager(int process, int input);

#endif
