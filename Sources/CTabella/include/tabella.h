/*
 * tabella.h: the contract between a table provider and a host that shows its tables.
 *
 * A provider is a dynamic library that exports one function, tabella_provider_entry. It opens
 * locations. An opened location is a source: sections of rows of typed cells. Sources cross in
 * both directions: a provider gives sources to a host, and a host gives sources to a program that
 * embeds it.
 *
 * How to read this file
 *   - tabella_source_table contains the core functions. Each optional ability is a table of its
 *     own. The host requests it by id with `ability`; null means that the source does not have it.
 *   - The comment of each function says who owns what, and ends with a thread rule in brackets:
 *       [serial]  One call at a time per object (source or provider), from any thread. Calls on
 *                 different objects may run at the same time. A call must not depend on
 *                 thread-local state of an earlier one.
 *       [any]     From any thread at any time, also during a [serial] call.
 *   - "Borrowed" means: the callee owns it, and it is valid until the next [serial] call on the
 *     same object or the object's release. The caller copies what it wants to keep.
 *   - A function that returns int32_t returns a code: TABELLA_OK (0) or another TABELLA_* code. If
 *     the code is not TABELLA_OK, only the out-parameter `error` may need a release.
 *   - Out-parameters are never null. The caller zeroes them.
 *   - TABELLA_REQUIRED marks a function that must be there. TABELLA_OPTIONAL marks a function that may be
 *     null; its comment says "Optional: without it, …". Hosts refuse a table that lacks a required function,
 *     and name the function.
 *   - Sections, rows and columns count from 0. A range is [first, first + count).
 *   - Only C crosses the contract: no exceptions, no longjmp, no Swift or C++ objects.
 *
 * Versions: contracts 0.9 to 1.x work together. A published struct never grows or changes. A new
 * feature is a new table with a new id, or a new bit, code or kind. Host and provider know each
 * other's version (tabella_entry), and neither uses a feature that is newer than the other side.
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

/* The members of function tables. A host in Swift trusts no table, so there every function may be null. */
#if defined(__swift__)
#define TABELLA_REQUIRED TABELLA_NULLABLE
#else
#define TABELLA_REQUIRED TABELLA_NONNULL
#endif
#define TABELLA_OPTIONAL TABELLA_NULLABLE

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------
 * Version
 * --------------------------------------------------------------------------------------------- */

/* Contract 0.9, as (major << 16) | minor. It is the candidate for contract 1.0. */
#define TABELLA_CONTRACT_VERSION 0x00000009u

/* The first version that works with this one, and the first later version that does not. */
#define TABELLA_CONTRACT_OLDEST 0x00000009u
#define TABELLA_CONTRACT_END 0x00020000u

/* Whether a host or provider of this version works with one that was compiled with this header. */
#define TABELLA_CONTRACT_ACCEPTS(version) \
  ((version) >= TABELLA_CONTRACT_OLDEST && (version) < TABELLA_CONTRACT_END)

/* ------------------------------------------------------------------------------------------------
 * Codes. Providers use the values 1 to 99. Hosts treat an unlisted code as TABELLA_INTERNAL.
 * --------------------------------------------------------------------------------------------- */

#define TABELLA_OK 0
/* The source does not have this ability or operation. Nothing was done. */
#define TABELLA_NOT_SUPPORTED 1
/* An argument makes no sense (negative, unknown column, malformed option). A caller's error. */
#define TABELLA_INVALID_ARGUMENT 2
/* The state of the object forbids the call. A caller's error. */
#define TABELLA_INVALID_STATE 3
/* The location, section, row, id or title does not exist. */
#define TABELLA_NOT_FOUND 4
/* The data changed since the version that the caller named or read. Nothing was done. */
#define TABELLA_CONFLICT 5
/* This source, row or cell cannot be changed. */
#define TABELLA_READ_ONLY 6
/* The value or the move breaks a rule of the data. Nothing was done. */
#define TABELLA_CONSTRAINT 7
/* Reading or writing failed. */
#define TABELLA_IO 8
/* The caller cancelled the call. */
#define TABELLA_CANCELLED 9
/* The call took too long. */
#define TABELLA_TIMEOUT 10
/* Permissions or trust forbid the operation. */
#define TABELLA_DENIED 11
/* The provider has a bug. */
#define TABELLA_INTERNAL 12
/* Set by hosts only: the provider broke this contract. */
#define TABELLA_MISBEHAVED 100

/* ------------------------------------------------------------------------------------------------
 * Small values
 * --------------------------------------------------------------------------------------------- */

/* Bytes with a length: UTF-8 unless a comment says otherwise, not terminated. If `bytes` is null,
 * the string is absent. An empty string is not absent: its length is 0 and `bytes` is not null.
 * Borrowed unless a comment says otherwise. */
typedef struct tabella_string {
  const char *TABELLA_NULLABLE bytes;
  int64_t length;
} tabella_string;

