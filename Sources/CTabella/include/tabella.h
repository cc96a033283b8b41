/*
 * tabella.h: the contract between a table provider and whoever shows its tables.
 *
 * A provider is a dynamic library that exports one function, tabella_provider_entry. It opens
 * locations; an opened location is a source: sections of rows of typed cells. The same source
 * shape is used in both directions: a provider hands sources to a host, and a host hands sources
 * to a program that embeds it.
 *
 * How to read this file
 *   - Core functions are in tabella_source_table. Everything optional is a table of its own, asked
 *     for by id with `ability`; a null answer means "the source cannot do that".
 *   - After each function stand, in brackets, its thread rule and, before them, who owns what:
 *       [serial]  one call at a time per object (source or provider), from any thread; calls on
 *                 different objects may run at the same time. No call may depend on thread-local
 *                 state left by an earlier one.
 *       [any]     may be called from any thread at any time, also during a [serial] call.
 *   - "Borrowed" means: owned by the callee, valid until the next [serial] call on the same object
 *     or its release, whichever is first. The caller copies what it keeps.
 *   - A function that returns int32_t returns a code: TABELLA_OK (0) or one of TABELLA_*. On any
 *     other code the out-parameters hold nothing that needs releasing, except `error`.
 *   - Out-parameters are never null and are zeroed by the caller. Unless said otherwise, pointers
 *     in a table are not null.
 *   - Sections, rows and columns count from 0. Ranges are [first, first + count).
 *   - Nothing but C crosses: no exceptions, no longjmp, no Swift or C++ objects.
 *
 * Versions: until contract 1.0 the version must match exactly. A published struct never grows or
 * changes; what is new comes as a new table with a new id.
 */
#ifndef TABELLA_H
#define TABELLA_H

#include <stddef.h>
#include <stdint.h>

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunknown-warning-option"
#pragma clang diagnostic ignored "-Wnullability-extension"
#define TABELLA_NONNULL _Nonnull
#define TABELLA_NULLABLE _Nullable
#else
#define TABELLA_NONNULL
#define TABELLA_NULLABLE
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------
 * Version
 * --------------------------------------------------------------------------------------------- */

/* Contract 0.1, as (major << 16) | minor. */
#define TABELLA_CONTRACT_VERSION 0x00000001u

/* ------------------------------------------------------------------------------------------------
 * Codes. Values 1 to 99 are for providers; a code that is not listed is treated as
 * TABELLA_INTERNAL.
 * --------------------------------------------------------------------------------------------- */

#define TABELLA_OK 0
/* The ability or operation does not exist here. Nothing was done. */
#define TABELLA_NOT_SUPPORTED 1
/* An argument makes no sense (negative, unknown column, malformed option). The caller's fault. */
#define TABELLA_INVALID_ARGUMENT 2
/* Not now: the object is in a state that forbids the call. The caller's fault. */
#define TABELLA_INVALID_STATE 3
/* The location, section, row, id or title does not exist. */
#define TABELLA_NOT_FOUND 4
/* The data changed since the version the caller named or read. Nothing was done. */
#define TABELLA_CONFLICT 5
/* This source, row or cell cannot be changed. */
#define TABELLA_READ_ONLY 6
/* The value or the move breaks a rule of the data. Nothing was done. */
#define TABELLA_CONSTRAINT 7
/* Reading or writing failed. */
#define TABELLA_IO 8
/* The caller cancelled. */
#define TABELLA_CANCELLED 9
/* It took too long. */
#define TABELLA_TIMEOUT 10
/* Permission or trust refused it. */
#define TABELLA_DENIED 11
/* A fault inside the provider. */
#define TABELLA_INTERNAL 12
/* Made by hosts only: the provider broke this contract. */
#define TABELLA_MISBEHAVED 100

/* ------------------------------------------------------------------------------------------------
 * Small values
 * --------------------------------------------------------------------------------------------- */

/* Bytes with a length: UTF-8 unless said otherwise, not terminated. `bytes` null means absent,
 * which differs from empty (length 0, bytes not null). Borrowed unless said otherwise. */
typedef struct tabella_string {
  const char *TABELLA_NULLABLE bytes;
  int64_t length;
} tabella_string;

/* Where a row is. A path that names a section only has row -1. */
typedef struct tabella_index_path {
  int64_t section;
  int64_t row;
} tabella_index_path;

/* How many there are. If `exact` is 1, `value` is the number; if 0, there are at least `value`. */
typedef struct tabella_count {
  int64_t value;
  int32_t exact;
  int32_t reserved; /* zero */
} tabella_count;

/* What went wrong, beside the code that the function returned. The caller zeroes it; the callee may
 * fill it on failure. The receiver copies it and calls `release`, if that is set, at once, on the
 * same thread. A message that is set must come with a release. */
