/*
 * tabella_edit.h: helpers for authors of editable providers in C: digests, plans, results.
 * Header only; needs only libc. tabella_save.h saves files.
 *
 * A provider implements `commit` of tabella.editing/1 in these steps:
 *
 *   1. tabella_plan_make checks the batch.
 *   2. tabella_plan_section and tabella_plan_row say where each section and row of the new content comes from.
 *   3. tabella_result_begin, tabella_result_changes and tabella_result_finish make the result.
 *   4. The provider stores the new content, unless the batch is a dry run. If that fails, tabella_result_drop.
 *   5. tabella_plan_free.
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

/* Makes sure that `bytes` is not null, even if there are none. */
TABELLA_HELPER void tabella_buffer_ensure_(tabella_buffer *buffer) {
  if (buffer->bytes != NULL) return;
  tabella_buffer_put(buffer, "", 1);
  buffer->size = 0;
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

/* An id made of a digest, terminated. */
typedef struct tabella_row_id {
  char text[80];
} tabella_row_id;

/* Makes unique ids of the digests of rows. If two or more rows are equal, their ids also have the number of the row
 * among them, and how many they are. So no id passes to another row when an equal row comes or goes. Returns 0 if
 * memory runs out, else 1. O(count log count) */
TABELLA_HELPER int tabella_ids_make(const tabella_digest *digests, int64_t count, tabella_row_id *ids) {
  int64_t i, j, first;
  tabella_numbered_ *sorted = (tabella_numbered_ *)calloc((size_t)count + 1, sizeof *sorted);
  if (sorted == NULL) return 0;
  for (i = 0; i < count; i++) {
    sorted[i].text = digests[i].text;
    sorted[i].index = i;
  }
  qsort(sorted, (size_t)count, sizeof *sorted, tabella_numbered_order_);
  for (first = 0; first < count; first = i) {
    for (i = first; i < count && strcmp(sorted[first].text, sorted[i].text) == 0; i++) {}
    for (j = first; j < i; j++) {
      char *id = ids[sorted[j].index].text;
      if (i - first == 1) snprintf(id, sizeof ids->text, "%s", sorted[j].text);
      else snprintf(id, sizeof ids->text, "%s.%lld.%lld", sorted[j].text, (long long)(j - first + 1),
                    (long long)(i - first));
    }
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

/* Sets code and message of every outcome of a finished result: something went wrong after the edits were stored.
 * `text` must be static; null changes nothing. Allocates nothing, so it cannot fail. */
TABELLA_HELPER void tabella_result_remark(tabella_edit_result *out, int32_t code, const char *text);

/* ------------------------------------------------------------------------------------------------
 * The plan's arithmetic. A list is the sections, or the rows of one section. An element that neither leaves nor
 * arrives is a survivor.
 * --------------------------------------------------------------------------------------------- */

/* An element that the batch inserts, or moves to the list. */
typedef struct tabella_arrival_ {
  int64_t at;   /* Its number after the batch. */
  int64_t next; /* The next survivor, numbered as before the batch, or the count. */
  int64_t edit;
} tabella_arrival_;

struct tabella_list_ {
  int64_t section; /* -1: the sections. Else the section of the rows, numbered as before the batch. */
  int64_t count;   /* The number of elements before the batch, or a lower bound. */
  int64_t departed_count;
  int64_t arrival_count;
  int64_t *departed; /* Deleted and moved elements, ascending. */
  tabella_arrival_ *arrivals;
};

#define TABELLA_DELETED_ 1
#define TABELLA_MOVED_ 2
#define TABELLA_SET_ 4
#define TABELLA_ARRIVES_ 8

/* An element that an edit names. */
typedef struct tabella_named_ {
  int64_t list;
  int64_t element;
  int32_t role;
  int64_t edit;
} tabella_named_;

TABELLA_HELPER int tabella_compare_(int64_t left, int64_t right) {
  return (left > right) - (left < right);
}

TABELLA_HELPER int tabella_named_order_(const void *left, const void *right) {
  const tabella_named_ *one = (const tabella_named_ *)left, *other = (const tabella_named_ *)right;
  int order = tabella_compare_(one->list, other->list);
  if (order == 0) order = tabella_compare_(one->element, other->element);
  if (order == 0) order = tabella_compare_(one->role, other->role);
  return order != 0 ? order : tabella_compare_(one->edit, other->edit);
}

/* The sum of two numbers that are not negative, at most INT64_MAX. */
TABELLA_HELPER int64_t tabella_sum_(int64_t left, int64_t right) {
  return left > INT64_MAX - right ? INT64_MAX : left + right;
}

/* The number of elements that must be known to check the named ones. */
TABELLA_HELPER int64_t tabella_needed_(const tabella_named_ *named, int64_t count) {
  int64_t i, last = -1, arrival = -1, departed = 0, needed;
  for (i = 0; i < count; i++) {
    int64_t *greatest = named[i].role == TABELLA_ARRIVES_ ? &arrival : &last;
    if (named[i].element > *greatest) *greatest = named[i].element;
    departed += (named[i].role & (TABELLA_DELETED_ | TABELLA_MOVED_)) != 0;
  }
  needed = tabella_sum_(arrival < 0 ? 0 : arrival, departed + (arrival < 0 ? 0 : 1));
  return needed > tabella_sum_(last < 0 ? 0 : last, 1) ? needed : tabella_sum_(last < 0 ? 0 : last, 1);
}

/* Writes "section 3" or "row 3:4". */
TABELLA_HELPER const char *tabella_noun_(char *text, size_t size, int64_t section, int64_t element) {
  if (section < 0) snprintf(text, size, "section %lld", (long long)element);
  else snprintf(text, size, "row %lld:%lld", (long long)section, (long long)element);
  return text;
}

/* Refuses an element that is named twice by edits with these roles, or that does not exist. */
TABELLA_HELPER int32_t tabella_names_check_(const tabella_named_ *named, int64_t count, int32_t roles,
                                            int64_t exists, tabella_error *error) {
  char noun[64];
  int64_t i, last = -1;
  int has = 0;
  for (i = 0; i < count; i++) {
    if ((named[i].role & roles) == 0) continue;
    if (has && named[i].element == last)
      return tabella_fail(error, TABELLA_INVALID_ARGUMENT,
                          "%s occurs twice; a batch can only combine a set and a move of one row or section",
                          tabella_noun_(noun, sizeof noun, named[i].list, last));
    last = named[i].element;
    has = 1;
  }
  if (has && last >= exists)
    return tabella_fail(error, TABELLA_NOT_FOUND, "there is no %s; there are %lld",
                        tabella_noun_(noun, sizeof noun, named[0].list, last), (long long)exists);
  return TABELLA_OK;
}

/* Plans one list. `named` is sorted; `after` is the section's number after the batch, for messages. */
TABELLA_HELPER int32_t tabella_list_plan_(tabella_list_ *list, const tabella_named_ *named,
                                          int64_t count, int64_t after, tabella_error *error) {
  char noun[64];
  int64_t i, passed = 0;
  int32_t code = tabella_names_check_(named, count, TABELLA_DELETED_ | TABELLA_MOVED_, list->count, error);
  if (code == TABELLA_OK)
    code = tabella_names_check_(named, count, TABELLA_DELETED_ | TABELLA_SET_, list->count, error);
  if (code != TABELLA_OK) return code;
  for (i = 0; i < count; i++)
    if ((named[i].role & (TABELLA_DELETED_ | TABELLA_MOVED_)) != 0)
      list->departed[list->departed_count++] = named[i].element;
  for (i = 0; i < count; i++) {
    tabella_arrival_ *arrival = &list->arrivals[list->arrival_count];
    int64_t rank;
    if (named[i].role != TABELLA_ARRIVES_) continue;
    if (list->arrival_count > 0 && arrival[-1].at == named[i].element)
      return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "%s is the target of two edits of the batch",
                          tabella_noun_(noun, sizeof noun, after, named[i].element));
    /* The number of survivors in front of the arrival. */
    rank = named[i].element - list->arrival_count;
    while (passed < list->departed_count && list->departed[passed] - passed <= rank) passed++;
    arrival->at = named[i].element;
    arrival->next = tabella_sum_(rank, passed);
    arrival->edit = named[i].edit;
    if (arrival->next > list->count)
      return tabella_fail(error, TABELLA_NOT_FOUND, "%s is not a position after the batch",
                          tabella_noun_(noun, sizeof noun, after, named[i].element));
    list->arrival_count++;
  }
  return TABELLA_OK;
}

/* The number of departed elements in front of one. */
TABELLA_HELPER int64_t tabella_departed_before_(const tabella_list_ *list, int64_t element) {
  int64_t low = 0, high = list->departed_count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (list->departed[middle] < element) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* The number after the batch of an element that neither leaves nor arrives; -1 if it leaves. */
TABELLA_HELPER int64_t tabella_index_after_(const tabella_list_ *list, int64_t element) {
  int64_t gone = tabella_departed_before_(list, element), low = 0, high = list->arrival_count;
  if (gone < list->departed_count && list->departed[gone] == element) return -1;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (list->arrivals[middle].next <= element) low = middle + 1;
    else high = middle;
  }
  return element - gone + low;
}

/* The arrival at a number after the batch. Else null, and `survivor` is the old number of the element there. */
TABELLA_HELPER const tabella_arrival_ *tabella_origin_(const tabella_list_ *list, int64_t at,
                                                       int64_t *survivor) {
  int64_t low = 0, high = list->arrival_count, rank, gone_low = 0, gone_high = list->departed_count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (list->arrivals[middle].at < at) low = middle + 1;
    else high = middle;
  }
  if (low < list->arrival_count && list->arrivals[low].at == at) return &list->arrivals[low];
  rank = at - low;
  while (gone_low < gone_high) {
    int64_t middle = gone_low + (gone_high - gone_low) / 2;
    if (list->departed[middle] - middle <= rank) gone_low = middle + 1;
    else gone_high = middle;
  }
  *survivor = tabella_sum_(rank, gone_low);
  return NULL;
}

TABELLA_HELPER const tabella_list_ *tabella_plan_list_(const tabella_plan *plan, int64_t section) {
  int64_t low = 0, high = plan->list_count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (plan->lists[middle].section < section) low = middle + 1;
    else high = middle;
  }
  return low < plan->list_count && plan->lists[low].section == section ? &plan->lists[low] : NULL;
}