/* The position of a row, or of a section: then row is -1. */
typedef struct tabella_index_path {
  int64_t section;
  int64_t row;
} tabella_index_path;

/* A number of things. If `exact` is 1, `value` is the number; if 0, there are at least `value`. */
typedef struct tabella_count {
  int64_t value;
  int32_t exact;
  int32_t reserved; /* zero */
} tabella_count;

/* Details of a failure, in addition to the returned code. The caller zeroes it, and the callee may
 * fill it on failure. The receiver copies it and then calls `release`, if it is set, at once and on
 * the same thread. If `message` is set, `release` must be set. */
typedef struct tabella_error {
  tabella_string message;  /* One line: what failed, where, what to do. Owned through release. */
  tabella_index_path path; /* Valid as far as `located` says. */
  int64_t column;          /* Valid as far as `located` says. */
  int32_t located;         /* TABELLA_ERROR_HAS_* bits: which of section, row, column are set. */
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
 * (https://arrow.apache.org/docs/format/CDataInterface.html defines the two structs)
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

/* The types of columns, each with its Arrow format. A text column has a binary format, because the
 * text of a file may be something else than UTF-8. The metadata of the column's field tells more:
 *   "tabella.type"     "text" for a text column.
 *   "tabella.unit"     "bytes", "percent" or "seconds"; absent if the column has no unit.
 *   "tabella.reads"    Text columns only: "integer", "real", "boolean" or "date" if all cells except
 *                      empty ones can be read as this type. The cells stay text; a host may convert
 *                      them to values.
 *   "tabella.decimal"  Text columns only: "," if numbers in the text have a decimal comma.
 *   "tabella.on-request"
 *                      "true" if only requests that name the column compute it. Hosts show it only if
 *                      the user asks for it by name, and search other columns. It cannot be edited.
 *   "tabella.rank"     A number from 0 as text: the importance of the column on a narrow screen.
 *                      Columns without a rank leave first, then those with the greatest rank.
 *   "tabella.role"     "file.name", "file.kind", "file.mode" or "process.state": the part of the
 *                      column among the columns of a row. Hosts use it for colours. */
#define TABELLA_TYPE_TEXT 1    /* "z", metadata tabella.type=text */
#define TABELLA_TYPE_INTEGER 2 /* "l" */
#define TABELLA_TYPE_REAL 3    /* "g" */
#define TABELLA_TYPE_BOOLEAN 4 /* "b" */
#define TABELLA_TYPE_DATE 5    /* "tsn:UTC": nanoseconds since 1970-01-01T00:00:00Z */
#define TABELLA_TYPE_BINARY 6  /* "z" */

/* A request for rows of one section. */
typedef struct tabella_row_request {
  int64_t section;
  int64_t first; /* The first row. */
  int64_t count; /* The maximum number of rows; at least 1. */
  /* The numbers of the requested columns, in this order, none twice. Owned by the caller. */
  const int64_t *TABELLA_NULLABLE columns;
  int64_t column_count; /* May be 0: then the batch has only a number of rows, and perhaps ids. */
  uint32_t flags;       /* TABELLA_ROWS_IDS */
  uint32_t reserved;    /* zero */
} tabella_row_request;

/* Also return the ids of the rows. Only for a source with tabella.identity/1. */
#define TABELLA_ROWS_IDS 1u

/* Rows. `array` is a struct array ("+s", no nulls, offset 0). It has one child for each requested
 * column, in the requested order. If the request wants ids, a binary child with the ids follows. The
 * receiver owns the batch and calls array.release exactly once, on any thread. A batch outlives its
 * source, so this may happen after the source's release. array.release sets itself to null. */
typedef struct tabella_batch {
  struct ArrowArray array;
  uint64_t flags; /* TABELLA_BATCH_UTF8 */
} tabella_batch;

/* A promise: every text cell in the batch that is not missing is valid UTF-8. The receiver checks
 * the promise once per buffer, and can then skip the check per cell. */
#define TABELLA_BATCH_UTF8 1ull

/* ------------------------------------------------------------------------------------------------
 * A source
 * --------------------------------------------------------------------------------------------- */

/* The order of rows may differ between two openings without any edit (a directory, a process list).
 * A host must not delete a row by its position alone. */
#define TABELLA_SOURCE_VOLATILE_ORDER 1ull

/* The core of a source. The table itself is immutable and lives as long as the library.
 *
 * A source shows one version of its data, until an edit or tabella.changes/1 moves it to another
 * version. Within a version: the columns stay the same; an exact count never changes; an at-least
 * count never falls; a row that is requested twice is the same row with the same cells. If a source
 * can no longer guarantee this (the file changed), it fails with TABELLA_CONFLICT. */
typedef struct tabella_source_table {
  /* Ends the source and frees it. Called exactly once, last. Batches live on. [serial] */
  void (*TABELLA_REQUIRED release)(void *TABELLA_NONNULL source);

  /* Asks the running call on this source to stop soon and to return TABELLA_CANCELLED. Does nothing
   * if no call runs. Optional: without it, no call can be cancelled. [any], but not after release. */
  void (*TABELLA_OPTIONAL cancel)(void *TABELLA_NONNULL source);

  /* Returns the optional table with this id, or null. The table lives as long as the source, and
   * every call returns the same one. Its functions take this source. Optional: without it, the
   * source has no abilities. [serial] */
  const void *TABELLA_NULLABLE (*TABELLA_OPTIONAL ability)(void *TABELLA_NONNULL source,
                                                         tabella_string id);

  /* Returns TABELLA_SOURCE_* bits. Hosts ignore unknown bits. [serial] */
  uint64_t (*TABELLA_REQUIRED flags)(void *TABELLA_NONNULL source);

  /* The current version: an opaque token of 0 to 1024 printable ASCII bytes (0x21 to 0x7E). Absent or
   * empty: the source has no versions. Equal versions mean the same rows, by id, in the same order;
   * cells may differ. An untouched source keeps its version. A touched source may get a new version
   * with the same rows. An option that changes rows or their order changes the version. All this
   * holds across openings and processes. May be expensive. Borrowed. [serial] */
  int32_t (*TABELLA_REQUIRED version)(void *TABELLA_NONNULL source,
                                     tabella_string *TABELLA_NONNULL out,
                                     tabella_error *TABELLA_NONNULL error);

  /* The columns: a struct schema ("+s") with one child per column, with its name and type as above.
   * The receiver owns it and calls its release once. [serial] */
  int32_t (*TABELLA_REQUIRED schema)(void *TABELLA_NONNULL source,
                                    struct ArrowSchema *TABELLA_NONNULL out,
                                    tabella_error *TABELLA_NONNULL error);

  /* The number of rows in a section. `at_least` (0 or more) is the number that the caller needs to
   * know about: the answer is exact, or is at least that number. 0 means "the number known now".
   * INT64_MAX means "the exact number, whatever the cost". No such section: TABELLA_NOT_FOUND.
   * [serial] */
  int32_t (*TABELLA_REQUIRED row_count)(void *TABELLA_NONNULL source, int64_t section,
                                       int64_t at_least, tabella_count *TABELLA_NONNULL out,
                                       tabella_error *TABELLA_NONNULL error);

  /* Rows of one section: at least one row unless `first` is the section's end, and at most
   * request->count. The source may return fewer rows (large rows); the caller then continues after
   * them. An empty batch means that the section ends at `first`. `first` beyond the end:
   * TABELLA_NOT_FOUND. An unknown column or a negative number: TABELLA_INVALID_ARGUMENT. The caller
   * owns the batch. [serial] */
  int32_t (*TABELLA_REQUIRED rows)(void *TABELLA_NONNULL source,
                                  const tabella_row_request *TABELLA_NONNULL request,
                                  tabella_batch *TABELLA_NONNULL out,
                                  tabella_error *TABELLA_NONNULL error);
} tabella_source_table;

/* A source: its functions and its state. The receiver owns it and calls table->release. */
typedef struct tabella_source {
  const tabella_source_table *TABELLA_NULLABLE table;
  void *TABELLA_NULLABLE source;
} tabella_source;

/* ------------------------------------------------------------------------------------------------
 * tabella.sections/1: several sections, and titles. Without it, a source has one untitled section.
 * --------------------------------------------------------------------------------------------- */

#define TABELLA_SECTIONS_ID "tabella.sections/1"

#define TABELLA_TITLE_HEADER 0
#define TABELLA_TITLE_FOOTER 1

typedef struct tabella_sections {
  /* The number of sections. `at_least` has the same meaning as in row_count. [serial] */
  int32_t (*TABELLA_REQUIRED count)(void *TABELLA_NONNULL source, int64_t at_least,
                                   tabella_count *TABELLA_NONNULL out,
                                   tabella_error *TABELLA_NONNULL error);
  /* The header or footer title of a section; absent if it has none. No such section:
   * TABELLA_NOT_FOUND. Borrowed. [serial] */
  int32_t (*TABELLA_REQUIRED title)(void *TABELLA_NONNULL source, int64_t section, int32_t which,
                                   tabella_string *TABELLA_NONNULL out,
                                   tabella_error *TABELLA_NONNULL error);
} tabella_sections;

/* ------------------------------------------------------------------------------------------------
 * tabella.section-index/1: a short list of titles to jump to (A to Z), and the position of each
 * --------------------------------------------------------------------------------------------- */

#define TABELLA_SECTION_INDEX_ID "tabella.section-index/1"

typedef struct tabella_section_index {
  /* The titles in order. The array and its strings are borrowed. [serial] */
  int32_t (*TABELLA_REQUIRED titles)(void *TABELLA_NONNULL source,
                                    const tabella_string *TABELLA_NULLABLE *TABELLA_NONNULL out,
                                    int64_t *TABELLA_NONNULL count,
                                    tabella_error *TABELLA_NONNULL error);
  /* The position for title number `title`: an existing row, or an existing section with row -1. No
   * such title: TABELLA_NOT_FOUND. [serial] */
  int32_t (*TABELLA_REQUIRED path)(void *TABELLA_NONNULL source, int64_t title,
                                  tabella_index_path *TABELLA_NONNULL out,
                                  tabella_error *TABELLA_NONNULL error);
} tabella_section_index;

/* ------------------------------------------------------------------------------------------------
 * tabella.identity/1: ids that outlive positions
 * --------------------------------------------------------------------------------------------- */

#define TABELLA_IDENTITY_ID "tabella.identity/1"

/* An id is 1 to 16384 printable ASCII bytes (0x21 to 0x7E), unique among the rows of a version. No
 * other row gets the same id later. There are two exceptions. If ids are derived from content, a row
 * with exactly the same bytes may get the same id. If ids are keys, a row that gets the key of a
 * deleted or renamed row gets its id, also within one batch. */
typedef struct tabella_identity {
  /* The current position of the row with this id. TABELLA_NOT_FOUND if the row is gone. [serial] */
  int32_t (*TABELLA_REQUIRED find)(void *TABELLA_NONNULL source, tabella_string id,
                                  tabella_index_path *TABELLA_NONNULL out,
                                  tabella_error *TABELLA_NONNULL error);
} tabella_identity;

/* ------------------------------------------------------------------------------------------------
 * tabella.gathering/1: scattered rows in one call
 * --------------------------------------------------------------------------------------------- */

#define TABELLA_GATHERING_ID "tabella.gathering/1"

/* The requested rows, in this order. A path may occur twice. Owned by the caller. */
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
  /* The rows at these paths, in this order: at least one row unless path_count is 0. The source may
   * stop early (large rows); the caller then continues after them. No row at a path:
   * TABELLA_NOT_FOUND. In all else like `rows` of the source. The caller owns the batch. [serial] */
  int32_t (*TABELLA_REQUIRED rows)(void *TABELLA_NONNULL source,
                                  const tabella_gather_request *TABELLA_NONNULL request,
                                  tabella_batch *TABELLA_NONNULL out,
                                  tabella_error *TABELLA_NONNULL error);
} tabella_gathering;

/* ------------------------------------------------------------------------------------------------
 * tabella.changes/1: moving to a newer version
 * --------------------------------------------------------------------------------------------- */

#define TABELLA_CHANGES_ID "tabella.changes/1"

#define TABELLA_CHANGE_INSERT 1
#define TABELLA_CHANGE_DELETE 2
#define TABELLA_CHANGE_MOVE 3
#define TABELLA_CHANGE_RELOAD 4      /* Same position, other content: in effect a new row. */
#define TABELLA_CHANGE_RECONFIGURE 5 /* Same row, same id, other cells. */

/* One change. The paths of a section change have row -1. A reconfigured section has a new title and
 * the same rows. A reloaded or inserted section can have any rows, and no other change names one of
 * them. The path `from` (delete, move, reload, reconfigure) counts in the old version, and `to`
 * (insert, move) in the new one. A path that does not apply is {-1, -1}. */
typedef struct tabella_change {
  int32_t kind;
  int32_t reserved; /* zero */
  tabella_index_path from;
  tabella_index_path to;
} tabella_change;

#define TABELLA_CHANGES_RELOAD 1u

/* The changes from one version to another. With TABELLA_CHANGES_RELOAD the list is empty, and the
 * receiver must read everything again. All content is owned through `release`. */
typedef struct tabella_changes {
  tabella_string from_version;
  tabella_string to_version;
  const tabella_change *TABELLA_NULLABLE changes;
  int64_t change_count;
  uint32_t flags;
  uint32_t reserved; /* zero */
  /* Frees the content and sets itself to null. Null if there is nothing to free. [any] */
  void (*TABELLA_NULLABLE release)(struct tabella_changes *TABELLA_NONNULL changes);
  void *TABELLA_NULLABLE private_data;
} tabella_changes;

/* The provider calls this function when a pull may find changes: from any thread, also during a call.
 * Between two pulls one call suffices. A call without need is allowed, a missing call is not. The host
 * does not call the source from inside it. [any] */
typedef void (*tabella_notify)(void *TABELLA_NULLABLE context);

typedef struct tabella_changes_table {
  /* Sets the listener of a source, or removes it if `notify` is null. A source has at most one
   * listener. Once a removal returns, no call of the old listener runs or follows. [serial] */
  int32_t (*TABELLA_REQUIRED listen)(void *TABELLA_NONNULL source, tabella_notify TABELLA_NULLABLE notify,
                                    void *TABELLA_NULLABLE context,
                                    tabella_error *TABELLA_NONNULL error);
  /* Looks at the data now, with or without a listener, moves the source to the newest version and
   * returns the changes. If nothing changed, from_version equals to_version and the list is empty.
   * Changes of rows behind an at-least count that nobody has read may be left out. After an error the
   * source has its old version, and the host may pull again. TABELLA_NOT_FOUND: the data is gone. The
   * caller releases `out`. [serial] */
  int32_t (*TABELLA_REQUIRED pull)(void *TABELLA_NONNULL source, tabella_changes *TABELLA_NONNULL out,
                                  tabella_error *TABELLA_NONNULL error);
} tabella_changes_table;

/* ------------------------------------------------------------------------------------------------
 * tabella.editing/1: what may be edited, and committing a batch of edits
 * --------------------------------------------------------------------------------------------- */

#define TABELLA_EDITING_ID "tabella.editing/1"

/* Bits for one row, as UIKit's canEditRowAt and editingStyleForRowAt. */
#define TABELLA_ROW_EDITABLE 1 /* Its cells may be set, in columns that may be set. */
#define TABELLA_ROW_DELETE 2   /* Its editing style is delete. */
#define TABELLA_ROW_INSERT 4   /* Its editing style is insert: it stands for a new row. Committing it
                                * inserts a row at its position. It cannot be deleted. */

#define TABELLA_EDIT_INSERT 1
#define TABELLA_EDIT_DELETE 2
#define TABELLA_EDIT_SET 3
#define TABELLA_EDIT_MOVE 4 /* Only for a source with tabella.moving/1. */

/* The value of a cell. `type` is TABELLA_TYPE_*, or 0 if missing. Boolean and date use `integer`. */
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

/* The column number of a section's title, which is text or missing. It is the only cell in an edit of
 * a section. Only for a source with tabella.section-editing/1. */
#define TABELLA_SECTION_TITLE -1

/* One edit. The paths of a section's edit have row -1. */
typedef struct tabella_edit {
  int32_t kind;
  int32_t reserved;          /* zero */
  tabella_string id;         /* delete, set, move: the row's id; if absent, `from` names the row. */
  tabella_index_path from;   /* delete, set, move: counted before the batch; {-1, -1} with an id. */
  tabella_index_path target; /* insert, move: counted after the batch. */
  /* insert, set: each column at most once. A new row's other cells are missing. A new section
   * without a title is untitled. */
  const tabella_cell *TABELLA_NULLABLE cells;
  int64_t cell_count;
} tabella_edit;

/* A dry run: make all checks and return the outcomes that a real run would return, but change
 * nothing. There is no receipt. from_version equals to_version, unless the new version is known. */
#define TABELLA_EDITS_DRY_RUN 1u

/* Edits that are committed together. The caller owns them during the call. If `version` is present
 * and differs from the source's version, the answer is TABELLA_CONFLICT and nothing is done.
 *
 * The order of the edits does not matter. UIKit's rules apply (docs/editing.md has an example):
 *   - No two edits name the same row or section. There is one exception: a set and a move of the
 *     same row or section.
 *   - No two edits have the same target.
 *   - A deleted or moved section takes its rows along. No edit names a row of a deleted section.
 *   - A new section is empty. No edit of the same batch has a target in it.
 *   - In a moved section, `from` uses its old number, `target` its new number.
 * A batch that breaks these rules: TABELLA_INVALID_ARGUMENT. A `from` that does not exist before the
 * batch, or a target that is no position after it: TABELLA_NOT_FOUND. In both cases nothing is done. */
typedef struct tabella_edit_batch {
  tabella_string version;
  const tabella_edit *TABELLA_NULLABLE edits;
  int64_t edit_count;
  uint32_t flags;
  uint32_t reserved; /* zero */
} tabella_edit_batch;

/* The edit did something that the receipt does not undo: it deleted something permanently, or sent a
 * signal. An outcome may have this flag and a code. A dry run sets it as the real run would. */
#define TABELLA_OUTCOME_FINAL 1u

/* The outcome of one edit. */
typedef struct tabella_edit_outcome {
  int32_t code;
  uint32_t flags;         /* TABELLA_OUTCOME_* bits; the others are zero */
  tabella_string message; /* Absent, or the reason of a failure, or a remark ("sent"). */
  tabella_string id;      /* The row's id after the batch; absent if unknown or deleted. */
} tabella_edit_outcome;

/* The outcome of a batch. All content is owned through `release`, `changes` included: its own
 * release is null. */
typedef struct tabella_edit_result {
  const tabella_edit_outcome *TABELLA_NULLABLE outcomes; /* One per edit, in order. */
  int64_t outcome_count;
  /* For tabella.undo/1. It undoes the whole batch, except effects that TABELLA_OUTCOME_FINAL marks.
   * Absent: nothing can be undone. */
  tabella_string receipt;
  tabella_changes changes; /* From the old version to the new one. */
  /* Frees the content and sets itself to null. Null if there is nothing to free. [any] */
  void (*TABELLA_NULLABLE release)(struct tabella_edit_result *TABELLA_NONNULL result);
  void *TABELLA_NULLABLE private_data;
} tabella_edit_result;

typedef struct tabella_editing {
  /* Fills `out`, an array of `count` bytes, with the TABELLA_ROW_* bits of these rows. No such row:
   * TABELLA_NOT_FOUND. [serial] */
  int32_t (*TABELLA_REQUIRED editable)(void *TABELLA_NONNULL source, int64_t section, int64_t first,
                                      int64_t count, uint8_t *TABELLA_NONNULL out,
                                      tabella_error *TABELLA_NONNULL error);
  /* Fills `out`, an array with one byte per column: 1 if cells of the column may be set, else 0.
   * Optional: without it, all columns may be set. [serial] */
  int32_t (*TABELLA_OPTIONAL editable_columns)(void *TABELLA_NONNULL source,
                                              uint8_t *TABELLA_NONNULL out,
                                              tabella_error *TABELLA_NONNULL error);
  /* Applies the edits and moves the source to the new version. Any code except TABELLA_OK means that
   * nothing was done. This includes cancellation: a cancelled commit is either completed or
   * undone. With TABELLA_OK, each outcome has its own code: if a source can only apply edits one by one
   * (it signals processes), some may succeed and others fail. The source refuses everything that
   * `editable`, `movable` and `target` forbid, whether the host has called them or not. If the commit
   * changes the columns, the changes have TABELLA_CHANGES_RELOAD. The caller releases `out`.
   * [serial] */
  int32_t (*TABELLA_REQUIRED commit)(void *TABELLA_NONNULL source,
                                    const tabella_edit_batch *TABELLA_NONNULL batch,
                                    tabella_edit_result *TABELLA_NONNULL out,
                                    tabella_error *TABELLA_NONNULL error);
} tabella_editing;

/* ------------------------------------------------------------------------------------------------
 * tabella.section-editing/1: titles of sections in the edits of tabella.editing/1
 *
 * A source with this table accepts TABELLA_SECTION_TITLE. An insert of a section may contain it. A set
 * of a section contains it and nothing else. A batch may set and move the same section.
 * --------------------------------------------------------------------------------------------- */

#define TABELLA_SECTION_EDITING_ID "tabella.section-editing/1"

/* Bits for one section. */
#define TABELLA_SECTION_TITLE_EDITABLE 1 /* Its title may be set. */
#define TABELLA_SECTION_DELETABLE 2      /* It may be deleted, with its rows. */
#define TABELLA_SECTION_MOVABLE 4        /* It may be moved, with its rows. */

typedef struct tabella_section_editing {
  /* Fills `out`, an array of `count` bytes, with the TABELLA_SECTION_*ABLE bits of these sections. No
   * such section: TABELLA_NOT_FOUND. [serial] */
  int32_t (*TABELLA_REQUIRED editable)(void *TABELLA_NONNULL source, int64_t first, int64_t count,
                                      uint8_t *TABELLA_NONNULL out,
                                      tabella_error *TABELLA_NONNULL error);
  /* Sets `out` to 1 if sections can be inserted at any position, else to 0. Optional: without it, no
   * section can be inserted. [serial] */
  int32_t (*TABELLA_OPTIONAL insertable)(void *TABELLA_NONNULL source,
                                        int32_t *TABELLA_NONNULL out,
                                        tabella_error *TABELLA_NONNULL error);
} tabella_section_editing;

/* ------------------------------------------------------------------------------------------------
 * tabella.moving/1: reordering. The moves themselves are edits in a batch of tabella.editing/1.
 * --------------------------------------------------------------------------------------------- */

#define TABELLA_MOVING_ID "tabella.moving/1"

typedef struct tabella_moving {
  /* Fills `out`, an array of `count` bytes: 1 if the row may be moved, else 0 (UIKit's canMoveRowAt).
   * No such row: TABELLA_NOT_FOUND. [serial] */
  int32_t (*TABELLA_REQUIRED movable)(void *TABELLA_NONNULL source, int64_t section, int64_t first,
                                     int64_t count, uint8_t *TABELLA_NONNULL out,
                                     tabella_error *TABELLA_NONNULL error);
  /* The final position of a row that is moved to `proposed` (UIKit's targetIndexPathForMove). Both
   * count after the move. TABELLA_CONSTRAINT with a reason is a veto. Optional: without it, every
   * row ends at the proposed position. [serial] */
  int32_t (*TABELLA_OPTIONAL target)(void *TABELLA_NONNULL source, tabella_index_path from,
                                    tabella_index_path proposed,
                                    tabella_index_path *TABELLA_NONNULL out,
                                    tabella_error *TABELLA_NONNULL error);
} tabella_moving;

/* ------------------------------------------------------------------------------------------------
 * tabella.undo/1: undoing a committed batch
 * --------------------------------------------------------------------------------------------- */

#define TABELLA_UNDO_ID "tabella.undo/1"

typedef struct tabella_undo {
  /* Undoes the batch that returned this receipt. If the rows that the batch changed are no longer as
   * it left them: TABELLA_CONFLICT. The receipt may come from another opening or an earlier process.
   * It may be damaged or belong to other data. `flags` has the same meaning as in tabella_edit_batch.
   *
   * The result has one outcome. Without a code, everything was undone, and the new receipt does the
   * batch again. With a code, only a part was undone, and the new receipt, if there is one, undoes the
   * rest. The outcome ignores effects that TABELLA_OUTCOME_FINAL marked: the host keeps these marks
   * with the receipt and reports that they remain. TABELLA_OUTCOME_FINAL has no meaning in this
   * outcome. The caller releases `out`. [serial] */
  int32_t (*TABELLA_REQUIRED undo)(void *TABELLA_NONNULL source, tabella_string receipt,
                                  uint32_t flags, tabella_edit_result *TABELLA_NONNULL out,
                                  tabella_error *TABELLA_NONNULL error);
} tabella_undo;

/* ------------------------------------------------------------------------------------------------
 * tabella.supplementary/1: elements in addition to cells (header, footer, preview, badge, …)
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

/* A range of bytes in an element's text, with a style. Hosts show unknown styles as plain text. */
typedef struct tabella_text_span {
  int64_t start;
  int64_t length;
  int32_t style;
  int32_t reserved; /* zero */
} tabella_text_span;

/* An element: text with styled ranges (in order, without overlap), or a small table. Text and spans
 * are owned through `release`. The table is a source, which the receiver owns and releases
 * separately. */
typedef struct tabella_element {
  int32_t form;
  int32_t reserved; /* zero */
  tabella_string text;
  const tabella_text_span *TABELLA_NULLABLE spans;
  int64_t span_count;
  tabella_source table;
  /* Frees text and spans and sets itself to null. Null if there is nothing to free. [any] */
  void (*TABELLA_NULLABLE release)(struct tabella_element *TABELLA_NONNULL element);
  void *TABELLA_NULLABLE private_data;
} tabella_element;

typedef struct tabella_supplementary {
  /* The kinds of elements that this source may have. The array and its strings are borrowed. [serial] */
  int32_t (*TABELLA_REQUIRED kinds)(void *TABELLA_NONNULL source,
                                   const tabella_string *TABELLA_NULLABLE *TABELLA_NONNULL out,
                                   int64_t *TABELLA_NONNULL count,
                                   tabella_error *TABELLA_NONNULL error);
  /* The element of a kind for a row, or for a section if path.row is -1. TABELLA_ELEMENT_NONE if there
   * is none, or if the kind is unknown. TABELLA_CONFLICT if the object that the row stands for has
   * changed or is gone. The caller owns `out`. [serial] */
  int32_t (*TABELLA_REQUIRED element)(void *TABELLA_NONNULL source, tabella_string kind,
                                     tabella_index_path path, tabella_element *TABELLA_NONNULL out,
                                     tabella_error *TABELLA_NONNULL error);
} tabella_supplementary;

/* ------------------------------------------------------------------------------------------------
 * tabella.accessories/1: the location that a row leads to (a directory's row leads to its file)
 * --------------------------------------------------------------------------------------------- */

#define TABELLA_ACCESSORIES_ID "tabella.accessories/1"

typedef struct tabella_accessories {
  /* The location that the row leads to: any bytes without NUL; absent if it leads nowhere.
   * Borrowed. [serial] */
  int32_t (*TABELLA_REQUIRED location)(void *TABELLA_NONNULL source, tabella_index_path path,
                                      tabella_string *TABELLA_NONNULL out,
                                      tabella_error *TABELLA_NONNULL error);
} tabella_accessories;

/* ------------------------------------------------------------------------------------------------
 * tabella.display/1 and tabella.prefetching/1: notices. They return nothing and cannot fail.
 * --------------------------------------------------------------------------------------------- */

#define TABELLA_DISPLAY_ID "tabella.display/1"

typedef struct tabella_display {
  /* These rows are about to be shown. One did_end_displaying with the same range follows each notice,
   * before the release of the source. [serial] */
  void (*TABELLA_REQUIRED will_display)(void *TABELLA_NONNULL source, int64_t section,
                                       int64_t first, int64_t count);
  void (*TABELLA_REQUIRED did_end_displaying)(void *TABELLA_NONNULL source, int64_t section,
                                             int64_t first, int64_t count);
} tabella_display;

#define TABELLA_PREFETCHING_ID "tabella.prefetching/1"

typedef struct tabella_prefetching {
  /* The host will probably request these rows soon. This is advice. Must return quickly. [serial] */
  void (*TABELLA_REQUIRED prefetch)(void *TABELLA_NONNULL source, int64_t section, int64_t first,
                                   int64_t count);
  void (*TABELLA_REQUIRED cancel_prefetch)(void *TABELLA_NONNULL source, int64_t section,
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
  /* Takes the oldest remaining remark: fills `out` and returns 1, or returns 0 if there is none.
   * [serial] */
  int32_t (*TABELLA_REQUIRED next)(void *TABELLA_NONNULL source,
                                  tabella_diagnostic *TABELLA_NONNULL out);
} tabella_diagnostics;

/* ------------------------------------------------------------------------------------------------
 * A provider
 * --------------------------------------------------------------------------------------------- */

typedef struct tabella_option_value {
  tabella_string name;
  tabella_string value;
} tabella_option_value;

/* A location to open. Owned by the caller during the call. */
typedef struct tabella_open_request {
  tabella_string location; /* A path, or the text after "scheme:"; any bytes without NUL. */
  tabella_string scheme;   /* Absent for a path. */
  const tabella_option_value *TABELLA_NULLABLE options;
  int64_t option_count;
  uint32_t flags;    /* zero: no bit is defined yet */
  uint32_t reserved; /* zero */
} tabella_open_request;

/* A provider. It lives until the process ends and is never released. */
typedef struct tabella_provider {
  void *TABELLA_NULLABLE provider;
  tabella_string id;      /* Printable ASCII, equal to the manifest's. Lives with the provider. */
  tabella_string version; /* The provider's own version, for people. Lives with the provider. */
  /* Returns an optional table of the provider (tabella.options/1), or null. Optional: without it, the
   * provider has no such table. [serial] */
  const void *TABELLA_NULLABLE (*TABELLA_OPTIONAL ability)(void *TABELLA_NULLABLE provider,
                                                         tabella_string id);
  /* Opens a location. The caller owns the source and releases it. [serial] */
  int32_t (*TABELLA_REQUIRED open)(void *TABELLA_NULLABLE provider,
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
  tabella_string choices; /* Separated by '|'; absent: any value of the type. */
  tabella_string summary; /* One line for people. */
} tabella_option;

typedef struct tabella_options {
  /* The options. The array lives with the provider. [serial] */
  const tabella_option *TABELLA_NULLABLE (*TABELLA_REQUIRED declared)(
      void *TABELLA_NULLABLE provider, int64_t *TABELLA_NONNULL count);
} tabella_options;

#define TABELLA_LOG_DEBUG 1
#define TABELLA_LOG_INFO 2
#define TABELLA_LOG_WARNING 3
#define TABELLA_LOG_ERROR 4

/* The services of a host for a provider. They live until the process ends. */
typedef struct tabella_host {
  void *TABELLA_NULLABLE host;
  /* Writes a line to the host's log. Optional: without it, the host has no log. [any] */
  void (*TABELLA_OPTIONAL log)(void *TABELLA_NULLABLE host, int32_t severity,
                              tabella_string message);
  /* Returns an optional table of the host, or null. No table is defined yet. Optional: without it, the
   * host has no such table. [any] */
  const void *TABELLA_NULLABLE (*TABELLA_OPTIONAL ability)(void *TABELLA_NULLABLE host,
                                                         tabella_string id);
} tabella_host;

/* The first exchange between host and provider. The first two fields are the same in every version
 * of the contract, past and future. A provider checks the host's version before it reads other fields:
 * `if (!TABELLA_CONTRACT_ACCEPTS(entry->contract_version)) return TABELLA_NOT_SUPPORTED;` */
typedef struct tabella_entry {
  uint32_t contract_version;  /* In: the host's version. */
  uint32_t provider_contract; /* Out: the version that the provider was compiled with. Always set. */
  const tabella_host *TABELLA_NULLABLE host; /* In. */
  tabella_provider provider;                 /* Out. */
  tabella_error error;                       /* Out, on failure. */
} tabella_entry;

#if defined(__swift__)
/* Only Swift's importer sees this name. With `@c @implementation`, the compiler gives it to the entry,
 * and the SDK links TABELLA_ENTRY_SYMBOL as an alias of it. Without one of these words, linking fails. */
int32_t tabella_provider_entry(tabella_entry *TABELLA_NONNULL entry)
    __asm__("tabella_provider_entry_needs_at_c_at_implementation");
#endif

/* The only symbol that a provider library exports. A process calls it once for each of its hosts. It
 * performs no I/O and starts no threads. It always sets provider_contract. If it does not accept the
 * host's version, it does nothing else and returns TABELLA_NOT_SUPPORTED. [serial] */
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