typedef struct tabella_error {
  tabella_string message;  /* One line: what, where, what to do. Owned through release. */
  tabella_index_path path; /* As far as `located` says. */
  int64_t column;          /* As far as `located` says. */
  int32_t located;         /* TABELLA_ERROR_HAS_*: which of section, row, column are meant. */
  int32_t retryable;       /* 1 if the same call may succeed later. */
  /* Frees the message and sets itself to null. Called exactly once. [any] */
  void (*TABELLA_NULLABLE release)(struct tabella_error *TABELLA_NONNULL error);
  void *TABELLA_NULLABLE private_data;
} tabella_error;

#define TABELLA_ERROR_HAS_SECTION 1
#define TABELLA_ERROR_HAS_ROW 2
#define TABELLA_ERROR_HAS_COLUMN 4

/* ------------------------------------------------------------------------------------------------
 * Rows: the Arrow C Data Interface
 * (https://arrow.apache.org/docs/format/CDataInterface.html; the two structs are its own)
 * --------------------------------------------------------------------------------------------- */

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
  const char *TABELLA_NULLABLE format;
  const char *TABELLA_NULLABLE name;
  const char *TABELLA_NULLABLE metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema *TABELLA_NULLABLE *TABELLA_NULLABLE children;
  struct ArrowSchema *TABELLA_NULLABLE dictionary;
  void (*TABELLA_NULLABLE release)(struct ArrowSchema *TABELLA_NONNULL schema);
  void *TABELLA_NULLABLE private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void *TABELLA_NULLABLE *TABELLA_NULLABLE buffers;
  struct ArrowArray *TABELLA_NULLABLE *TABELLA_NULLABLE children;
  struct ArrowArray *TABELLA_NULLABLE dictionary;
  void (*TABELLA_NULLABLE release)(struct ArrowArray *TABELLA_NONNULL array);
  void *TABELLA_NULLABLE private_data;
};

#endif /* ARROW_C_DATA_INTERFACE */

/* The types of columns, and the Arrow format each crosses as. A text column crosses as binary
 * because a file's text need not be UTF-8; the field's metadata key "tabella.type" says "text".
 * Unit: metadata key "tabella.unit" is "bytes", "percent" or "seconds".
 * How text reads, for text columns only: "tabella.reads" is "integer", "real", "boolean" or "date" if
 * all cells read as that type, empty ones apart; "tabella.decimal" is "," if numbers in the text have a
 * comma before their fraction. The cells stay text; a host may take them as values of that type. */
#define TABELLA_TYPE_TEXT 1    /* "z", metadata tabella.type=text */
#define TABELLA_TYPE_INTEGER 2 /* "l" */
#define TABELLA_TYPE_REAL 3    /* "g" */
#define TABELLA_TYPE_BOOLEAN 4 /* "b" */
#define TABELLA_TYPE_DATE 5    /* "tsn:UTC": nanoseconds since 1970-01-01T00:00:00Z */
#define TABELLA_TYPE_BINARY 6  /* "z" */

/* What a caller wants of one section. */
typedef struct tabella_row_request {
  int64_t section;
  int64_t first; /* The first row. */
  int64_t count; /* How many, at most; at least 1. */
  /* The columns wanted, in this order, by number; may repeat none. Owned by the caller. */
  const int64_t *TABELLA_NULLABLE columns;
  int64_t column_count; /* May be 0: then only the number of rows, and ids if asked for. */
  uint32_t flags;       /* TABELLA_ROWS_IDS */
  uint32_t reserved;    /* zero */
} tabella_row_request;

/* Also give the rows' ids. Only for a source with tabella.identity/1. */
#define TABELLA_ROWS_IDS 1u

/* Rows. `array` is a struct array ("+s", no nulls, offset 0) with one child a column asked for, in
 * the order asked, then, if ids were asked for, one binary child with the ids. The receiver owns it
 * and calls array.release exactly once, on any thread, before or after the source's release: a
 * batch outlives its source. release sets itself to null. */
typedef struct tabella_batch {
  struct ArrowArray array;
  uint64_t flags; /* TABELLA_BATCH_UTF8 */
} tabella_batch;

/* A promise that every present text cell in the batch is valid UTF-8. The receiver checks it once a
 * buffer and may then skip a check a cell. */
#define TABELLA_BATCH_UTF8 1ull

/* ------------------------------------------------------------------------------------------------
 * A source
 * --------------------------------------------------------------------------------------------- */

/* The positions of rows may differ from one opening to the next without any edit (a directory, a
 * process list): a position alone must not be used to delete. */
#define TABELLA_SOURCE_VOLATILE_ORDER 1ull

/* The core of a source. The table itself is immutable and lives as long as the library.
 *
 * A source shows one version of its data until it is moved to another by an edit or by
 * tabella.changes/1. Within a version: the columns are the same; an exact count never changes; an
 * at-least count never falls; a row asked for twice is the same row with the same cells. A source
 * that notices that this can no longer be held (the file changed) fails with TABELLA_CONFLICT. */