/* The order of two edits by what they name, and then by kind. */
TABELLA_HELPER int tabella_named_compare_(tabella_index_path left, int32_t kind,
                                          tabella_index_path right, int32_t other) {
  int order = tabella_compare_(left.section, right.section);
  if (order == 0) order = tabella_compare_(left.row, right.row);
  return order != 0 ? order : tabella_compare_(kind, other);
}

/* The edit of a kind (set or move) that names a row or section; -1 if there is none. */
TABELLA_HELPER int64_t tabella_plan_named_(const tabella_plan *plan, tabella_index_path path,
                                           int32_t kind) {
  int64_t low = 0, high = plan->named_count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2, edit = plan->named[middle];
    int order = tabella_named_compare_(plan->from[edit], plan->batch->edits[edit].kind, path, kind);
    if (order == 0) return edit;
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return -1;
}

TABELLA_HELPER tabella_index_path tabella_path_(int64_t section, int64_t row) {
  tabella_index_path path;
  path.section = section;
  path.row = row;
  return path;
}

TABELLA_HELPER tabella_index_path tabella_plan_path(const tabella_plan *plan,
                                                    tabella_index_path old) {
  const tabella_list_ *sections = tabella_plan_list_(plan, -1), *rows;
  int64_t moved = tabella_plan_named_(plan, old, TABELLA_EDIT_MOVE);
  tabella_index_path now = old;
  if (moved >= 0) return plan->batch->edits[moved].target;
  if (sections != NULL) {
    moved = tabella_plan_named_(plan, tabella_path_(old.section, -1), TABELLA_EDIT_MOVE);
    now.section = moved >= 0 ? plan->batch->edits[moved].target.section
                             : tabella_index_after_(sections, old.section);
  }
  rows = old.row < 0 ? NULL : tabella_plan_list_(plan, old.section);
  if (rows != NULL) now.row = tabella_index_after_(rows, old.row);
  return now.section < 0 || (old.row >= 0 && now.row < 0) ? tabella_path_(-1, -1) : now;
}

