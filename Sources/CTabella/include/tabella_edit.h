/*
 * tabella_edit.h: helpers for authors of editable providers in C: digests, plans, results.
 * Header only; needs only libc. tabella_save.h saves files.
 *
 * A provider implements `commit` of tabella.editing/1 in these steps:
 *
 *   tabella_plan plan;
 *   int32_t code = tabella_plan_make(&plan, source, &table, columns, 2, 0, batch, error);
 *   if (code != TABELLA_OK) return code;
 *   ... the new content: tabella_plan_section and tabella_plan_row say where each row comes from
 *   tabella_result_begin(out, batch->edit_count);
 *   tabella_result_changes(out, &plan, old_version, new_version);
 *   code = tabella_result_finish(out, error);
 *   if (code == TABELLA_OK && (batch->flags & TABELLA_EDITS_DRY_RUN) == 0) code = ... store the new content
 *   if (code != TABELLA_OK) tabella_result_drop(out);
 *   tabella_plan_free(&plan);
 *   return code;
 *
 * The result is complete before anything is stored, so nothing can fail after that.
 */
#ifndef TABELLA_EDIT_H
#define TABELLA_EDIT_H

#include "tabella_batch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------
 * Bytes that grow
 * --------------------------------------------------------------------------------------------- */

/* Bytes that grow. Begin with {0}. If memory runs out, `failed` becomes 1, and nothing more is added. */
typedef struct tabella_buffer {
  char *bytes;
  size_t size;
  size_t capacity;
  int failed;
} tabella_buffer;

/* Appends bytes. */
TABELLA_HELPER void tabella_buffer_put(tabella_buffer *buffer, const void *bytes, size_t size) {
  tabella_bytes_ held;
  if (buffer->failed) return;
  held.data = (uint8_t *)buffer->bytes;
  held.size = buffer->size;
  held.capacity = buffer->capacity;
  buffer->failed = !tabella_bytes_put_(&held, bytes, size);
  buffer->bytes = (char *)held.data;
  buffer->size = held.size;
  buffer->capacity = held.capacity;
}

/* Appends a C string. */
TABELLA_HELPER void tabella_buffer_text(tabella_buffer *buffer, const char *text) {
  tabella_buffer_put(buffer, text, strlen(text));
}

/* Frees the bytes. The buffer is then empty. */
TABELLA_HELPER void tabella_buffer_free(tabella_buffer *buffer) {
  free(buffer->bytes);
  memset(buffer, 0, sizeof *buffer);
}

/* ------------------------------------------------------------------------------------------------
 * Digests, for ids and versions
 *
 * A digest is the first half of SHA-256. So nobody can make two contents with one digest, by accident or
 * on purpose. A version can be the digest of the whole content, and an id the digest of a row.
 * --------------------------------------------------------------------------------------------- */

/* A digest of 128 bits as 32 hexadecimal digits, terminated. */
typedef struct tabella_digest {
  char text[33];
} tabella_digest;

/* A digest that is being computed. */
typedef struct tabella_hash {
  uint32_t state[8];
  uint64_t size;
  uint8_t block[64];
} tabella_hash;

TABELLA_HELPER uint32_t tabella_right_(uint32_t word, int count) {
  return word >> count | word << (32 - count);
}

/* Processes one block (FIPS 180-4). */
TABELLA_HELPER void tabella_hash_block_(uint32_t *state, const uint8_t *block) {
  static const uint32_t constants[64] = {
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
      0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
      0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
      0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
      0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
      0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
      0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
      0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
  uint32_t words[64], v[8];
  int i;
  for (i = 0; i < 16; i++)
    words[i] = (uint32_t)block[i * 4] << 24 | (uint32_t)block[i * 4 + 1] << 16 |
               (uint32_t)block[i * 4 + 2] << 8 | block[i * 4 + 3];
  for (i = 16; i < 64; i++) {
    uint32_t early = words[i - 15], late = words[i - 2];
    words[i] = words[i - 16] + words[i - 7] +
               (tabella_right_(early, 7) ^ tabella_right_(early, 18) ^ early >> 3) +
               (tabella_right_(late, 17) ^ tabella_right_(late, 19) ^ late >> 10);
  }
  memcpy(v, state, sizeof v);
  for (i = 0; i < 64; i++) {
    uint32_t first = v[7] + constants[i] + words[i] + ((v[4] & v[5]) ^ (~v[4] & v[6])) +
                     (tabella_right_(v[4], 6) ^ tabella_right_(v[4], 11) ^ tabella_right_(v[4], 25));
    uint32_t second = ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2])) +
                      (tabella_right_(v[0], 2) ^ tabella_right_(v[0], 13) ^ tabella_right_(v[0], 22));
    memmove(v + 1, v, 7 * sizeof *v);
    v[4] += first;
    v[0] = first + second;
  }
  for (i = 0; i < 8; i++) state[i] += v[i];
}

/* Returns the digest of no bytes, to which tabella_hash_add adds. */
TABELLA_HELPER tabella_hash tabella_hash_begin(void) {
  static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  tabella_hash hash;
  memset(&hash, 0, sizeof hash);
  memcpy(hash.state, start, sizeof start);
  return hash;
}