typedef struct tabella_source_table {
  /* Ends the source and frees it. Called exactly once, last. Batches live on. [serial] */
  void (*TABELLA_NULLABLE release)(void *TABELLA_NONNULL source);

  /* Asks a running call on this source to stop soon and answer TABELLA_CANCELLED; does nothing when
   * none runs. May be null. [any], but not after release. */
  void (*TABELLA_NULLABLE cancel)(void *TABELLA_NONNULL source);

  /* The optional table with this id, or null. The table lives as long as the source and is the same
   * at every call; its functions take this source. May be null (no abilities). [serial] */
  const void *TABELLA_NULLABLE (*TABELLA_NULLABLE ability)(void *TABELLA_NONNULL source,
                                                         tabella_string id);

  /* TABELLA_SOURCE_* bits. Unknown bits are ignored. [serial] */
  uint64_t (*TABELLA_NULLABLE flags)(void *TABELLA_NONNULL source);

  /* The version shown: an opaque token of 0 to 1024 printable ASCII bytes (0x21 to 0x7E). Equal
   * tokens mean the same rows in the same places, in this opening, another one or a later process, and
   * with whatever options; the same rows have the same token when opened anew. Where order is
   * volatile, rows are known by their ids here: their cells may differ. Absent or empty: the source
   * has no versions. May be dear to answer. Borrowed. [serial] */
  int32_t (*TABELLA_NULLABLE version)(void *TABELLA_NONNULL source,
                                     tabella_string *TABELLA_NONNULL out,
                                     tabella_error *TABELLA_NONNULL error);

  /* The columns, as a struct schema ("+s") with one child a column, name and type as above. The
   * receiver owns it and calls its release once. [serial] */
  int32_t (*TABELLA_NULLABLE schema)(void *TABELLA_NONNULL source,
                                    struct ArrowSchema *TABELLA_NONNULL out,
                                    tabella_error *TABELLA_NONNULL error);

  /* The number of rows in a section. `at_least` (0 or more) is how many the caller needs to know
   * about: the answer is exact, or at least that many. 0 means "whatever is known now"; INT64_MAX
   * means "the exact number", whatever that costs. No such section: TABELLA_NOT_FOUND. [serial] */
  int32_t (*TABELLA_NULLABLE row_count)(void *TABELLA_NONNULL source, int64_t section,
                                       int64_t at_least, tabella_count *TABELLA_NONNULL out,
                                       tabella_error *TABELLA_NONNULL error);

  /* Rows of one section. Gives at least one row unless `first` is the section's end, at most
   * request->count, and may give fewer (large rows): the caller goes on from there. An empty batch
   * means that the section ends at `first`. `first` beyond the end: TABELLA_NOT_FOUND. A column
   * that does not exist, or a negative number: TABELLA_INVALID_ARGUMENT. The caller owns the batch.
   * [serial] */
  int32_t (*TABELLA_NULLABLE rows)(void *TABELLA_NONNULL source,
                                  const tabella_row_request *TABELLA_NONNULL request,
                                  tabella_batch *TABELLA_NONNULL out,
                                  tabella_error *TABELLA_NONNULL error);
} tabella_source_table;

/* A source: its functions and itself. Owned by whoever received it, who calls table->release. */
typedef struct tabella_source {
  const tabella_source_table *TABELLA_NULLABLE table;
  void *TABELLA_NULLABLE source;
} tabella_source;

/* ------------------------------------------------------------------------------------------------
 * tabella.sections/1: several sections, and titles. Without it a source has one section, untitled.
 * --------------------------------------------------------------------------------------------- */

#define TABELLA_SECTIONS_ID "tabella.sections/1"

#define TABELLA_TITLE_HEADER 0
#define TABELLA_TITLE_FOOTER 1

typedef struct tabella_sections {
  /* The number of sections; `at_least` as in row_count. [serial] */
  int32_t (*TABELLA_NULLABLE count)(void *TABELLA_NONNULL source, int64_t at_least,
                                   tabella_count *TABELLA_NONNULL out,
                                   tabella_error *TABELLA_NONNULL error);
  /* The header or footer title of a section; absent when it has none. No such section:
   * TABELLA_NOT_FOUND. Borrowed. [serial] */
  int32_t (*TABELLA_NULLABLE title)(void *TABELLA_NONNULL source, int64_t section, int32_t which,
                                   tabella_string *TABELLA_NONNULL out,
                                   tabella_error *TABELLA_NONNULL error);
} tabella_sections;

/* ------------------------------------------------------------------------------------------------
 * tabella.section-index/1: a short list of titles to jump by (A to Z), and where each leads
 * --------------------------------------------------------------------------------------------- */

#define TABELLA_SECTION_INDEX_ID "tabella.section-index/1"

typedef struct tabella_section_index {
  /* The titles in order. The array and its strings are borrowed. [serial] */
  int32_t (*TABELLA_NULLABLE titles)(void *TABELLA_NONNULL source,
                                    const tabella_string *TABELLA_NULLABLE *TABELLA_NONNULL out,
                                    int64_t *TABELLA_NONNULL count,
                                    tabella_error *TABELLA_NONNULL error);
  /* Where title number `title` leads: a section that exists and a row in it, or row -1 for the
   * section as such. No such title: TABELLA_NOT_FOUND. [serial] */
  int32_t (*TABELLA_NULLABLE path)(void *TABELLA_NONNULL source, int64_t title,
                                  tabella_index_path *TABELLA_NONNULL out,
                                  tabella_error *TABELLA_NONNULL error);
} tabella_section_index;