TABELLA_HELPER tabella_planned_section tabella_plan_section(const tabella_plan *plan,
                                                            int64_t section) {
  const tabella_list_ *sections = tabella_plan_list_(plan, -1);
  const tabella_arrival_ *arrival = NULL;
  tabella_planned_section planned = {section, -1, 0};
  if (sections != NULL) arrival = tabella_origin_(sections, section, &planned.from);
  if (arrival != NULL) {
    planned.arrives = 1;
    planned.from = plan->from[arrival->edit].section;
    planned.edit = arrival->edit;
  }
  if (planned.from >= 0)
    planned.edit = tabella_plan_named_(plan, tabella_path_(planned.from, -1), TABELLA_EDIT_SET);
  return planned;
}

TABELLA_HELPER tabella_planned_row tabella_plan_row(const tabella_plan *plan, int64_t section,
                                                    int64_t row) {
  tabella_planned_row planned = {{-1, -1}, -1, 0};
  int64_t old = tabella_plan_section(plan, section).from;
  const tabella_list_ *rows = tabella_plan_list_(plan, old);
  const tabella_arrival_ *arrival = NULL;
  if (old < 0) return planned;
  planned.from = tabella_path_(old, row);
  if (rows != NULL) arrival = tabella_origin_(rows, row, &planned.from.row);
  if (arrival != NULL) {
    planned.arrives = 1;
    planned.from = plan->from[arrival->edit];
    planned.edit = arrival->edit;
  }
  if (planned.from.row >= 0)
    planned.edit = tabella_plan_named_(plan, planned.from, TABELLA_EDIT_SET);
  return planned;
}

TABELLA_HELPER int64_t tabella_plan_section_count(const tabella_plan *plan) {
  const tabella_list_ *list = tabella_plan_list_(plan, -1);
  tabella_error error;
  tabella_count count = {1, 1, 0};
  memset(&error, 0, sizeof error);
  if (plan->sections != NULL &&
      plan->sections->count(plan->source, INT64_MAX, &count, &error) != TABELLA_OK) {
    if (error.release != NULL) error.release(&error);
    return -1;
  }
  return list == NULL ? count.value : count.value - list->departed_count + list->arrival_count;
}

TABELLA_HELPER int64_t tabella_plan_row_count(const tabella_plan *plan, int64_t section) {
  int64_t old = tabella_plan_section(plan, section).from;
  const tabella_list_ *list = tabella_plan_list_(plan, old);
  tabella_error error;
  tabella_count count = {0, 1, 0};
  if (old < 0) return 0;
  memset(&error, 0, sizeof error);
  if (plan->table->row_count(plan->source, old, INT64_MAX, &count, &error) != TABELLA_OK) {
    if (error.release != NULL) error.release(&error);
    return -1;
  }
  return list == NULL ? count.value : count.value - list->departed_count + list->arrival_count;
}

TABELLA_HELPER const tabella_value *tabella_plan_value(const tabella_plan *plan, int64_t edit,
                                                       int64_t column) {
  int64_t i;
  if (edit < 0 || edit >= plan->batch->edit_count) return NULL;
  for (i = 0; i < plan->batch->edits[edit].cell_count; i++)
    if (plan->batch->edits[edit].cells[i].column == column)
      return &plan->batch->edits[edit].cells[i].value;
  return NULL;
}

/* ------------------------------------------------------------------------------------------------
 * The plan's checks
 * --------------------------------------------------------------------------------------------- */

/* Returns 1 if the bytes are valid UTF-8, as the title of a section must be. */
TABELLA_HELPER int tabella_string_is_utf8(tabella_string text) {
  const uint8_t *at = (const uint8_t *)text.bytes, *end = at + text.length;
  while (at < end) {
    int more = *at < 0x80 ? 0 : *at >= 0xC2 && *at < 0xE0 ? 1 : *at >= 0xE0 && *at < 0xF0 ? 2
               : *at >= 0xF0 && *at < 0xF5 ? 3 : -1;
    uint8_t low = *at == 0xE0 ? 0xA0 : *at == 0xF0 ? 0x90 : 0x80;
    uint8_t high = *at == 0xED ? 0x9F : *at == 0xF4 ? 0x8F : 0xBF;
    if (more < 0 || end - at <= more) return 0;
    for (at++; more > 0; more--, at++, low = 0x80, high = 0xBF)
      if (*at < low || *at > high) return 0;
  }
  return 1;
}