/* Adds bytes. Several calls add one long run of bytes: to keep two texts apart, add a byte between them that
 * neither contains. */
TABELLA_HELPER void tabella_hash_add(tabella_hash *hash, const void *bytes, size_t size) {
  const uint8_t *at = (const uint8_t *)bytes;
  while (size > 0) {
    size_t used = (size_t)(hash->size % 64), part = 64 - used < size ? 64 - used : size;
    if (part == 64) {
      tabella_hash_block_(hash->state, at);
    } else {
      memcpy(hash->block + used, at, part);
      if (used + part == 64) tabella_hash_block_(hash->state, hash->block);
    }
    hash->size += part;
    at += part;
    size -= part;
  }
}

/* Returns the digest of all added bytes. `hash` cannot be used further. */
TABELLA_HELPER tabella_digest tabella_hash_end(tabella_hash *hash) {
  static const uint8_t padding[64] = {0x80};
  tabella_digest digest;
  uint64_t bits = hash->size * 8;
  uint8_t length[8];
  int i;
  for (i = 0; i < 8; i++) length[i] = (uint8_t)(bits >> (56 - 8 * i));
  tabella_hash_add(hash, padding, (size_t)((119 - hash->size % 64) % 64 + 1));
  tabella_hash_add(hash, length, sizeof length);
  for (i = 0; i < 4; i++) snprintf(digest.text + 8 * i, 9, "%08lx", (unsigned long)hash->state[i]);
  return digest;
}

/* Returns the digest of bytes. */
TABELLA_HELPER tabella_digest tabella_digest_of(const void *bytes, size_t size) {
  tabella_hash hash = tabella_hash_begin();
  tabella_hash_add(&hash, bytes, size);
  return tabella_hash_end(&hash);
}

typedef struct tabella_numbered_ {
  const char *text;
  int64_t index;
} tabella_numbered_;

TABELLA_HELPER int tabella_numbered_order_(const void *left, const void *right) {
  const tabella_numbered_ *one = (const tabella_numbered_ *)left;
  const tabella_numbered_ *other = (const tabella_numbered_ *)right;
  int order = strcmp(one->text, other->text);
  return order != 0 ? order : (one->index > other->index) - (one->index < other->index);
}

/* Sets copies[i] to the number of earlier digests that equal digests[i]. Digest and number together make a
 * unique id, even if two rows are equal. Returns 0 if memory runs out, else 1. */
TABELLA_HELPER int tabella_digest_copies(const tabella_digest *digests, int64_t count,
                                         int64_t *copies) {
  int64_t i;
  tabella_numbered_ *sorted = (tabella_numbered_ *)calloc((size_t)count + 1, sizeof *sorted);
  if (sorted == NULL) return 0;
  for (i = 0; i < count; i++) {
    sorted[i].text = digests[i].text;
    sorted[i].index = i;
  }
  qsort(sorted, (size_t)count, sizeof *sorted, tabella_numbered_order_);
  for (i = 0; i < count; i++) {
    int again = i > 0 && strcmp(sorted[i - 1].text, sorted[i].text) == 0;
    copies[sorted[i].index] = again ? copies[sorted[i - 1].index] + 1 : 0;
  }
  free(sorted);
  return 1;
}

/* ------------------------------------------------------------------------------------------------
 * Answers about ranges
 * --------------------------------------------------------------------------------------------- */

/* Fills `out` with `bits` for the elements [first, first + count) of `total`: for `editable` and `movable`, if
 * all rows have the same answer. An element that does not exist: TABELLA_NOT_FOUND. */
TABELLA_HELPER int32_t tabella_answer_range(int64_t first, int64_t count, int64_t total, uint8_t bits,
                                            uint8_t *out, tabella_error *error) {
  if (first < 0 || count < 0)
    return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "asked for %lld from %lld",
                        (long long)count, (long long)first);
  if (first > total || count > total - first)
    return tabella_fail(error, TABELLA_NOT_FOUND, "there are %lld, but %lld from %lld were requested",
                        (long long)total, (long long)count, (long long)first);
  memset(out, bits, (size_t)count);
  return TABELLA_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Plans: the positions of all sections and rows after a batch, by the rules of docs/editing.md
 * --------------------------------------------------------------------------------------------- */

/* The id of a row is derived from its content, so a set row gets another id. The changes of the plan then name
 * it as another row: TABELLA_CHANGE_RELOAD instead of TABELLA_CHANGE_RECONFIGURE. */
#define TABELLA_PLAN_IDS_OF_CONTENT 1u

typedef struct tabella_list_ tabella_list_;