/* ------------------------------------------------------------------------------------------------
 * tabella.identity/1: ids that outlive positions
 * --------------------------------------------------------------------------------------------- */

#define TABELLA_IDENTITY_ID "tabella.identity/1"

/* An id is 1 to 16384 printable ASCII bytes (0x21 to 0x7E), unique among the rows of a version, and
 * never given to another row later; but for one that has the same content in every byte, where an id
 * is made of that. */
typedef struct tabella_identity {
  /* Where the row with this id is now. TABELLA_NOT_FOUND when it is gone. [serial] */
  int32_t (*TABELLA_NULLABLE find)(void *TABELLA_NONNULL source, tabella_string id,
                                  tabella_index_path *TABELLA_NONNULL out,
                                  tabella_error *TABELLA_NONNULL error);
} tabella_identity;

/* ------------------------------------------------------------------------------------------------
 * tabella.gathering/1: rows from anywhere in one call
 * --------------------------------------------------------------------------------------------- */

#define TABELLA_GATHERING_ID "tabella.gathering/1"

/* The rows wanted, in this order; a path may be named twice. Owned by the caller. */
typedef struct tabella_gather_request {
  const tabella_index_path *TABELLA_NULLABLE paths;
  int64_t path_count;
  /* As in tabella_row_request. */
  const int64_t *TABELLA_NULLABLE columns;
  int64_t column_count;
  uint32_t flags;    /* TABELLA_ROWS_IDS */
  uint32_t reserved; /* zero */
} tabella_gather_request;

typedef struct tabella_gathering {
  /* The rows at these paths, in this order. Gives at least one row unless path_count is 0, and may
   * stop early (large rows): the caller goes on from there. A path that is not there:
   * TABELLA_NOT_FOUND. Otherwise as `rows` of the source. The caller owns the batch. [serial] */
  int32_t (*TABELLA_NULLABLE rows)(void *TABELLA_NONNULL source,
                                  const tabella_gather_request *TABELLA_NONNULL request,
                                  tabella_batch *TABELLA_NONNULL out,
                                  tabella_error *TABELLA_NONNULL error);
} tabella_gathering;

/* ------------------------------------------------------------------------------------------------
 * tabella.changes/1: moving on to a newer version
 * --------------------------------------------------------------------------------------------- */

#define TABELLA_CHANGES_ID "tabella.changes/1"

#define TABELLA_CHANGE_INSERT 1
#define TABELLA_CHANGE_DELETE 2
#define TABELLA_CHANGE_MOVE 3
#define TABELLA_CHANGE_RELOAD 4      /* Same place, other content; a new row in effect. */
#define TABELLA_CHANGE_RECONFIGURE 5 /* Same row, same id, other cells. */

/* One change. Row changes have both parts of their paths; section changes have row -1. A section that
 * is reconfigured has another title and the same rows. UIKit's
 * rule: `from` (delete, move, reload, reconfigure) counts in the old version, `to` (insert, move)
 * in the new one; what does not apply is {-1, -1}. */
typedef struct tabella_change {
  int32_t kind;
  int32_t reserved; /* zero */
  tabella_index_path from;
  tabella_index_path to;
} tabella_change;

#define TABELLA_CHANGES_RELOAD 1u

/* What leads from one version to another. With TABELLA_CHANGES_RELOAD no changes are listed:
 * everything must be read again. Everything in it is owned through `release`. */
typedef struct tabella_changes {
  tabella_string from_version;
  tabella_string to_version;
  const tabella_change *TABELLA_NULLABLE changes;
  int64_t change_count;
  uint32_t flags;
  uint32_t reserved; /* zero */
  /* Frees the content and sets itself to null. Null if nothing is to be freed. [any] */
  void (*TABELLA_NULLABLE release)(struct tabella_changes *TABELLA_NONNULL changes);
  void *TABELLA_NULLABLE private_data;
} tabella_changes;

/* Told by the provider that there is something to pull. It may come from any thread, also during a
 * call; the host does not call back into the source from it. [any] */
typedef void (*tabella_notify)(void *TABELLA_NULLABLE context);

typedef struct tabella_changes_table {
  /* Starts telling, or stops when `notify` is null; one listener a source. When it returns from
   * stopping, no call of the old listener runs or follows. [serial] */
  int32_t (*TABELLA_NULLABLE listen)(void *TABELLA_NONNULL source, tabella_notify TABELLA_NULLABLE notify,
                                    void *TABELLA_NULLABLE context,
                                    tabella_error *TABELLA_NONNULL error);
  /* Moves the source to the newest version and says what leads there; from_version equals
   * to_version and nothing is listed when nothing changed. The caller releases `out`. [serial] */
  int32_t (*TABELLA_NULLABLE pull)(void *TABELLA_NONNULL source, tabella_changes *TABELLA_NONNULL out,
                                  tabella_error *TABELLA_NONNULL error);
} tabella_changes_table;

