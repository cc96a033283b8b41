/*
 * tabella_embed.h: the functions of libtabella, for programs that open and show tables.
 *
 * A program creates a host, opens locations as tables, and reads each table in one of two ways: as a
 * source of the contract (tabella.h), or as an Arrow stream. It can shape, edit, undo and follow
 * tables. The command `tabella` uses the same library parts, receipts and log.
 *
 * Rules for all functions
 *   - Strings, codes, errors and ownership follow tabella.h. An argument of type tabella_string is
 *     borrowed during the call. If an argument or a member may be absent, an empty string is the same as
 *     an absent one, also in a list of filters.
 *   - A function that returns int32_t returns a code: TABELLA_OK (0) or another TABELLA_* code. If the
 *     code is not TABELLA_OK, the out-parameters are null or empty, and `error` tells more. The caller
 *     zeroes `error` before the call, and calls error->release afterwards if it is set. The other
 *     out-parameters need no initial value.
 *   - Any thread may call any function. Calls on the same host, its tables, followers and streams
 *     wait for each other. Only tabella_embed_cancel does not wait.
 *   - Objects may be released in any order: a table keeps its host, a follower keeps its table.
 *   - After fork(), a child cannot use the library if its parent had used it: every function returns
 *     TABELLA_INVALID_STATE, and a release does nothing. A child may be the first to use the library.
 */
#ifndef TABELLA_EMBED_H
#define TABELLA_EMBED_H

#include "tabella.h"

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunknown-warning-option"
#pragma clang diagnostic ignored "-Wnullability-extension"
#endif

#if defined(__GNUC__)
#define TABELLA_EMBED_EXPORT __attribute__((visibility("default")))
#else
#define TABELLA_EMBED_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------
 * Arrow streams: the Arrow C Stream Interface
 * (https://arrow.apache.org/docs/format/CStreamInterface.html defines the struct)
 * --------------------------------------------------------------------------------------------- */

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
  int (*TABELLA_NULLABLE get_schema)(struct ArrowArrayStream *TABELLA_NONNULL stream,
                                    struct ArrowSchema *TABELLA_NONNULL out);
  int (*TABELLA_NULLABLE get_next)(struct ArrowArrayStream *TABELLA_NONNULL stream,
                                  struct ArrowArray *TABELLA_NONNULL out);
  const char *TABELLA_NULLABLE (*TABELLA_NULLABLE get_last_error)(
      struct ArrowArrayStream *TABELLA_NONNULL stream);
  void (*TABELLA_NULLABLE release)(struct ArrowArrayStream *TABELLA_NONNULL stream);
  void *TABELLA_NULLABLE private_data;
};

#endif /* ARROW_C_STREAM_INTERFACE */

/* ------------------------------------------------------------------------------------------------
 * Hosts
 * --------------------------------------------------------------------------------------------- */

/* No provider opens the location, or its library or tabella-worker is missing. A code like those of
 * tabella.h, and returned only by functions of this header. */
#define TABELLA_EMBED_NO_PROVIDER 101
/* The data has a value that the call cannot use, such as other text in a column that is summed. The
 * error has the row and the column. Returned only by functions of this header. */
#define TABELLA_EMBED_WRONG_DATA 102

/* A host: it knows the providers and opens locations. */
typedef struct tabella_embed_host tabella_embed_host;
/* A table: an opened location, a view of a table, or a summary. */
typedef struct tabella_embed_table tabella_embed_table;
/* A follower: it lists the changes of a table. */
typedef struct tabella_embed_follower tabella_embed_follower;

/* The version of the library, such as "0.1.0". It lives until the process ends. */
TABELLA_EMBED_EXPORT tabella_string tabella_embed_version(void);

#define TABELLA_EMBED_ISOLATION_AUTOMATIC 0 /* Shipped providers in this process, others in workers. */
#define TABELLA_EMBED_ISOLATION_ALWAYS 1    /* All providers in workers. */
#define TABELLA_EMBED_ISOLATION_NEVER 2     /* All providers in this process, for debuggers. */

/* Edits through foreign providers are allowed even if the system lacks a part of their confinement. */
#define TABELLA_EMBED_WEAK_ISOLATION 1u

