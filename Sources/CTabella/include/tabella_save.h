/*
 * tabella_save.h: helpers for authors of providers in C whose table is a small file: read, save, undo.
 * Header only; needs only libc, on Linux.
 *
 * Include this header before the headers of libc, or define _GNU_SOURCE, because a strict -std=c11 hides the
 * functions of POSIX.
 *
 *   tabella_file file;
 *   int32_t code = tabella_file_open(&file, request->location, 16 << 20, error);
 *   ... file.bytes, file.size; file.digest.text is a version
 *   code = tabella_file_receipt(&file, &content, &receipt, error);
 *   code = tabella_file_save(&file, &content, dry_run, error);
 *   tabella_file_close(&file);
 *
 * docs/saving.md explains what a save promises. tabella_file_save keeps these promises: the file has all of its
 * old bytes or all of its new bytes, and a save never overwrites a change by another program.
 */
#ifndef TABELLA_SAVE_H
#define TABELLA_SAVE_H

#if !defined(_GNU_SOURCE) && !defined(_FEATURES_H)
#define _GNU_SOURCE 1
#endif

#include "tabella_edit.h"

/* A file that was read. */
typedef struct tabella_file {
  char *path;            /* The path by which it was opened, terminated. */
  char *bytes;           /* Its content; never null. */
  size_t size;           /* In bytes. */
  tabella_digest digest; /* Of the content: a version that is the same in every process. */
  const char *remark;    /* After a save: what went wrong after the file was saved, or null. Static. */
  struct stat status;    /* Of the moment when it was read or saved. */
} tabella_file;

/* Reads a file, or a stream to its end. Refuses more than `limit` bytes. If the code is TABELLA_OK, call
 * tabella_file_close later. */
TABELLA_HELPER int32_t tabella_file_open(tabella_file *file, tabella_string path, size_t limit,
                                         tabella_error *error);

TABELLA_HELPER void tabella_file_close(tabella_file *file);

/* Replaces the content of the file, durably. On success, `file` has the new bytes, and `content` is empty. Any
 * other code means that nothing was changed:
 *
 *   TABELLA_CONFLICT   the file changed since it was read, or another process is saving it
 *   TABELLA_READ_ONLY  a new file cannot replace it exactly: hard links, no write permission for anybody, a
 *                      mount point, an owner or an attribute that cannot be kept
 *   TABELLA_DENIED, TABELLA_IO   the system refused; the message has the reason
 *
 * With `dry_run`, all checks are made, nothing is changed, and `content` stays. The path may be a symbolic link:
 * the save replaces the file that it leads to. A kill can leave a file `.tabella-…` in the folder. */
TABELLA_HELPER int32_t tabella_file_save(tabella_file *file, tabella_buffer *content, int dry_run,
                                         tabella_error *error);

/* Appends the receipt of a save to `receipt`: it leads from `content`, the new bytes, back to the bytes of `file`.
 * Call it before the save. If more than 16 MiB would have to be kept, it appends nothing: the edit cannot be undone. */
TABELLA_HELPER int32_t tabella_file_receipt(const tabella_file *file, const tabella_buffer *content,
                                            tabella_buffer *receipt, tabella_error *error);

/* Appends the old bytes of a receipt to `content`. TABELLA_CONFLICT if the file is not as the save left it, or
 * is another file. TABELLA_INVALID_ARGUMENT if the receipt is damaged. */
TABELLA_HELPER int32_t tabella_file_undo(const tabella_file *file, tabella_string receipt,
                                         tabella_buffer *content, tabella_error *error);

#endif /* TABELLA_SAVE_H */