/* ------------------------------------------------------------------------------------------------
 * tabella.editing/1: what may be edited, and committing a batch of edits
 * --------------------------------------------------------------------------------------------- */

#define TABELLA_EDITING_ID "tabella.editing/1"

/* A row's answer, for a whole range at once: canEditRowAt and editingStyleForRowAt. */
#define TABELLA_ROW_EDITABLE 1 /* Its cells may be set, as far as their columns may. */
#define TABELLA_ROW_DELETE 2   /* Its editing style is delete. */
#define TABELLA_ROW_INSERT 4   /* Its editing style is insert: it stands for a new row. To commit it is to
                                * insert a row at its place. It cannot be deleted. */

#define TABELLA_EDIT_INSERT 1
#define TABELLA_EDIT_DELETE 2
#define TABELLA_EDIT_SET 3
#define TABELLA_EDIT_MOVE 4 /* Only for a source with tabella.moving/1. */

/* A cell's value. `type` is TABELLA_TYPE_* or 0 for missing; boolean and date use `integer`. */
typedef struct tabella_value {
  int32_t type;
  int32_t reserved; /* zero */
  int64_t integer;
  double real;
  tabella_string bytes;
} tabella_value;

typedef struct tabella_cell {
  int64_t column;
  tabella_value value;
} tabella_cell;

/* The column of a section's title, a text or missing: the only cell of a section's edit. Titles are only
 * for a source with tabella.section-editing/1. */
#define TABELLA_SECTION_TITLE -1

/* One edit. A row change has both parts of its paths, a section change has row -1. */
typedef struct tabella_edit {
  int32_t kind;
  int32_t reserved;          /* zero */
  tabella_string id;         /* delete, set, move: the row by id; absent: by `from`. */
  tabella_index_path from;   /* delete, set, move: counted before the batch; -1, -1 beside an id. */
  tabella_index_path target; /* insert, move: counted after the batch. */
  /* insert, set: each column once at most. Of a new row, cells that are not named are missing; a new
   * section without a title is untitled. */
  const tabella_cell *TABELLA_NULLABLE cells;
  int64_t cell_count;
} tabella_edit;

/* Make every check and answer as if, but change nothing: outcomes as they would be, no receipt, and
 * from_version equal to to_version unless the new one is known. */
#define TABELLA_EDITS_DRY_RUN 1u

/* Edits that are committed together. Owned by the caller for the time of the call. If `version` is
 * present and is not the source's, the answer is TABELLA_CONFLICT and nothing is done.
 *
 * UIKit's rules, in any order of the edits: nothing is named twice, but a row may be set and moved; no
 * two targets are the same. Sections take their rows along; a new one is empty and takes no rows in the
 * same batch, and no row is named of one that is deleted; in one that is moved, rows go by its old
 * number, targets by its new one. What breaks these is TABELLA_INVALID_ARGUMENT, what is not there or
 * is no place afterwards TABELLA_NOT_FOUND, and nothing is done. docs/editing.md has an example. */
typedef struct tabella_edit_batch {
  tabella_string version;
  const tabella_edit *TABELLA_NULLABLE edits;
  int64_t edit_count;
  uint32_t flags;
  uint32_t reserved; /* zero */
} tabella_edit_batch;

/* The edit did something that the receipt does not take back: something was deleted for good, a signal was
 * sent. It may stand beside a code. A dry run says the same of what would be done. */
#define TABELLA_OUTCOME_FINAL 1u

/* What became of one edit. */
typedef struct tabella_edit_outcome {
  int32_t code;
  uint32_t flags;         /* TABELLA_OUTCOME_* bits; the others are zero */
  tabella_string message; /* Absent, or why not, or a remark ("sent"). */
  tabella_string id;      /* The row's id afterwards; absent if unknown or deleted. */
} tabella_edit_outcome;

/* What became of a batch. Everything in it is owned through `release`, `changes` included: its own
 * release is null. */
typedef struct tabella_edit_result {
  const tabella_edit_outcome *TABELLA_NULLABLE outcomes; /* One an edit, in order. */
  int64_t outcome_count;
  /* For tabella.undo/1. It takes back the whole batch but for what TABELLA_OUTCOME_FINAL marks; absent: nothing
   * can be taken back. */
  tabella_string receipt;
  tabella_changes changes; /* From the old version to the new. */
  /* Frees the content and sets itself to null. Null if nothing is to be freed. [any] */
  void (*TABELLA_NULLABLE release)(struct tabella_edit_result *TABELLA_NONNULL result);
  void *TABELLA_NULLABLE private_data;
} tabella_edit_result;

