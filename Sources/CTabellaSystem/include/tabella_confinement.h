/*
 * tabella_confinement.h: what the kernel can forbid a process that runs foreign code: Landlock, seccomp,
 * capabilities. Nothing of it can be imported into Swift: the calls have no functions in the C library,
 * a filter is a program, and what answers a refused call runs in a signal handler. Never installed.
 */
#ifndef TABELLA_CONFINEMENT_H
#define TABELLA_CONFINEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Landlock: landlock(7). What is returned is 0 or more, or -errno. */

/* The version of its rules that the running kernel knows; -ENOSYS, or -EOPNOTSUPP if it is switched off. */
int tabella_landlock_version(void);

/* Makes a set of rules that forbids these rights, of which landlock_add_rule(2) gives some back; returns a
 * descriptor. */
int tabella_landlock_make(uint64_t files, uint64_t network, uint64_t scopes);

/* Gives rights back for what an open place is, and for what is beneath a folder. */
int tabella_landlock_allow(int rules, int place, uint64_t rights);

/* Opens a path as a place only, following links: O_PATH is not imported. */
int tabella_open_place(const char *_Nonnull path);

/* Seccomp: seccomp(2). */

bool tabella_seccomp_is_there(void);

/* What the filter depends on. What is allowed, and why, is in calls.h. */
typedef struct {
  bool landlock;  /* Landlock decides on files: its refusals are told. */
  bool truncates; /* It also decides on truncate(2), from its version 3 on. */
  bool changes;   /* Modes, owners, times and attributes may be changed. */
  bool signals;   /* Other processes may be sent signals and be reniced. */
  bool network;   /* Sockets of IP. */
} tabella_call_rules;

/* Filters the system calls of all threads from now on, which cannot be undone; 0 or -errno. Calls that are
 * refused end in the handler of tabella_denials_begin, which must be there. */
int tabella_seccomp_install(const tabella_call_rules *_Nonnull rules);

/* Denials */

enum {
  TABELLA_DENIALS = 100,     /* how many are told in a process, each once */
  TABELLA_DENIAL_PATH = 1000, /* bytes of a path that are told */
  TABELLA_DENIAL_PREFIX = 64, /* bytes that may stand before a record */
};

/* What is told of a refused call: this, then its paths with a NUL between two of them. */
typedef struct {
  uint32_t call;         /* its number on this machine */
  int32_t error;         /* the errno that it got */
  uint64_t arguments[3]; /* as they were passed */
  uint32_t flags;        /* TABELLA_DENIAL_* */
  uint32_t path_size;    /* bytes that follow */
} tabella_denial;

enum {
  /* The file's own permissions refuse that too. */
  TABELLA_DENIAL_BY_MODE = 1,
  /* The last one that is told. */
  TABELLA_DENIAL_LAST = 2,
};

/* From now on a refused call gets an error instead of ending the process, and is told: a record after
 * `prefix`, as one message to a socket, which is never waited for. -1 for no socket. Blocking or handling
 * SIGSYS no longer does anything. 0 or -errno. */
int tabella_denials_begin(int socket, const void *_Nullable prefix, size_t prefix_size);

/* The name of a system call on this machine, or null. */
const char *_Nullable tabella_call_name(uint32_t number);

/* Threads: no new privileges, capabilities and Landlock are each thread's own. */

typedef struct {
  int landlock;          /* a set of rules, or -1 */
  uint64_t capabilities; /* a bit for each that is kept, capabilities(7); all: left alone */
} tabella_thread_rules;

/* Confines every thread of the process, and what they start: nothing is gained by running a program, of the
 * capabilities no more is left than is said, and the rules of Landlock hold. The other threads are asked
 * with SIGSYS, which tabella_denials_begin handles, and have so much time to answer. 0, -ETIME, or what
 * else went wrong. */
int tabella_confine_threads(const tabella_thread_rules *_Nonnull rules, int milliseconds);

/* The capabilities that the calling thread has. */
uint64_t tabella_capabilities(void);

/* Names of users and groups come from /etc/passwd and /etc/group from now on: what else the system is set
 * up to ask (a directory service, a cache) is behind sockets. nss.h is not imported. */
void tabella_accounts_from_files(void);

/* Mounts: what root does to a system file beside its bytes, no other layer forbids. 0 or -errno. */

/* Gives the calling thread mounts of its own, which others do not see. */
int tabella_own_mounts(void);

/* Lets what is at a path, and beneath it, only be read through the mounts of this thread. */
int tabella_mount_read_only(const char *_Nonnull path);

#endif