/* Checks what one edit says by itself, and the title of a section. */
TABELLA_HELPER int32_t tabella_edit_check_(const tabella_edit *edit, int64_t number, int of_section,
                                           int takes_titles, tabella_error *error) {
  const tabella_value *title = NULL;
  int64_t i, j;
  if (edit->kind < TABELLA_EDIT_INSERT || edit->kind > TABELLA_EDIT_MOVE)
    return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "edit %lld is of the unknown kind %ld",
                        (long long)number, (long)edit->kind);
  if (edit->cell_count < 0 || (edit->cell_count > 0 && edit->cells == NULL))
    return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "edit %lld has %lld cells", (long long)number,
                        (long long)edit->cell_count);
  for (i = 0; i < edit->cell_count; i++) {
    int is_title = edit->cells[i].column == TABELLA_SECTION_TITLE;
    for (j = 0; j < i; j++)
      if (edit->cells[j].column == edit->cells[i].column)
        return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "edit %lld names column %lld twice",
                            (long long)number, (long long)edit->cells[i].column);
    if (is_title && !of_section)
      return tabella_fail(error, TABELLA_INVALID_ARGUMENT,
                          "a row has no title; column -1 is the title of a section");
    if (!is_title && of_section)
      return tabella_fail(error, TABELLA_INVALID_ARGUMENT,
                          "a section has only a title; edit its rows in another batch");
    if (is_title) title = &edit->cells[i].value;
  }
  if (!of_section) return TABELLA_OK;
  if (title == NULL && edit->kind == TABELLA_EDIT_SET)
    return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "a section is edited without a title");
  if (title != NULL && title->type != 0 &&
      (title->type != TABELLA_TYPE_TEXT || !tabella_string_is_utf8(title->bytes)))
    return tabella_fail(error, TABELLA_INVALID_ARGUMENT,
                        "the title of a section must be text in UTF-8");
  if (title != NULL && !takes_titles)
    return tabella_fail(error, TABELLA_NOT_SUPPORTED,
                        "the titles of this table's sections cannot be edited");
  return TABELLA_OK;
}

/* Checks the columns and types of a row's new cells. */
TABELLA_HELPER int32_t tabella_cells_check_(const tabella_edit *edit, const tabella_column *columns,
                                            int64_t column_count, tabella_error *error) {
  int64_t i;
  for (i = 0; i < edit->cell_count; i++) {
    int64_t column = edit->cells[i].column;
    int32_t type = edit->cells[i].value.type;
    if (column >= 0 && column < column_count && (type == 0 || type == columns[column].type)) continue;
    error->column = column;
    error->located |= TABELLA_ERROR_HAS_COLUMN;
    if (column < 0 || column >= column_count)
      return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "there is no column %lld", (long long)column);
    return tabella_fail(error, TABELLA_CONSTRAINT, "%s cannot have a value of this type",
                        columns[column].name);
  }
  return TABELLA_OK;
}

/* The abilities of a source that a plan asks. */
typedef struct tabella_abilities_ {
  const tabella_identity *identity;
  const tabella_editing *editing;
  const tabella_section_editing *section_editing;
  const tabella_moving *moving;
} tabella_abilities_;

TABELLA_HELPER const void *tabella_ability_(void *source, const tabella_source_table *table,
                                            const char *id) {
  return table->ability == NULL ? NULL : table->ability(source, tabella_cstring(id));
}

/* Refuses an edit of a section that the source declares impossible. */
TABELLA_HELPER int32_t tabella_section_allowed_(void *source, const tabella_abilities_ *can,
                                                const tabella_edit *edit, tabella_index_path from,
                                                tabella_error *error) {
  uint8_t bits = 0;
  uint8_t needed = edit->kind == TABELLA_EDIT_DELETE ? TABELLA_SECTION_DELETABLE
                   : edit->kind == TABELLA_EDIT_SET  ? TABELLA_SECTION_TITLE_EDITABLE
                                                     : TABELLA_SECTION_MOVABLE;
  int32_t code = TABELLA_OK, insertable = 0;
  if (can->section_editing == NULL)
    return tabella_fail(error, TABELLA_NOT_SUPPORTED, "the sections cannot be edited");
  if (edit->kind == TABELLA_EDIT_INSERT) {
    if (can->section_editing->insertable != NULL)
      code = can->section_editing->insertable(source, &insertable, error);
    if (code != TABELLA_OK || insertable) return code;
    return tabella_fail(error, TABELLA_READ_ONLY, "no section can be inserted");
  }
  code = can->section_editing->editable(source, from.section, 1, &bits, error);
  if (code != TABELLA_OK || (bits & needed) != 0) return code;
  return tabella_fail(error, TABELLA_READ_ONLY, "section %lld cannot be %s", (long long)from.section,
                      edit->kind == TABELLA_EDIT_DELETE ? "deleted"
                      : edit->kind == TABELLA_EDIT_SET  ? "renamed"
                                                        : "moved");
}

/* Refuses an edit of a row that the source declares impossible. `settable` has a byte for each column. */
TABELLA_HELPER int32_t tabella_row_allowed_(void *source, const tabella_abilities_ *can,
                                            const tabella_edit *edit, tabella_index_path from,
                                            const tabella_column *columns, const uint8_t *settable,
                                            tabella_error *error) {
  uint8_t bits = 0;
  int64_t i;
  int32_t code = TABELLA_OK;
  if (edit->kind == TABELLA_EDIT_MOVE) {
    if (can->moving == NULL)
      return tabella_fail(error, TABELLA_NOT_SUPPORTED, "the rows cannot be moved");
    code = can->moving->movable(source, from.section, from.row, 1, &bits, error);
  } else if (edit->kind != TABELLA_EDIT_INSERT && can->editing != NULL) {
    code = can->editing->editable(source, from.section, from.row, 1, &bits, error);
    bits &= edit->kind == TABELLA_EDIT_SET ? TABELLA_ROW_EDITABLE : TABELLA_ROW_DELETE;
  } else {
    bits = 1;
  }
  if (code != TABELLA_OK) return code;
  if (bits == 0)
    return tabella_fail(error, TABELLA_READ_ONLY, "row %lld:%lld cannot be %s", (long long)from.section,
                        (long long)from.row,
                        edit->kind == TABELLA_EDIT_MOVE  ? "moved"
                        : edit->kind == TABELLA_EDIT_SET ? "changed"
                                                         : "deleted");
  for (i = 0; i < edit->cell_count; i++) {
    if (settable[edit->cells[i].column]) continue;
    error->column = edit->cells[i].column;
    error->located |= TABELLA_ERROR_HAS_COLUMN;
    return tabella_fail(error, TABELLA_READ_ONLY, "the column %s cannot be set",
                        columns[edit->cells[i].column].name);
  }
  return TABELLA_OK;
}