typedef struct tabella_editing {
  /* Fills `out`, `count` bytes of the caller's, with the TABELLA_ROW_* bits of rows. A row that is
   * not there: TABELLA_NOT_FOUND. [serial] */
  int32_t (*TABELLA_NULLABLE editable)(void *TABELLA_NONNULL source, int64_t section, int64_t first,
                                      int64_t count, uint8_t *TABELLA_NONNULL out,
                                      tabella_error *TABELLA_NONNULL error);
  /* Fills `out`, one byte a column of the caller's, with 1 where cells may be set. May be null: all
   * columns may. [serial] */
  int32_t (*TABELLA_NULLABLE editable_columns)(void *TABELLA_NONNULL source,
                                              uint8_t *TABELLA_NONNULL out,
                                              tabella_error *TABELLA_NONNULL error);
  /* Does the edits and moves the source to the new version. A code other than TABELLA_OK means that
   * nothing was done, be it that the call was cancelled: what was begun is then ended or taken back.
   * Otherwise each outcome has its own code: where a batch can only be done one edit after another
   * (processes are signalled), some may be done and others not. What `editable`, `movable` and
   * `target` forbid is refused here too: nobody need have asked them. If the columns are others
   * afterwards, the changes say TABELLA_CHANGES_RELOAD. The caller releases `out`. [serial] */
  int32_t (*TABELLA_NULLABLE commit)(void *TABELLA_NONNULL source,
                                    const tabella_edit_batch *TABELLA_NONNULL batch,
                                    tabella_edit_result *TABELLA_NONNULL out,
                                    tabella_error *TABELLA_NONNULL error);
} tabella_editing;

/* ------------------------------------------------------------------------------------------------
 * tabella.section-editing/1: titles of sections in the edits of tabella.editing/1
 *
 * A source has this table if it understands TABELLA_SECTION_TITLE: an insert of a section may have it,
 * a set of a section has it and nothing else. A set and a move of one section go together.
 * --------------------------------------------------------------------------------------------- */

#define TABELLA_SECTION_EDITING_ID "tabella.section-editing/1"

/* A section's answer, for a whole range at once. */
#define TABELLA_SECTION_TITLE_EDITABLE 1 /* Its title may be set. */
#define TABELLA_SECTION_DELETABLE 2      /* It may be deleted, with its rows. */
#define TABELLA_SECTION_MOVABLE 4        /* It may be moved, with its rows. */

typedef struct tabella_section_editing {
  /* Fills `out`, `count` bytes of the caller's, with the TABELLA_SECTION_*ABLE bits of sections. A
   * section that is not there: TABELLA_NOT_FOUND. [serial] */
  int32_t (*TABELLA_NULLABLE editable)(void *TABELLA_NONNULL source, int64_t first, int64_t count,
                                      uint8_t *TABELLA_NONNULL out,
                                      tabella_error *TABELLA_NONNULL error);
  /* Sets `out` to 1 if a section can be inserted anywhere, else to 0. May be null: none can. [serial] */
  int32_t (*TABELLA_NULLABLE insertable)(void *TABELLA_NONNULL source,
                                        int32_t *TABELLA_NONNULL out,
                                        tabella_error *TABELLA_NONNULL error);
} tabella_section_editing;

/* ------------------------------------------------------------------------------------------------
 * tabella.moving/1: reordering. The moves themselves are edits in a batch of tabella.editing/1.
 * --------------------------------------------------------------------------------------------- */

#define TABELLA_MOVING_ID "tabella.moving/1"

typedef struct tabella_moving {
  /* canMoveRowAt for a range: fills `out`, `count` bytes of the caller's, with 1 or 0. A row that is
   * not there: TABELLA_NOT_FOUND. [serial] */
  int32_t (*TABELLA_NULLABLE movable)(void *TABELLA_NONNULL source, int64_t section, int64_t first,
                                     int64_t count, uint8_t *TABELLA_NONNULL out,
                                     tabella_error *TABELLA_NONNULL error);
  /* targetIndexPathForMove: where a row would really end up (`proposed` counts after the move).
   * TABELLA_CONSTRAINT with a reason is a veto. May be null: as proposed. [serial] */
  int32_t (*TABELLA_NULLABLE target)(void *TABELLA_NONNULL source, tabella_index_path from,
                                    tabella_index_path proposed,
                                    tabella_index_path *TABELLA_NONNULL out,
                                    tabella_error *TABELLA_NONNULL error);
} tabella_moving;

/* ------------------------------------------------------------------------------------------------
 * tabella.undo/1: taking back a committed batch
 * --------------------------------------------------------------------------------------------- */

#define TABELLA_UNDO_ID "tabella.undo/1"

typedef struct tabella_undo {
  /* Takes back the batch that gave this receipt, while what it changed is still as it left it;
   * otherwise TABELLA_CONFLICT. The receipt is any bytes: it may come from another opening or an
   * earlier process, and may be damaged or another's. `flags` as in tabella_edit_batch. The result has
   * one outcome. If that has a code, only a part of what the receipt takes back was taken back; a receipt
   * beside it takes back the rest. Else the receipt does again all that was taken back. The outcome does not
   * speak of edits that TABELLA_OUTCOME_FINAL marked: who keeps the receipt keeps those marks with it, and says
   * that they stay done. Its own TABELLA_OUTCOME_FINAL means nothing. The caller releases `out`. [serial] */
  int32_t (*TABELLA_NULLABLE undo)(void *TABELLA_NONNULL source, tabella_string receipt,
                                  uint32_t flags, tabella_edit_result *TABELLA_NONNULL out,
                                  tabella_error *TABELLA_NONNULL error);
} tabella_undo;