/* The plan of a batch. The batch and the source must outlive it. Memory: O(edits). */
typedef struct tabella_plan {
  const tabella_edit_batch *batch;
  /* For each edit of the batch, its row or section before the batch; {-1, -1} for an insertion. An id is resolved. */
  tabella_index_path *from;
  /* The same after the batch; {-1, -1} for a deletion. */
  tabella_index_path *to;
  /* The changes of the batch, for the result. */
  tabella_change *changes;
  int64_t change_count;
  /* Private. */
  void *source;
  const tabella_source_table *table;
  const tabella_sections *sections;
  tabella_list_ *lists; /* The lists that edits change: the sections first, and then by section. */
  int64_t list_count;
  int64_t *named; /* The sets and moves, sorted by what they name. */
  int64_t named_count;
} tabella_plan;

/* A section after the batch. */
typedef struct tabella_planned_section {
  int64_t from; /* Its number before the batch; -1: inserted, and empty. */
  int64_t edit; /* The edit that has its title; -1: it keeps its title. */
  int arrives;  /* 1: inserted or moved, 0: it keeps its order among the others. */
} tabella_planned_section;

/* A row after the batch. */
typedef struct tabella_planned_row {
  tabella_index_path from; /* Its path before the batch; {-1, -1}: inserted. */
  int64_t edit;            /* The edit that has its new cells; -1: it keeps all cells. */
  int arrives;             /* 1: inserted or moved, 0: it keeps its order among the others. */
} tabella_planned_row;

/* Plans a batch. It refuses a batch for another version, a batch that breaks the rules, and cells of the wrong
 * type or of a column that does not exist, with the code of the contract. It also refuses each edit that the
 * source declares impossible (`editable`, `movable`, and so on). For that, it calls the source's own functions:
 * `version`, `row_count`, `ability` and the functions of its abilities. It does not call `target`.
 *
 * `columns` are all columns of the source, `flags` is TABELLA_PLAN_IDS_OF_CONTENT or 0. If the code is
 * TABELLA_OK, call tabella_plan_free later. */
TABELLA_HELPER int32_t tabella_plan_make(tabella_plan *plan, void *source,
                                         const tabella_source_table *table,
                                         const tabella_column *columns, int64_t column_count,
                                         uint32_t flags, const tabella_edit_batch *batch,
                                         tabella_error *error);

TABELLA_HELPER void tabella_plan_free(tabella_plan *plan);

/* The number of sections after the batch; -1 if the source cannot count them. */
TABELLA_HELPER int64_t tabella_plan_section_count(const tabella_plan *plan);

/* The number of rows of a section, which is numbered as after the batch; -1 if the source cannot count them. */
TABELLA_HELPER int64_t tabella_plan_row_count(const tabella_plan *plan, int64_t section);

/* A section after the batch. The section must exist. O(log edits) */
TABELLA_HELPER tabella_planned_section tabella_plan_section(const tabella_plan *plan,
                                                            int64_t section);

/* A row after the batch, which is numbered as after the batch. The row must exist. O(log edits) */
TABELLA_HELPER tabella_planned_row tabella_plan_row(const tabella_plan *plan, int64_t section,
                                                    int64_t row);

/* The path after the batch of a row or section that existed before it; {-1, -1} if it is deleted. O(log edits) */
TABELLA_HELPER tabella_index_path tabella_plan_path(const tabella_plan *plan,
                                                    tabella_index_path old);

/* The new value of a column, or of TABELLA_SECTION_TITLE; null if edit number `edit` does not set it. With the
 * edit -1, the answer is null. */
TABELLA_HELPER const tabella_value *tabella_plan_value(const tabella_plan *plan, int64_t edit,
                                                       int64_t column);

/* ------------------------------------------------------------------------------------------------
 * Results: what `commit` and `undo` return
 *
 * Begin a result with one outcome per edit: all have the code TABELLA_OK. The functions copy every string. If
 * memory runs out, tabella_result_finish reports it, so the other calls need no check.
 * --------------------------------------------------------------------------------------------- */

TABELLA_HELPER void tabella_result_begin(tabella_edit_result *out, int64_t outcomes);

/* The id of an edit's row afterwards. */
TABELLA_HELPER void tabella_result_id(tabella_edit_result *out, int64_t edit, const char *id);

/* The code of an edit, with the reason of a failure; or TABELLA_OK with a remark. */
TABELLA_HELPER void tabella_result_message(tabella_edit_result *out, int64_t edit, int32_t code,
                                           const char *message);

/* The edit did something that the receipt does not undo. */
TABELLA_HELPER void tabella_result_final(tabella_edit_result *out, int64_t edit);

/* The receipt, which `undo` receives later. Null bytes: there is none. */
TABELLA_HELPER void tabella_result_receipt(tabella_edit_result *out, const void *bytes, size_t size);

/* The changes of a plan, from a version to a version. Without a plan (null): everything must be read again. A null
 * version is absent. */
TABELLA_HELPER void tabella_result_changes(tabella_edit_result *out, const tabella_plan *plan,
                                           const char *from, const char *to);

/* Returns TABELLA_OK if the result is complete. If memory ran out, frees the result and returns
 * TABELLA_INTERNAL. Call it before anything is stored. */
TABELLA_HELPER int32_t tabella_result_finish(tabella_edit_result *out, tabella_error *error);

/* Frees a finished result, because the edits could not be stored. */
TABELLA_HELPER void tabella_result_drop(tabella_edit_result *out);