/* How a host works. A zeroed struct asks for the defaults. */
typedef struct tabella_embed_settings {
  /* The folders of providers, absolute, separated by colons, instead of all others. Absent:
   * TABELLA_PROVIDER_PATH, then the folders relative to libtabella, then the user's folder. */
  tabella_string provider_path;
  /* The program tabella-worker. Absent: found relative to libtabella. */
  tabella_string worker;
  /* The folder of receipts, absolute. Absent: the folder that the command `tabella` uses. */
  tabella_string receipts;
  int32_t isolation; /* TABELLA_EMBED_ISOLATION_* */
  uint32_t flags;    /* TABELLA_EMBED_WEAK_ISOLATION */
} tabella_embed_settings;

/* Creates a host. `settings` may be null. The caller releases `out`. If SIGXFSZ has its default action, it
 * gets a handler that does nothing, so that a limit on file sizes is an error of the save. */
TABELLA_EMBED_EXPORT int32_t tabella_embed_host_create(
    const tabella_embed_settings *TABELLA_NULLABLE settings,
    tabella_embed_host *TABELLA_NULLABLE *TABELLA_NONNULL out, tabella_error *TABELLA_NONNULL error);

/* Releases a host. Null is allowed. */
TABELLA_EMBED_EXPORT void tabella_embed_host_release(tabella_embed_host *TABELLA_NULLABLE host);

/* The providers that were found, and the refused ones with the reason, as a table with the columns
 * `provider`, `version`, `library`, `problem`. The caller releases `out`. */
TABELLA_EMBED_EXPORT int32_t tabella_embed_providers(
    tabella_embed_host *TABELLA_NONNULL host,
    tabella_embed_table *TABELLA_NULLABLE *TABELLA_NONNULL out, tabella_error *TABELLA_NONNULL error);

/* ------------------------------------------------------------------------------------------------
 * Tables
 * --------------------------------------------------------------------------------------------- */

/* Opens the location for editing. Without this flag, tabella_embed_commit is refused. */
#define TABELLA_EMBED_EDITING 1u

typedef struct tabella_embed_request {
  /* A path, or "scheme:rest". A relative path keeps its meaning if the program changes its current
   * directory later. For providers of third parties that is true only if they run in a worker. */
  tabella_string location;
  tabella_string provider; /* A provider's id; absent: the provider that fits. */
  const tabella_option_value *TABELLA_NULLABLE options;
  int64_t option_count;
  uint32_t flags;    /* TABELLA_EMBED_EDITING */
  uint32_t reserved; /* zero */
} tabella_embed_request;

/* Opens a location. The caller releases `out`. */
TABELLA_EMBED_EXPORT int32_t tabella_embed_open(
    tabella_embed_host *TABELLA_NONNULL host, const tabella_embed_request *TABELLA_NONNULL request,
    tabella_embed_table *TABELLA_NULLABLE *TABELLA_NONNULL out, tabella_error *TABELLA_NONNULL error);

/* Joins tables of one host: their sections one after the other, columns united by name. No table may be
 * given twice. The caller releases `out`; the tables stay the caller's. */
TABELLA_EMBED_EXPORT int32_t tabella_embed_join(
    tabella_embed_table *TABELLA_NONNULL const *TABELLA_NONNULL tables, int64_t table_count,
    tabella_embed_table *TABELLA_NULLABLE *TABELLA_NONNULL out, tabella_error *TABELLA_NONNULL error);

/* Dates in texts and sections are local, as in the command line. Otherwise they are UTC. */
#define TABELLA_EMBED_LOCAL_DATES 1u

/* A shape, in the texts of the command line (docs/shaping.md). An absent string asks for nothing. */
typedef struct tabella_embed_shape {
  const tabella_string *TABELLA_NULLABLE filters; /* "amount > 300"; a row must meet all. */
  int64_t filter_count;
  tabella_string search;      /* A text that some column contains. */
  tabella_string section_by;  /* "city,date:month" */
  tabella_string sort;        /* "amount:desc,name" */
  tabella_string sections_by; /* "rows", "sum amount:desc" */
  uint32_t flags;             /* TABELLA_EMBED_LOCAL_DATES */
  uint32_t reserved;          /* zero */
} tabella_embed_shape;

/* A view of a table in a shape. Both share one source: after an edit through one of them, the other
 * answers TABELLA_CONFLICT until it is pulled or opened again. The caller releases `out`. */