/* ------------------------------------------------------------------------------------------------
 * tabella.supplementary/1: elements beside the cells (header, footer, preview, badge, …)
 * --------------------------------------------------------------------------------------------- */

#define TABELLA_SUPPLEMENTARY_ID "tabella.supplementary/1"

#define TABELLA_ELEMENT_NONE 0
#define TABELLA_ELEMENT_TEXT 1
#define TABELLA_ELEMENT_TABLE 2

#define TABELLA_STYLE_EMPHASIS 1
#define TABELLA_STYLE_STRONG 2
#define TABELLA_STYLE_DIM 3
#define TABELLA_STYLE_CODE 4
#define TABELLA_STYLE_WARNING 5
#define TABELLA_STYLE_ERROR 6

/* A run of bytes of an element's text that has a style. Unknown styles are plain. */
typedef struct tabella_text_span {
  int64_t start;
  int64_t length;
  int32_t style;
  int32_t reserved; /* zero */
} tabella_text_span;

/* An element: text with styled runs (in order, not overlapping), or a small table. Text and spans
 * are owned through `release`; the table is a source that the receiver owns on its own. */
typedef struct tabella_element {
  int32_t form;
  int32_t reserved; /* zero */
  tabella_string text;
  const tabella_text_span *TABELLA_NULLABLE spans;
  int64_t span_count;
  tabella_source table;
  /* Frees text and spans and sets itself to null. Null if nothing is to be freed. [any] */
  void (*TABELLA_NULLABLE release)(struct tabella_element *TABELLA_NONNULL element);
  void *TABELLA_NULLABLE private_data;
} tabella_element;

typedef struct tabella_supplementary {
  /* The kinds that this source may have. The array and its strings are borrowed. [serial] */
  int32_t (*TABELLA_NULLABLE kinds)(void *TABELLA_NONNULL source,
                                   const tabella_string *TABELLA_NULLABLE *TABELLA_NONNULL out,
                                   int64_t *TABELLA_NONNULL count,
                                   tabella_error *TABELLA_NONNULL error);
  /* The element of a kind at a path (row -1: of the section). TABELLA_ELEMENT_NONE where there is
   * none, also for a kind that it does not know. TABELLA_CONFLICT if what the row stands for has
   * changed or is gone. The caller owns `out`. [serial] */
  int32_t (*TABELLA_NULLABLE element)(void *TABELLA_NONNULL source, tabella_string kind,
                                     tabella_index_path path, tabella_element *TABELLA_NONNULL out,
                                     tabella_error *TABELLA_NONNULL error);
} tabella_supplementary;

/* ------------------------------------------------------------------------------------------------
 * tabella.accessories/1: where a row leads (a directory's row to the file it names)
 * --------------------------------------------------------------------------------------------- */

#define TABELLA_ACCESSORIES_ID "tabella.accessories/1"

typedef struct tabella_accessories {
  /* The location (any bytes without NUL) that the row leads to; absent when it leads nowhere.
   * Borrowed. [serial] */
  int32_t (*TABELLA_NULLABLE location)(void *TABELLA_NONNULL source, tabella_index_path path,
                                      tabella_string *TABELLA_NONNULL out,
                                      tabella_error *TABELLA_NONNULL error);
} tabella_accessories;

/* ------------------------------------------------------------------------------------------------
 * tabella.display/1 and tabella.prefetching/1: notices. They have no answer and cannot fail.
 * --------------------------------------------------------------------------------------------- */

#define TABELLA_DISPLAY_ID "tabella.display/1"

typedef struct tabella_display {
  /* These rows are about to be shown. Every notice is followed by one did_end_displaying with the
   * same range, at the latest before release. [serial] */
  void (*TABELLA_NULLABLE will_display)(void *TABELLA_NONNULL source, int64_t section,
                                       int64_t first, int64_t count);
  void (*TABELLA_NULLABLE did_end_displaying)(void *TABELLA_NONNULL source, int64_t section,
                                             int64_t first, int64_t count);
} tabella_display;

#define TABELLA_PREFETCHING_ID "tabella.prefetching/1"

typedef struct tabella_prefetching {
  /* These rows will probably be asked for soon. Advice only; must return quickly. [serial] */
  void (*TABELLA_NULLABLE prefetch)(void *TABELLA_NONNULL source, int64_t section, int64_t first,
                                   int64_t count);
  void (*TABELLA_NULLABLE cancel_prefetch)(void *TABELLA_NONNULL source, int64_t section,
                                          int64_t first, int64_t count);
} tabella_prefetching;