TABELLA_HELPER void tabella_plan_free(tabella_plan *plan) {
  int64_t i;
  for (i = 0; plan->lists != NULL && i < plan->list_count; i++) {
    free(plan->lists[i].departed);
    free(plan->lists[i].arrivals);
  }
  free(plan->lists);
  free(plan->named);
  free(plan->from);
  free(plan->to);
  free(plan->changes);
  memset(plan, 0, sizeof *plan);
}

/* Adds the list of these named elements. `count` is the number of elements that the source knows. */
TABELLA_HELPER int32_t tabella_plan_add_(tabella_plan *plan, int64_t section,
                                         const tabella_named_ *named, int64_t named_count,
                                         int64_t count, int64_t after, tabella_error *error) {
  tabella_list_ *list = &plan->lists[plan->list_count];
  list->section = section;
  list->count = count;
  list->departed = (int64_t *)calloc((size_t)named_count + 1, sizeof *list->departed);
  list->arrivals = (tabella_arrival_ *)calloc((size_t)named_count + 1, sizeof *list->arrivals);
  plan->list_count++;
  if (list->departed == NULL || list->arrivals == NULL)
    return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  return tabella_list_plan_(list, named, named_count, after, error);
}

/* Resolves ids, and checks what each edit says by itself. */
TABELLA_HELPER int32_t tabella_plan_resolve_(tabella_plan *plan, const tabella_abilities_ *can,
                                             tabella_error *error) {
  int64_t i;
  for (i = 0; i < plan->batch->edit_count; i++) {
    const tabella_edit *edit = &plan->batch->edits[i];
    int is_insert = edit->kind == TABELLA_EDIT_INSERT, has_id = !is_insert && edit->id.bytes != NULL;
    int of_section = (is_insert ? edit->target.row : edit->from.row) < 0 && !has_id;
    int32_t code = tabella_edit_check_(edit, i, of_section, can->section_editing != NULL, error);
    if (code == TABELLA_OK && has_id)
      code = can->identity == NULL ? tabella_fail(error, TABELLA_NOT_SUPPORTED, "the rows have no ids")
                                   : can->identity->find(plan->source, edit->id, &plan->from[i], error);
    if (code != TABELLA_OK) return code;
    if (!has_id) plan->from[i] = is_insert ? tabella_path_(-1, -1) : edit->from;
  }
  return TABELLA_OK;
}

/* Sorts the numbers of edits by what the edits name. qsort passes no context, so this is a heap sort. */
TABELLA_HELPER void tabella_plan_sort_(const tabella_plan *plan, int64_t *edits, int64_t count) {
  int64_t start = count / 2, end = count;
  while (end > 1) {
    int64_t root, child, held;
    if (start > 0) {
      start--;
    } else {
      end--;
      held = edits[end];
      edits[end] = edits[0];
      edits[0] = held;
    }
    for (root = start; (child = 2 * root + 1) < end; root = child) {
      const tabella_edit *all = plan->batch->edits;
      if (child + 1 < end &&
          tabella_named_compare_(plan->from[edits[child]], all[edits[child]].kind,
                                 plan->from[edits[child + 1]], all[edits[child + 1]].kind) < 0)
        child++;
      if (tabella_named_compare_(plan->from[edits[root]], all[edits[root]].kind,
                                 plan->from[edits[child]], all[edits[child]].kind) >= 0)
        break;
      held = edits[root];
      edits[root] = edits[child];
      edits[child] = held;
    }
  }
}

/* Fills `named` with what the edits of sections name, checks every path, and finds the last section. */
TABELLA_HELPER int32_t tabella_plan_name_sections_(tabella_plan *plan, tabella_named_ *named,
                                                   int64_t *named_count, int64_t *last,
                                                   tabella_error *error) {
  static const int32_t roles[5] = {0, 0, TABELLA_DELETED_, TABELLA_SET_, TABELLA_MOVED_};
  int64_t i;
  for (i = 0; i < plan->batch->edit_count; i++) {
    const tabella_edit *edit = &plan->batch->edits[i];
    int leaves = edit->kind != TABELLA_EDIT_INSERT;
    int arrives = edit->kind == TABELLA_EDIT_INSERT || edit->kind == TABELLA_EDIT_MOVE;
    tabella_index_path paths[2];
    int p;
    paths[0] = plan->from[i];
    paths[1] = edit->target;
    for (p = leaves ? 0 : 1; p < (arrives ? 2 : 1); p++) {
      if (paths[p].section < 0 || paths[p].row < -1)
        return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "%lld:%lld is not a position in a table",
                            (long long)paths[p].section, (long long)paths[p].row);
      if (paths[p].section > *last) *last = paths[p].section;
    }
    if (leaves && arrives && (paths[0].row < 0) != (paths[1].row < 0))
      return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "a %s cannot be moved to a %s",
                          paths[0].row < 0 ? "section" : "row", paths[1].row < 0 ? "section" : "row");
    if (edit->kind == TABELLA_EDIT_SET || edit->kind == TABELLA_EDIT_MOVE)
      plan->named[plan->named_count++] = i;
    for (p = leaves ? 0 : 1; p < (arrives ? 2 : 1); p++) {
      tabella_named_ *name = &named[*named_count];
      if (paths[p].row >= 0) continue;
      name->list = -1;
      name->element = paths[p].section;
      name->role = p == 1 ? TABELLA_ARRIVES_ : roles[edit->kind];
      name->edit = i;
      ++*named_count;
    }
  }
  return TABELLA_OK;
}