TABELLA_EMBED_EXPORT int32_t tabella_embed_shaped(
    tabella_embed_table *TABELLA_NONNULL table, const tabella_embed_shape *TABELLA_NONNULL shape,
    tabella_embed_table *TABELLA_NULLABLE *TABELLA_NONNULL out, tabella_error *TABELLA_NONNULL error);

/* A table with one row per group: the columns of `by`, then one column per aggregate of `compute`
 * ("rows, sum amount"). The texts are those of `tabella summarize`. Absent `by`: one row. Absent
 * `compute`: the number of rows. The caller releases `out`. */
TABELLA_EMBED_EXPORT int32_t tabella_embed_summarize(
    tabella_embed_table *TABELLA_NONNULL table, tabella_string by, tabella_string compute,
    uint32_t flags, tabella_embed_table *TABELLA_NULLABLE *TABELLA_NONNULL out,
    tabella_error *TABELLA_NONNULL error);

/* Releases a table. Null is allowed. */
TABELLA_EMBED_EXPORT void tabella_embed_table_release(tabella_embed_table *TABELLA_NULLABLE table);

/* Cancels the calls on a table that run or wait at this moment: they stop soon and return
 * TABELLA_CANCELLED. Streams of the table that were started before end at their next get_next with
 * ECANCELED. Later calls and streams run, as do calls on other tables. Any thread may call it, and it
 * does not wait. A call that is about to end completes, and a call that starts at the same moment can
 * miss the cancellation: to be sure, repeat it until the call returns. */
TABELLA_EMBED_EXPORT void tabella_embed_cancel(tabella_embed_table *TABELLA_NONNULL table);

/* The id of the table's provider: "joined", "summary" and "tabella" for tables that have none. It
 * lives as long as the table. */
TABELLA_EMBED_EXPORT tabella_string tabella_embed_provider(tabella_embed_table *TABELLA_NONNULL table);

/* The table as a source of the contract, for reading rows, ids, titles, elements and notices. The
 * caller owns `out`, releases it with out->table->release, and may do so after the table's release.
 * Calls on the source wait for other calls on the host. Edits that are committed to the source leave
 * no receipt; tabella_embed_commit keeps one. */
TABELLA_EMBED_EXPORT int32_t tabella_embed_source(tabella_embed_table *TABELLA_NONNULL table,
                                                  tabella_source *TABELLA_NONNULL out,
                                                  tabella_error *TABELLA_NONNULL error);

/* ------------------------------------------------------------------------------------------------
 * Arrow streams
 * --------------------------------------------------------------------------------------------- */

/* Text columns are string views ("vu") instead of strings ("u"). */
#define TABELLA_EMBED_UTF8_VIEW 1u
/* Text columns are binary ("z"), with the bytes of the source. */
#define TABELLA_EMBED_TEXT_AS_BINARY 2u
/* The first columns are `section`, the number of the section (int64), and `section title` (text). */
#define TABELLA_EMBED_WITH_SECTION 4u
/* The last column is `id`, the id of the row (text). Tables whose rows have no ids, such as summaries
 * and those of tabella_embed_log and tabella_embed_providers: TABELLA_NOT_SUPPORTED. */
#define TABELLA_EMBED_WITH_ID 8u

/* A null request means all rows and all columns but those on request. Zero in `section` and `count`
 * means section 0 and no rows: use -1 for all. */
typedef struct tabella_embed_stream_request {
  const int64_t *TABELLA_NULLABLE columns; /* Column numbers, none twice. Null: all but those on request. */
  int64_t column_count;
  int64_t section;        /* The only section; -1: all sections. */
  int64_t first;          /* The first row, counted through these sections; beyond the end: no rows. */
  int64_t count;          /* The maximum number of rows; -1: all. */
  int64_t rows_per_batch; /* 1 to 65536; 0: 65536. Batches of large rows are shorter. */
  uint32_t flags;         /* TABELLA_EMBED_UTF8_VIEW and so on */
  uint32_t reserved;      /* zero */
} tabella_embed_stream_request;

/* Starts a stream at the first row. Each call starts a new one, so a table can be read again. The
 * caller owns `out` and calls out->release. Dates are microseconds in UTC, cut towards the past.
 *
 * Text must be UTF-8. Without TABELLA_EMBED_TEXT_AS_BINARY, get_next fails with EILSEQ at the first
 * batch with other bytes, and get_last_error names the row and the column. Other errors of the table
 * are EIO, or ECANCELED, or EINVAL after fork. Calls on a stream wait for other calls on its host. */
