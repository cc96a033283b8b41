/*
 * tabella_system.h: the few calls that Swift cannot import from the C library, because they or
 * their types are hidden behind _GNU_SOURCE. Each says why it is here. Never installed.
 */
#ifndef TABELLA_SYSTEM_H
#define TABELLA_SYSTEM_H

#include <stdint.h>

/* dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE): the last flag is not imported. */
void *_Nullable tabella_system_load(const char *_Nonnull path);

/* The path of the library that an address belongs to, or null: dladdr is not imported. The string
 * lives as long as the library. */
const char *_Nullable tabella_system_library_of(const void *_Nonnull address);

/* The bytes that malloc has handed out in all arenas: mallinfo2 is not imported. */
uint64_t tabella_system_heap_in_use(void);

#endif