/* Adds one name of a row. */
TABELLA_HELPER void tabella_name_row_(tabella_named_ *named, int64_t *named_count, int64_t section,
                                      int64_t row, int32_t role, int64_t edit) {
  tabella_named_ *name = &named[(*named_count)++];
  name->list = section;
  name->element = row;
  name->role = role;
  name->edit = edit;
}

/* Fills `named` with what the edits of rows name. The sections are planned. */
TABELLA_HELPER int32_t tabella_plan_name_rows_(tabella_plan *plan, tabella_named_ *named,
                                               int64_t *named_count, tabella_error *error) {
  static const int32_t roles[5] = {0, 0, TABELLA_DELETED_, TABELLA_SET_, TABELLA_MOVED_};
  const tabella_list_ *sections = tabella_plan_list_(plan, -1);
  int64_t i, j;
  for (i = 0; i < plan->batch->edit_count; i++)
    if (plan->from[i].row >= 0)
      tabella_name_row_(named, named_count, plan->from[i].section, plan->from[i].row,
                        roles[plan->batch->edits[i].kind], i);
  qsort(named, (size_t)*named_count, sizeof *named, tabella_named_order_);
  for (i = 0; sections != NULL && i < *named_count; i++) {
    if (named[i].list >= sections->count)
      return tabella_fail(error, TABELLA_NOT_FOUND, "there is no section %lld", (long long)named[i].list);
    if (tabella_plan_path(plan, tabella_path_(named[i].list, -1)).section < 0)
      return tabella_fail(error, TABELLA_INVALID_ARGUMENT,
                          "the batch edits rows of section %lld, which it also deletes",
                          (long long)named[i].list);
  }
  for (i = 0; i < plan->batch->edit_count; i++) {
    const tabella_edit *edit = &plan->batch->edits[i];
    int64_t section = edit->target.section, old = section;
    const tabella_arrival_ *arrival = NULL;
    if ((edit->kind != TABELLA_EDIT_INSERT && edit->kind != TABELLA_EDIT_MOVE) || edit->target.row < 0)
      continue;
    if (sections != NULL) arrival = tabella_origin_(sections, section, &old);
    if (arrival != NULL) old = plan->from[arrival->edit].section;
    if (old < 0) {
      for (j = 0; j < plan->batch->edit_count; j++)
        if (plan->batch->edits[j].kind == TABELLA_EDIT_INSERT && plan->batch->edits[j].target.row < 0 &&
            plan->batch->edits[j].target.section == section)
          return tabella_fail(error, TABELLA_INVALID_ARGUMENT,
                              "section %lld is new and empty; insert its rows in another batch",
                              (long long)section);
    }
    if (old < 0 || (sections != NULL && old >= sections->count))
      return tabella_fail(error, TABELLA_NOT_FOUND, "there is no section %lld", (long long)section);
    tabella_name_row_(named, named_count, old, edit->target.row, TABELLA_ARRIVES_, i);
  }
  qsort(named, (size_t)*named_count, sizeof *named, tabella_named_order_);
  return TABELLA_OK;
}

/* Plans the sections, and then the rows of each section. */
TABELLA_HELPER int32_t tabella_plan_lists_(tabella_plan *plan, tabella_named_ *named,
                                           tabella_error *error) {
  int64_t i, j, named_count = 0, last = 0, departed = 0;
  int32_t code = tabella_plan_name_sections_(plan, named, &named_count, &last, error);
  if (code != TABELLA_OK) return code;
  tabella_plan_sort_(plan, plan->named, plan->named_count);
  if (named_count > 0) {
    tabella_count count = {1, 1, 0};
    int64_t needed = tabella_needed_(named, named_count);
    qsort(named, (size_t)named_count, sizeof *named, tabella_named_order_);
    for (i = 0; i < named_count; i++)
      departed += (named[i].role & (TABELLA_DELETED_ | TABELLA_MOVED_)) != 0;
    if (tabella_sum_(last, 1 + departed) > needed) needed = tabella_sum_(last, 1 + departed);
    if (plan->sections != NULL) code = plan->sections->count(plan->source, needed, &count, error);
    if (code == TABELLA_OK)
      code = tabella_plan_add_(plan, -1, named, named_count, count.value, -1, error);
    if (code != TABELLA_OK) return code;
  }
  named_count = 0;
  code = tabella_plan_name_rows_(plan, named, &named_count, error);
  for (i = 0; code == TABELLA_OK && i < named_count; i = j) {
    tabella_count count = {0, 1, 0};
    int64_t section = named[i].list;
    for (j = i; j < named_count && named[j].list == section; j++) {}
    code = plan->table->row_count(plan->source, section, tabella_needed_(named + i, j - i), &count, error);
    if (code == TABELLA_OK)
      code = tabella_plan_add_(plan, section, named + i, j - i, count.value,
                               tabella_plan_path(plan, tabella_path_(section, -1)).section, error);
  }
  return code;
}

