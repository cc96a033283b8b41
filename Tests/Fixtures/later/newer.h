/*
 * newer.h: a stand-in for the header of a later version in the same family, contract 1.3.
 *
 * It adds what a later version may add: a table with a new id, a new bit, a new kind of element.
 */
#ifndef NEWER_H
#define NEWER_H

#include "tabella_batch.h"

#undef TABELLA_CONTRACT_VERSION
#define TABELLA_CONTRACT_VERSION 0x00010003u

/* tabella.searching/1, since contract 1.3. */
#define TABELLA_SEARCHING_ID "tabella.searching/1"

typedef struct tabella_searching {
  int32_t (*find)(void *source, tabella_string text, tabella_index_path *out, tabella_error *error);
} tabella_searching;

/* Since contract 1.3. Hosts ignore unknown bits. */
#define TABELLA_SOURCE_SEARCHABLE (1ull << 40)

#endif