/* ------------------------------------------------------------------------------------------------
 * tabella.diagnostics/1: remarks that are not failures ("row 12: quote never closed")
 * --------------------------------------------------------------------------------------------- */

#define TABELLA_DIAGNOSTICS_ID "tabella.diagnostics/1"

#define TABELLA_SEVERITY_NOTE 1
#define TABELLA_SEVERITY_WARNING 2

typedef struct tabella_diagnostic {
  int32_t severity;
  int32_t reserved; /* zero */
  tabella_string message; /* One line. Borrowed. */
} tabella_diagnostic;

typedef struct tabella_diagnostics {
  /* Takes the oldest remark not taken yet: returns 1 and fills `out`, or returns 0. [serial] */
  int32_t (*TABELLA_NULLABLE next)(void *TABELLA_NONNULL source,
                                  tabella_diagnostic *TABELLA_NONNULL out);
} tabella_diagnostics;

/* ------------------------------------------------------------------------------------------------
 * A provider
 * --------------------------------------------------------------------------------------------- */

typedef struct tabella_option_value {
  tabella_string name;
  tabella_string value;
} tabella_option_value;

/* What to open. Owned by the caller for the time of the call. */
typedef struct tabella_open_request {
  tabella_string location; /* A path, or what follows "scheme:"; any bytes without NUL. */
  tabella_string scheme;   /* Absent for a path. */
  const tabella_option_value *TABELLA_NULLABLE options;
  int64_t option_count;
} tabella_open_request;

/* A provider. Lives until the process ends; is never released. */
typedef struct tabella_provider {
  void *TABELLA_NULLABLE provider;
  tabella_string id;      /* Printable ASCII, as in the manifest. Lives with the provider. */
  tabella_string version; /* The provider's own, for people. Lives with the provider. */
  /* An optional table of the provider (tabella.options/1), or null. May be null. [serial] */
  const void *TABELLA_NULLABLE (*TABELLA_NULLABLE ability)(void *TABELLA_NULLABLE provider,
                                                         tabella_string id);
  /* Opens a location. The caller owns the source and releases it. [serial] */
  int32_t (*TABELLA_NULLABLE open)(void *TABELLA_NULLABLE provider,
                                  const tabella_open_request *TABELLA_NONNULL request,
                                  tabella_source *TABELLA_NONNULL out,
                                  tabella_error *TABELLA_NONNULL error);
} tabella_provider;

#define TABELLA_OPTIONS_ID "tabella.options/1"

#define TABELLA_OPTION_TEXT 1
#define TABELLA_OPTION_INTEGER 2
#define TABELLA_OPTION_BOOLEAN 3

/* One option that a provider accepts. Lives with the provider. */
typedef struct tabella_option {
  tabella_string name;
  int32_t type; /* TABELLA_OPTION_* */
  int32_t reserved; /* zero */
  tabella_string default_value;
  tabella_string choices; /* Separated by '|'; absent: anything of the type. */
  tabella_string summary; /* One line for people. */
} tabella_option;

typedef struct tabella_options {
  /* The options. The array lives with the provider. [serial] */
  const tabella_option *TABELLA_NULLABLE (*TABELLA_NULLABLE declared)(
      void *TABELLA_NULLABLE provider, int64_t *TABELLA_NONNULL count);
} tabella_options;

#define TABELLA_LOG_DEBUG 1
#define TABELLA_LOG_INFO 2
#define TABELLA_LOG_WARNING 3
#define TABELLA_LOG_ERROR 4

/* What a host offers a provider. Lives until the process ends. */
typedef struct tabella_host {
  void *TABELLA_NULLABLE host;
  /* Writes a line to the host's log. May be null. [any] */
  void (*TABELLA_NULLABLE log)(void *TABELLA_NULLABLE host, int32_t severity,
                              tabella_string message);
  /* An optional table of the host, or null. May be null. None is defined yet. [any] */
  const void *TABELLA_NULLABLE (*TABELLA_NULLABLE ability)(void *TABELLA_NULLABLE host,
                                                         tabella_string id);
} tabella_host;

/* The meeting of host and provider. The first two fields are the same in every version of the
 * contract, past and future; a provider reads nothing else before it has compared versions. */
typedef struct tabella_entry {
  uint32_t contract_version;  /* In: the host's. */
  uint32_t provider_contract; /* Out: the version that the provider was compiled with. Always set. */
  const tabella_host *TABELLA_NULLABLE host; /* In. */
  tabella_provider provider;                 /* Out. */
  tabella_error error;                       /* Out, on failure. */
} tabella_entry;

/* The one symbol that a provider library exports. It is called once for each host in the process,
 * does no I/O and starts no threads. If the versions differ it sets provider_contract and returns
 * TABELLA_NOT_SUPPORTED. [serial] */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
int32_t tabella_provider_entry(tabella_entry *TABELLA_NONNULL entry);

#define TABELLA_ENTRY_SYMBOL "tabella_provider_entry"

#ifdef __cplusplus
}
#endif

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

#endif /* TABELLA_H */
