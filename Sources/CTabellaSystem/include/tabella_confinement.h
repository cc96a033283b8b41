/*
 * tabella_confinement.h: restrictions that the kernel can impose on a process that runs foreign code
 * (Landlock, seccomp, capabilities). Swift cannot import them. The calls have no functions in the C
 * library, a filter is a program, and a signal handler answers refused calls. Never installed.
 */
#ifndef TABELLA_CONFINEMENT_H
#define TABELLA_CONFINEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Landlock: landlock(7). Functions return 0 or more, or -errno. */

/* The version of Landlock in the running kernel; -ENOSYS, or -EOPNOTSUPP if Landlock is switched off. */
int tabella_landlock_version(void);

/* Creates a ruleset that forbids these rights; returns a descriptor. landlock_add_rule(2) can grant
 * some of them again. */
int tabella_landlock_make(uint64_t files, uint64_t network, uint64_t scopes);

/* Grants rights for an open file or folder, and for everything in the folder. */
int tabella_landlock_allow(int rules, int file, uint64_t rights);

/* Opens a path only to refer to its file (O_PATH), and follows links. O_PATH is not imported. */
int tabella_open_path(const char *_Nonnull path);

/* Seccomp: seccomp(2). */

bool tabella_seccomp_is_there(void);

/* The settings of the filter. calls.h explains the allowed calls. */
typedef struct {
  bool landlock;  /* Landlock controls files; its refusals are reported. */
  bool truncates; /* Landlock also controls truncate(2), from its version 3 on. */
  bool changes;   /* Modes, owners, times and attributes may be changed. */
  bool signals;   /* Other processes may be signalled and reniced. */
  bool network;   /* IP sockets are allowed. */
} tabella_call_rules;

/* Filters the system calls of all threads from now on, permanently; 0 or -errno. Refused calls go to
 * the handler of tabella_denials_begin, which must be installed. */
int tabella_seccomp_install(const tabella_call_rules *_Nonnull rules);

/* Denials. */

enum {
  TABELLA_DENIALS = 100,     /* the maximum number of reports per process, each sent once */
  TABELLA_DENIAL_PATH = 1000, /* the maximum number of reported bytes of a path */
  TABELLA_DENIAL_PREFIX = 64, /* the maximum number of bytes in front of a record */
};

/* The report of a refused call. Its paths follow the struct, with a NUL between two of them. */
typedef struct {
  uint32_t call;         /* the number of the call on this machine */
  int32_t error;         /* the errno that the call returned */
  uint64_t arguments[3]; /* the first arguments of the call */
  uint32_t flags;        /* TABELLA_DENIAL_* */
  uint32_t path_size;    /* the number of bytes that follow */
} tabella_denial;

enum {
  /* The file's own permissions also forbid the call. */
  TABELLA_DENIAL_BY_MODE = 1,
  /* This is the last report. */
  TABELLA_DENIAL_LAST = 2,
};

/* Installs the handler. From now on a refused call gets an error instead of ending the process, and is
 * reported. A report is one message to `socket`: `prefix` followed by a record. Sending never blocks.
 * Pass -1 for no socket. From now on, SIGSYS can no longer be blocked or handled by others. 0 or
 * -errno. */
int tabella_denials_begin(int socket, const void *_Nullable prefix, size_t prefix_size);

/* The name of a system call on this machine, or null. */
const char *_Nullable tabella_call_name(uint32_t number);

/* Threads. No-new-privileges, capabilities and Landlock apply to each thread separately. */

typedef struct {
  int landlock;          /* a ruleset, or -1 */
  uint64_t capabilities; /* a bit for each capability to keep, capabilities(7); all ones: unchanged */
} tabella_thread_rules;

/* Confines every thread of the process, and all threads that they start. Running a program gains no
 * privileges, only the given capabilities remain, and the Landlock rules apply. The function asks the
 * other threads with SIGSYS, which tabella_denials_begin handles. They must answer within
 * `milliseconds`. 0, -ETIME, or another -errno. */
int tabella_confine_threads(const tabella_thread_rules *_Nonnull rules, int milliseconds);

/* The capabilities that the calling thread has. */
uint64_t tabella_capabilities(void);

/* Restricts the names of users and groups to /etc/passwd and /etc/group from now on. Other sources of
 * the system (a directory service, a cache) would need sockets. nss.h is not imported. */
void tabella_accounts_from_files(void);

/* Mounts. No other layer can prevent root from changing the attributes of system files. 0 or -errno. */

/* Gives the calling thread its own mounts, which others do not see. */
int tabella_own_mounts(void);

/* Makes a path and everything beneath it read-only in the mounts of this thread. */
int tabella_mount_read_only(const char *_Nonnull path);

#endif