TABELLA_EMBED_EXPORT int32_t tabella_embed_stream(
    tabella_embed_table *TABELLA_NONNULL table,
    const tabella_embed_stream_request *TABELLA_NULLABLE request,
    struct ArrowArrayStream *TABELLA_NONNULL out, tabella_error *TABELLA_NONNULL error);

/* ------------------------------------------------------------------------------------------------
 * Edits, receipts, undo
 * --------------------------------------------------------------------------------------------- */

/* A committed or undone batch. */
typedef struct tabella_embed_edit {
  /* The outcomes and changes. The caller calls result.release if it is set. */
  tabella_edit_result result;
  /* The id of the stored receipt; absent if nothing was changed. It lives until result.release. */
  tabella_string receipt;
} tabella_embed_edit;

/* Commits a batch through a table or a view, and stores its receipt. The receipt is on the disk when
 * the call returns. Paths, ids and the version of the batch are those of this table. */
TABELLA_EMBED_EXPORT int32_t tabella_embed_commit(tabella_embed_table *TABELLA_NONNULL table,
                                                  const tabella_edit_batch *TABELLA_NONNULL batch,
                                                  tabella_embed_edit *TABELLA_NONNULL out,
                                                  tabella_error *TABELLA_NONNULL error);

/* Undoes an edit. `location` is a location whose newest edit is undone, or for one edit "receipt:ID", or
 * ID as tabella_embed_log has it. A file of such a name is "./ID".
 * `flags` may be TABELLA_EDITS_DRY_RUN. No edit to undo: TABELLA_NOT_FOUND. */
TABELLA_EMBED_EXPORT int32_t tabella_embed_undo(tabella_embed_host *TABELLA_NONNULL host,
                                                tabella_string location, uint32_t flags,
                                                tabella_embed_edit *TABELLA_NONNULL out,
                                                tabella_error *TABELLA_NONNULL error);

/* The edits of a location, or of all locations if it is absent, newest first, as the table that
 * `tabella log` prints. The caller releases `out`. */
TABELLA_EMBED_EXPORT int32_t tabella_embed_log(
    tabella_embed_host *TABELLA_NONNULL host, tabella_string location,
    tabella_embed_table *TABELLA_NULLABLE *TABELLA_NONNULL out, tabella_error *TABELLA_NONNULL error);

/* ------------------------------------------------------------------------------------------------
 * Changes
 * --------------------------------------------------------------------------------------------- */

/* Starts to follow a table: reads all its rows once. The caller releases `out`. A table without
 * changes: TABELLA_NOT_SUPPORTED. */
TABELLA_EMBED_EXPORT int32_t tabella_embed_follow(
    tabella_embed_table *TABELLA_NONNULL table,
    tabella_embed_follower *TABELLA_NULLABLE *TABELLA_NONNULL out, tabella_error *TABELLA_NONNULL error);

/* Moves the table to its newest version and returns all changes since the last pull. The list is
 * complete: it never has TABELLA_CHANGES_RELOAD. Ids tell rows apart, so if an edit changes the ids of
 * later rows, as in a file, each of them is a TABELLA_CHANGE_RELOAD. The caller releases `out`. */
TABELLA_EMBED_EXPORT int32_t tabella_embed_pull(tabella_embed_follower *TABELLA_NONNULL follower,
                                                tabella_changes *TABELLA_NONNULL out,
                                                tabella_error *TABELLA_NONNULL error);

/* Sets the function to call when a pull may find changes, or removes it if `notify` is null. `notify`
 * runs on a thread of the library, and must not call the library. Once a removal returns, no call of
 * the old function runs or follows. */
TABELLA_EMBED_EXPORT int32_t tabella_embed_listen(tabella_embed_follower *TABELLA_NONNULL follower,
                                                  tabella_notify TABELLA_NULLABLE notify,
                                                  void *TABELLA_NULLABLE context,
                                                  tabella_error *TABELLA_NONNULL error);

/* Releases a follower, and removes its listener. Null is allowed. */
TABELLA_EMBED_EXPORT void tabella_embed_follower_release(
    tabella_embed_follower *TABELLA_NULLABLE follower);

#ifdef __cplusplus
}
#endif

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

#endif /* TABELLA_EMBED_H */