/* Checks cells and permissions of all edits. */
TABELLA_HELPER int32_t tabella_plan_allow_(tabella_plan *plan, const tabella_abilities_ *can,
                                           const tabella_column *columns, int64_t column_count,
                                           tabella_error *error) {
  int64_t i;
  int32_t code = TABELLA_OK;
  uint8_t *settable = (uint8_t *)malloc((size_t)column_count + 1);
  if (settable == NULL) return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  memset(settable, 1, (size_t)column_count + 1);
  for (i = 0; code == TABELLA_OK && i < plan->batch->edit_count; i++) {
    const tabella_edit *edit = &plan->batch->edits[i];
    if (plan->from[i].row >= 0 || (plan->from[i].section < 0 && edit->target.row >= 0))
      code = tabella_cells_check_(edit, columns, column_count, error);
  }
  if (code == TABELLA_OK && can->editing != NULL && can->editing->editable_columns != NULL)
    code = can->editing->editable_columns(plan->source, settable, error);
  for (i = 0; code == TABELLA_OK && i < plan->batch->edit_count; i++) {
    const tabella_edit *edit = &plan->batch->edits[i];
    int of_section = (edit->kind == TABELLA_EDIT_INSERT ? edit->target.row : plan->from[i].row) < 0;
    code = of_section ? tabella_section_allowed_(plan->source, can, edit, plan->from[i], error)
                      : tabella_row_allowed_(plan->source, can, edit, plan->from[i], columns, settable,
                                           error);
  }
  free(settable);
  return code;
}

TABELLA_HELPER void tabella_plan_change_(tabella_plan *plan, int32_t kind, tabella_index_path from,
                                         tabella_index_path to) {
  tabella_change *change = &plan->changes[plan->change_count++];
  change->kind = kind;
  change->from = from;
  change->to = to;
}

/* Lists the changes, and where the row or section of each edit is after the batch. */
TABELLA_HELPER void tabella_plan_list_changes_(tabella_plan *plan, uint32_t flags) {
  static const int32_t kinds[5] = {0, TABELLA_CHANGE_INSERT, TABELLA_CHANGE_DELETE,
                                   TABELLA_CHANGE_RECONFIGURE, TABELLA_CHANGE_MOVE};
  const tabella_index_path none = {-1, -1};
  int64_t i;
  for (i = 0; i < plan->batch->edit_count; i++) {
    const tabella_edit *edit = &plan->batch->edits[i];
    tabella_index_path from = plan->from[i];
    int arrives = edit->kind == TABELLA_EDIT_INSERT || edit->kind == TABELLA_EDIT_MOVE;
    int new_id = (flags & TABELLA_PLAN_IDS_OF_CONTENT) != 0 && from.row >= 0;
    plan->to[i] = arrives ? edit->target
                  : edit->kind == TABELLA_EDIT_DELETE ? none
                                                      : tabella_plan_path(plan, from);
    if (new_id && edit->kind == TABELLA_EDIT_SET) {
      if (tabella_plan_named_(plan, from, TABELLA_EDIT_MOVE) < 0)
        tabella_plan_change_(plan, TABELLA_CHANGE_RELOAD, from, none);
    } else if (new_id && edit->kind == TABELLA_EDIT_MOVE &&
               tabella_plan_named_(plan, from, TABELLA_EDIT_SET) >= 0) {
      tabella_plan_change_(plan, TABELLA_CHANGE_DELETE, from, none);
      tabella_plan_change_(plan, TABELLA_CHANGE_INSERT, none, edit->target);
    } else {
      tabella_plan_change_(plan, kinds[edit->kind], from, arrives ? edit->target : none);
    }
  }
}

TABELLA_HELPER int32_t tabella_plan_make(tabella_plan *plan, void *source,
                                         const tabella_source_table *table,
                                         const tabella_column *columns, int64_t column_count,
                                         uint32_t flags, const tabella_edit_batch *batch,
                                         tabella_error *error) {
  size_t count = (size_t)(batch->edit_count > 0 ? batch->edit_count : 0) + 1;
  tabella_named_ *named = (tabella_named_ *)calloc(count * 2, sizeof *named);
  tabella_abilities_ can;
  tabella_string version = {NULL, 0};
  int32_t code = TABELLA_OK;
  memset(plan, 0, sizeof *plan);
  plan->batch = batch;
  plan->source = source;
  plan->table = table;
  plan->from = (tabella_index_path *)calloc(count, sizeof *plan->from);
  plan->to = (tabella_index_path *)calloc(count, sizeof *plan->to);
  plan->changes = (tabella_change *)calloc(count * 2, sizeof *plan->changes);
  plan->named = (int64_t *)calloc(count, sizeof *plan->named);
  plan->lists = (tabella_list_ *)calloc(count * 2 + 1, sizeof *plan->lists);
  if (named == NULL || plan->from == NULL || plan->to == NULL || plan->changes == NULL ||
      plan->named == NULL || plan->lists == NULL)
    code = tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  if (code == TABELLA_OK && batch->version.bytes != NULL && batch->version.length > 0) {
    code = table->version(source, &version, error);
    if (code == TABELLA_OK && (version.length != batch->version.length ||
                               memcmp(version.bytes, batch->version.bytes, (size_t)version.length) != 0))
      code = tabella_fail(error, TABELLA_CONFLICT, "the table is at version %.*s, not %.*s",
                          (int)(version.length & 0x3FF), version.bytes != NULL ? version.bytes : "",
                          (int)(batch->version.length & 0x3FF), batch->version.bytes);
  }
  plan->sections = (const tabella_sections *)tabella_ability_(source, table, TABELLA_SECTIONS_ID);
  can.identity = (const tabella_identity *)tabella_ability_(source, table, TABELLA_IDENTITY_ID);
  can.editing = (const tabella_editing *)tabella_ability_(source, table, TABELLA_EDITING_ID);
  can.section_editing =
      (const tabella_section_editing *)tabella_ability_(source, table, TABELLA_SECTION_EDITING_ID);
  can.moving = (const tabella_moving *)tabella_ability_(source, table, TABELLA_MOVING_ID);
  if (code == TABELLA_OK) code = tabella_plan_resolve_(plan, &can, error);
  if (code == TABELLA_OK) code = tabella_plan_lists_(plan, named, error);
  if (code == TABELLA_OK) code = tabella_plan_allow_(plan, &can, columns, column_count, error);
  if (code == TABELLA_OK) tabella_plan_list_changes_(plan, flags);
  free(named);
  if (code != TABELLA_OK) tabella_plan_free(plan);
  return code;
}

