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

/* The path of the library that an address belongs to, or null: dladdr is not imported. The string
 * lives as long as the library. */
const char *_Nullable tabella_system_library_of(const void *_Nonnull address);

/* The bytes that malloc has handed out in all arenas: mallinfo2 is not imported. */
uint64_t tabella_system_heap_in_use(void);

/* Reads entries of an open directory into a buffer, as getdents64(2) lays them out; returns how many
 * bytes that was, 0 at the end, or -errno: not imported. */
int64_t tabella_system_entries(int directory, void *_Nonnull buffer, size_t size);

/* What statx(2) says of a file; its type and flags are not imported. */
typedef struct {
  uint64_t size;
  uint64_t inode;
  uint64_t device;
  int64_t modified;      /* seconds */
  uint32_t modified_rest; /* nanoseconds */
  uint32_t mode;
  uint32_t owner;
  uint32_t group;
  uint32_t links;
  bool is_mounted;       /* whether something is mounted there */
} tabella_status;

/* Examines a name in an open directory, without following it and without waiting for a server;
 * returns 0 or -errno. */
int tabella_system_status(int directory, const char *_Nonnull name, tabella_status *_Nonnull out);

/* Opens a directory to read it, by its name in another, without following a symbolic link unless
 * `follow` is set; returns a descriptor or -errno. */
int tabella_system_open_directory(int directory, const char *_Nonnull name, int follow);

/* From now on SIGINT, SIGTERM and SIGHUP end the program as ever, but first wipe the line of progress
 * and wait for the pager: a signal handler must not be Swift. */
void tabella_system_end_cleanly(void);

/* Whether a line of progress stands on standard error. */
void tabella_system_has_progress_line(bool there_is);

/* The pager's process and the descriptor that feeds it; 0 and -1 when there is none. */
void tabella_system_has_pager(int process, int input);

#endif