/* ------------------------------------------------------------------------------------------------
 * Results
 * --------------------------------------------------------------------------------------------- */

/* A copied string of a result. The bytes follow. */
typedef struct tabella_copied_ {
  struct tabella_copied_ *next;
} tabella_copied_;

/* The memory of a result. */
typedef struct tabella_held_ {
  tabella_edit_outcome *outcomes;
  tabella_change *changes;
  tabella_copied_ *copied;
  int failed;
} tabella_held_;

TABELLA_HELPER void tabella_result_release_(tabella_edit_result *result) {
  tabella_held_ *held = (tabella_held_ *)result->private_data;
  while (held->copied != NULL) {
    tabella_copied_ *next = held->copied->next;
    free(held->copied);
    held->copied = next;
  }
  free(held->outcomes);
  free(held->changes);
  free(held);
  memset(result, 0, sizeof *result);
}

TABELLA_HELPER void tabella_result_begin(tabella_edit_result *out, int64_t outcomes) {
  tabella_held_ *held = (tabella_held_ *)calloc(1, sizeof *held);
  memset(out, 0, sizeof *out);
  if (held == NULL) return;
  held->outcomes = (tabella_edit_outcome *)calloc((size_t)outcomes + 1, sizeof *held->outcomes);
  held->failed = held->outcomes == NULL;
  out->outcomes = held->outcomes;
  out->outcome_count = outcomes;
  out->private_data = held;
  out->release = tabella_result_release_;
}

/* Copies bytes into the memory of a result. Null stays absent. */
TABELLA_HELPER tabella_string tabella_result_copy_(tabella_edit_result *out, const void *bytes,
                                                   size_t size) {
  tabella_held_ *held = (tabella_held_ *)out->private_data;
  tabella_string string = {NULL, 0};
  tabella_copied_ *copied;
  if (held == NULL || bytes == NULL) return string;
  copied = (tabella_copied_ *)malloc(sizeof *copied + size + 1);
  if (copied == NULL) {
    held->failed = 1;
    return string;
  }
  copied->next = held->copied;
  held->copied = copied;
  memcpy(copied + 1, bytes, size);
  string.bytes = (const char *)(copied + 1);
  string.length = (int64_t)size;
  return string;
}

/* The outcome of an edit, to be changed; null if there is none. */
TABELLA_HELPER tabella_edit_outcome *tabella_outcome_(tabella_edit_result *out, int64_t edit) {
  tabella_held_ *held = (tabella_held_ *)out->private_data;
  if (held == NULL || held->outcomes == NULL || edit < 0 || edit >= out->outcome_count) return NULL;
  return &held->outcomes[edit];
}

TABELLA_HELPER void tabella_result_id(tabella_edit_result *out, int64_t edit, const char *id) {
  tabella_edit_outcome *outcome = tabella_outcome_(out, edit);
  if (outcome != NULL) outcome->id = tabella_result_copy_(out, id, id != NULL ? strlen(id) : 0);
}

TABELLA_HELPER void tabella_result_message(tabella_edit_result *out, int64_t edit, int32_t code,
                                           const char *message) {
  tabella_edit_outcome *outcome = tabella_outcome_(out, edit);
  if (outcome == NULL) return;
  outcome->code = code;
  outcome->message = tabella_result_copy_(out, message, message != NULL ? strlen(message) : 0);
}

TABELLA_HELPER void tabella_result_final(tabella_edit_result *out, int64_t edit) {
  tabella_edit_outcome *outcome = tabella_outcome_(out, edit);
  if (outcome != NULL) outcome->flags |= TABELLA_OUTCOME_FINAL;
}

TABELLA_HELPER void tabella_result_receipt(tabella_edit_result *out, const void *bytes, size_t size) {
  out->receipt = tabella_result_copy_(out, bytes, size);
}

TABELLA_HELPER void tabella_result_changes(tabella_edit_result *out, const tabella_plan *plan,
                                           const char *from, const char *to) {
  tabella_held_ *held = (tabella_held_ *)out->private_data;
  if (held == NULL) return;
  out->changes.from_version = tabella_result_copy_(out, from, from != NULL ? strlen(from) : 0);
  out->changes.to_version = tabella_result_copy_(out, to, to != NULL ? strlen(to) : 0);
  out->changes.flags = plan == NULL ? TABELLA_CHANGES_RELOAD : 0;
  if (plan == NULL || plan->change_count == 0) return;
  held->changes = (tabella_change *)malloc((size_t)plan->change_count * sizeof *held->changes);
  if (held->changes == NULL) {
    held->failed = 1;
    return;
  }
  memcpy(held->changes, plan->changes, (size_t)plan->change_count * sizeof *held->changes);
  out->changes.changes = held->changes;
  out->changes.change_count = plan->change_count;
}

TABELLA_HELPER void tabella_result_drop(tabella_edit_result *out) {
  if (out->release != NULL) out->release(out);
}

TABELLA_HELPER void tabella_result_remark(tabella_edit_result *out, int32_t code, const char *text) {
  int64_t i;
  for (i = 0; text != NULL && i < out->outcome_count; i++) {
    tabella_edit_outcome *outcome = tabella_outcome_(out, i);
    if (outcome == NULL) continue;
    outcome->code = code;
    outcome->message = tabella_cstring(text);
  }
}

TABELLA_HELPER int32_t tabella_result_finish(tabella_edit_result *out, tabella_error *error) {
  tabella_held_ *held = (tabella_held_ *)out->private_data;
  if (held != NULL && !held->failed) return TABELLA_OK;
  tabella_result_drop(out);
  return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
}

#ifdef __cplusplus
}
#endif

#endif /* TABELLA_EDIT_H */
