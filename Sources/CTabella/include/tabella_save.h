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

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#if defined(__GLIBC__) && !defined(__USE_MISC)
#error "include tabella_save.h before the headers of libc, or define _GNU_SOURCE"
#endif

#ifdef __cplusplus
extern "C" {
#endif

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
 * other code means that nothing was changed.
 *
 * TABELLA_CONFLICT: the file changed since it was read, or another process is saving it. TABELLA_READ_ONLY: a new
 * file cannot replace it exactly. It has hard links, nobody may write it, it is a mount point, or its owner or an
 * attribute cannot be kept. TABELLA_DENIED, TABELLA_IO: the system refused; the message has the reason.
 *
 * With `dry_run`, all checks are made, nothing is changed, and `content` stays. The path may be a symbolic link:
 * the save replaces the file that it leads to. A kill can leave a file `.tabella-…` in the folder. */
TABELLA_HELPER int32_t tabella_file_save(tabella_file *file, tabella_buffer *content, int dry_run,
                                         tabella_error *error);

/* Appends the receipt of a save to `receipt`: it leads from `content`, the new bytes, back to the bytes of `file`.
 * Call it before the save. If more than 16 MiB would have to be kept, it appends nothing: the edit cannot be
 * undone, and its outcomes need TABELLA_OUTCOME_FINAL. */
TABELLA_HELPER int32_t tabella_file_receipt(const tabella_file *file, const tabella_buffer *content,
                                            tabella_buffer *receipt, tabella_error *error);

/* Appends the old bytes of a receipt to `content`. TABELLA_CONFLICT if the file is not as the save left it, or
 * is another file. TABELLA_INVALID_ARGUMENT if the receipt is damaged. */
TABELLA_HELPER int32_t tabella_file_undo(const tabella_file *file, tabella_string receipt,
                                         tabella_buffer *content, tabella_error *error);

/* ------------------------------------------------------------------------------------------------
 * Reading
 * --------------------------------------------------------------------------------------------- */

/* Fills `error` with the system's reason and returns the code for it: "cannot be read: Permission denied". */
TABELLA_HELPER int32_t tabella_fail_system(tabella_error *error, int number, const char *what) {
  int32_t code = number == ENOENT || number == ENOTDIR || number == ELOOP ? TABELLA_NOT_FOUND
                 : number == EACCES || number == EPERM                    ? TABELLA_DENIED
                 : number == EROFS                                        ? TABELLA_READ_ONLY
                                                                          : TABELLA_IO;
  return tabella_fail(error, code, "%s: %s", what, strerror(number));
}

TABELLA_HELPER int tabella_same_time_(const struct timespec *left, const struct timespec *right) {
  return left->tv_sec == right->tv_sec && left->tv_nsec == right->tv_nsec;
}

/* Whether two statuses are of one file with one content and one mode, as far as the system says. A rename changes
 * ctime, so it counts only without a rename between the two. */
TABELLA_HELPER int tabella_same_file_(const struct stat *left, const struct stat *right, int renamed) {
  return left->st_dev == right->st_dev && left->st_ino == right->st_ino &&
         left->st_mode == right->st_mode && left->st_uid == right->st_uid &&
         left->st_gid == right->st_gid && left->st_size == right->st_size &&
         tabella_same_time_(&left->st_mtim, &right->st_mtim) &&
         (renamed || tabella_same_time_(&left->st_ctim, &right->st_ctim));
}

/* Appends all bytes of a descriptor, up to a limit. Returns 0, or the number of the system's error. */
TABELLA_HELPER int tabella_read_all_(int descriptor, size_t limit, tabella_buffer *out) {
  char block[16384];
  for (;;) {
    ssize_t got = read(descriptor, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) return out->failed ? ENOMEM : 0;
    if ((size_t)got > limit - out->size) return EFBIG;
    tabella_buffer_put(out, block, (size_t)got);
  }
}

TABELLA_HELPER void tabella_file_close(tabella_file *file) {
  free(file->path);
  free(file->bytes);
  memset(file, 0, sizeof *file);
}

TABELLA_HELPER int32_t tabella_file_open(tabella_file *file, tabella_string path, size_t limit,
                                         tabella_error *error) {
  tabella_buffer name = {NULL, 0, 0, 0}, content = {NULL, 0, 0, 0};
  struct stat after;
  int descriptor, failed;
  int32_t code = TABELLA_OK;
  memset(file, 0, sizeof *file);
  tabella_buffer_put(&name, path.bytes, (size_t)path.length);
  tabella_buffer_put(&name, "", 1);
  tabella_buffer_ensure_(&content);
  if (name.failed || content.failed) {
    tabella_buffer_free(&name);
    tabella_buffer_free(&content);
    return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  }
  file->path = name.bytes;
  descriptor = open(file->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0 || fstat(descriptor, &file->status) != 0) {
    code = tabella_fail_system(error, errno, "cannot be opened");
  } else {
    failed = tabella_read_all_(descriptor, limit, &content);
    if (failed == EISDIR) code = tabella_fail(error, TABELLA_INVALID_ARGUMENT, "is a folder");
    else if (failed != 0) code = tabella_fail_system(error, failed, "cannot be read");
    else if (fstat(descriptor, &after) != 0 ||
             (S_ISREG(after.st_mode) && !tabella_same_file_(&after, &file->status, 0)))
      code = tabella_fail(error, TABELLA_CONFLICT, "changed while it was read; open it again");
  }
  if (descriptor >= 0) close(descriptor);
  file->bytes = content.bytes;
  file->size = content.size;
  if (code == TABELLA_OK) file->digest = tabella_digest_of(file->bytes, file->size);
  else tabella_file_close(file);
  return code;
}

/* ------------------------------------------------------------------------------------------------
 * Saving
 * --------------------------------------------------------------------------------------------- */

/* A save in progress. */
typedef struct tabella_saving_ {
  tabella_file *file;
  char path[PATH_MAX]; /* Without symbolic links. `name` is its last component. */
  const char *name;
  int folder;
  int old; /* The file to replace, locked. */
  int made; /* The new file. */
  char temporary[32]; /* Its name; empty: none. */
  struct stat status; /* Of the old file. */
  tabella_error *error;
} tabella_saving_;

TABELLA_HELPER int32_t tabella_has_changed_(const tabella_saving_ *save) {
  return tabella_fail(save->error, TABELLA_CONFLICT, "changed since it was read; open it again");
}

/* Refuses unless this status is of the file that was read, and the old file has the bytes that were read. */
TABELLA_HELPER int32_t tabella_save_compare_(const tabella_saving_ *save, const struct stat *now,
                                             int renamed) {
  char block[16384];
  const tabella_file *file = save->file;
  size_t at = 0;
  if (!tabella_same_file_(now, &file->status, renamed)) return tabella_has_changed_(save);
  for (;;) {
    ssize_t got = pread(save->old, block, sizeof block, (off_t)at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return tabella_fail_system(save->error, errno, "cannot be read again");
    if ((size_t)got > file->size - at || memcmp(block, file->bytes + at, (size_t)got) != 0 ||
        (got == 0 && at != file->size))
      return tabella_has_changed_(save);
    if (got == 0) return TABELLA_OK;
    at += (size_t)got;
  }
}

/* Refuses unless the name still leads to the file that was read. */
TABELLA_HELPER int32_t tabella_save_check_(const tabella_saving_ *save) {
  struct stat now;
  if (fstatat(save->folder, save->name, &now, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT ? tabella_has_changed_(save)
                           : tabella_fail_system(save->error, errno, "cannot be examined");
  return tabella_save_compare_(save, &now, 0);
}

/* Opens folder and file, and refuses a file that a new one cannot replace. */
TABELLA_HELPER int32_t tabella_save_begin_(tabella_saving_ *save) {
  char folder[PATH_MAX];
  char *slash;
  const mode_t anybody = S_IWUSR | S_IWGRP | S_IWOTH;
  if (!S_ISREG(save->file->status.st_mode))
    return tabella_fail(save->error, TABELLA_READ_ONLY, "is not a file, so it cannot be saved");
  if (realpath(save->file->path, save->path) == NULL)
    return errno == ENOENT ? tabella_has_changed_(save)
                           : tabella_fail_system(save->error, errno, "cannot be found");
  slash = strrchr(save->path, '/');
  save->name = slash + 1;
  memcpy(folder, save->path, sizeof folder);
  folder[slash == save->path ? 1 : slash - save->path] = 0;
  save->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (save->folder < 0) return tabella_fail_system(save->error, errno, "its folder cannot be opened");
  save->old = openat(save->folder, save->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (save->old < 0 || fstat(save->old, &save->status) != 0)
    return errno == ENOENT || errno == ELOOP
               ? tabella_has_changed_(save)
               : tabella_fail_system(save->error, errno, "cannot be opened again");
  /* Another program replaced it after it was opened. */
  if (save->status.st_nlink == 0) return tabella_has_changed_(save);
  if (save->status.st_nlink != 1)
    return tabella_fail(save->error, TABELLA_READ_ONLY,
                        "has several names (hard links), and a save would replace only one of them");
  if ((save->status.st_mode & anybody) == 0)
    return tabella_fail(save->error, TABELLA_READ_ONLY, "is marked read-only; chmod u+w it first");
  if (faccessat(save->folder, save->name, W_OK, AT_EACCESS) != 0)
    return tabella_fail_system(save->error, errno, "cannot be written");
  if (faccessat(save->folder, ".", W_OK | X_OK, AT_EACCESS) != 0)
    return tabella_fail_system(save->error, errno, "a file cannot be created in its folder");
  return tabella_save_check_(save);
}

/* Locks the old file against other saves. Waits up to two seconds. */
TABELLA_HELPER int32_t tabella_save_lock_(const tabella_saving_ *save) {
  const struct timespec pause = {0, 20000000};
  int attempt;
  for (attempt = 0; attempt < 100; attempt++) {
    /* A file system without locks: only the comparison protects. */
    if (flock(save->old, LOCK_EX | LOCK_NB) == 0 || (errno != EWOULDBLOCK && errno != EINTR))
      return TABELLA_OK;
    nanosleep(&pause, NULL);
  }
  save->error->retryable = 1;
  return tabella_fail(save->error, TABELLA_CONFLICT,
                      "is locked by another process, which may be saving it; try again");
}

/* Makes the new file, under a name that nobody can guess. */
TABELLA_HELPER int32_t tabella_save_create_(tabella_saving_ *save) {
  uint64_t number = 0;
  if (syscall(SYS_getrandom, &number, sizeof number, 0) != (long)sizeof number)
    return tabella_fail_system(save->error, errno, "no random name can be made");
  snprintf(save->temporary, sizeof save->temporary, ".tabella-%08lx%08lx",
           (unsigned long)(number >> 32), (unsigned long)(number & 0xFFFFFFFFu));
  save->made = openat(save->folder, save->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                      0600);
  /* Locked before it is the file, so that no other save replaces it before this one is done. */
  if (save->made >= 0) {
    (void)flock(save->made, LOCK_EX | LOCK_NB);
    return TABELLA_OK;
  }
  save->temporary[0] = 0;
  return tabella_fail_system(save->error, errno, "a file cannot be created in its folder");
}

/* Copies the extended attributes, access lists included. */
TABELLA_HELPER int32_t tabella_save_attributes_(const tabella_saving_ *save) {
  char names[16384];
  ssize_t size = flistxattr(save->old, names, sizeof names);
  const char *name = names;
  if (size < 0 && (errno == EOPNOTSUPP || errno == ENOSYS)) return TABELLA_OK;
  if (size < 0) return tabella_fail_system(save->error, errno, "its attributes cannot be read");
  for (; name < names + size; name += strlen(name) + 1) {
    char value[65536];
    ssize_t length = fgetxattr(save->old, name, value, sizeof value);
    if ((length < 0 && errno != ENODATA) ||
        (length >= 0 && fsetxattr(save->made, name, value, (size_t)length, 0) != 0))
      return tabella_fail(save->error, TABELLA_READ_ONLY, "its attribute %s cannot be kept: %s", name,
                          strerror(errno));
  }
  return TABELLA_OK;
}

/* Writes the new file with owner, mode and attributes of the old one, and makes it durable. */
TABELLA_HELPER int32_t tabella_save_write_(const tabella_saving_ *save, const tabella_buffer *content) {
  const struct stat *old = &save->status;
  size_t done = 0;
  struct stat made;
  int32_t code;
  while (done < content->size) {
    ssize_t put = write(save->made, content->bytes + done, content->size - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return tabella_fail_system(save->error, errno, "cannot be saved");
    done += (size_t)put;
  }
  if (fstat(save->made, &made) != 0)
    return tabella_fail_system(save->error, errno, "cannot be saved");
  if ((made.st_uid != old->st_uid || made.st_gid != old->st_gid) &&
      fchown(save->made, old->st_uid, old->st_gid) != 0)
    return tabella_fail(save->error, TABELLA_READ_ONLY, "its owner cannot be kept: %s", strerror(errno));
  code = tabella_save_attributes_(save);
  if (code != TABELLA_OK) return code;
  if (fchmod(save->made, old->st_mode & 07777) != 0)
    return tabella_fail_system(save->error, errno, "its mode cannot be kept");
  if (fsync(save->made) != 0) return tabella_fail_system(save->error, errno, "cannot be saved");
  return TABELLA_OK;
}

/* Exchanges two names in the folder. Returns 0, or the number of the system's error. */
TABELLA_HELPER int tabella_save_exchange_(const tabella_saving_ *save) {
#ifdef SYS_renameat2
  const unsigned exchange = 2;
  if (syscall(SYS_renameat2, save->folder, save->temporary, save->folder, save->name, exchange) == 0)
    return 0;
  return errno;
#else
  (void)save;
  return ENOSYS;
#endif
}

/* Puts the new file in place of the old one, unless the old one has changed. */
TABELLA_HELPER int32_t tabella_save_replace_(tabella_saving_ *save) {
  struct stat displaced;
  int failed = tabella_save_exchange_(save);
  int32_t code = TABELLA_OK;
  if (failed == EBUSY)
    return tabella_fail(save->error, TABELLA_READ_ONLY, "is a mount point and cannot be replaced");
  if (failed == EINVAL || failed == ENOSYS || failed == EOPNOTSUPP) {
    /* The file system cannot exchange names. */
    failed = renameat(save->folder, save->temporary, save->folder, save->name) == 0 ? 0 : errno;
    if (failed == 0) save->temporary[0] = 0;
    return failed == 0 ? TABELLA_OK : tabella_fail_system(save->error, failed, "cannot be replaced");
  }
  if (failed == ENOENT) return tabella_has_changed_(save);
  if (failed != 0) return tabella_fail_system(save->error, failed, "cannot be replaced");
  /* The old file now has the temporary name. Another program may have saved it or linked it a moment ago. */
  if (fstatat(save->folder, save->temporary, &displaced, AT_SYMLINK_NOFOLLOW) != 0 ||
      displaced.st_nlink != 1)
    code = tabella_has_changed_(save);
  else
    code = tabella_save_compare_(save, &displaced, 1);
  if (code != TABELLA_OK && tabella_save_exchange_(save) != 0) {
    /* The file of the other program stays under its temporary name. */
    save->file->remark = "was saved over a change by another program, which is in a file .tabella-* beside it";
    save->temporary[0] = 0;
    return TABELLA_OK;
  }
  return code;
}

TABELLA_HELPER int32_t tabella_file_save(tabella_file *file, tabella_buffer *content, int dry_run,
                                         tabella_error *error) {
  tabella_saving_ *save;
  int is_same = content->size == file->size &&
                (file->size == 0 || memcmp(content->bytes, file->bytes, file->size) == 0);
  int32_t code;
  if (content->failed) return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  tabella_buffer_ensure_(content);
  save = (tabella_saving_ *)calloc(1, sizeof *save);
  if (save == NULL || content->failed) {
    free(save);
    return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  }
  save->file = file;
  save->error = error;
  save->folder = save->old = save->made = -1;
  file->remark = NULL;
  code = tabella_save_begin_(save);
  if (code == TABELLA_OK && !is_same) {
    if (!dry_run) code = tabella_save_lock_(save);
    if (code == TABELLA_OK) code = tabella_save_create_(save);
    if (code == TABELLA_OK && !dry_run) {
      code = tabella_save_write_(save, content);
      if (code == TABELLA_OK) code = tabella_save_check_(save);
      if (code == TABELLA_OK) code = tabella_save_replace_(save);
    }
  }
  if (save->temporary[0] != 0) unlinkat(save->folder, save->temporary, 0);
  if (code == TABELLA_OK && !is_same && !dry_run) {
    /* Nothing may fail from here on, because the file is saved. */
    if (fsync(save->folder) != 0)
      file->remark = "was saved, but its folder cannot be synced: a power cut may undo the save";
    if (fstat(save->made, &file->status) != 0)
      file->remark = "was saved, but cannot be examined; open it again";
    free(file->bytes);
    file->bytes = content->bytes;
    file->size = content->size;
    file->digest = tabella_digest_of(file->bytes, file->size);
    memset(content, 0, sizeof *content);
  }
  if (save->made >= 0) close(save->made);
  if (save->old >= 0) close(save->old);
  if (save->folder >= 0) close(save->folder);
  free(save);
  return code;
}

/* ------------------------------------------------------------------------------------------------
 * Receipts
 *
 * A receipt is a line of words, the path without symbolic links, and the bytes to restore. The words are: a mark,
 * the digest of the file after the save, the digest of the old bytes, the lengths of the equal bytes at both ends,
 * of the path and of the old bytes between these ends.
 * --------------------------------------------------------------------------------------------- */

#define TABELLA_RECEIPT_MARK_ "tabella-file-1"
#define TABELLA_RECEIPT_LIMIT_ ((size_t)16 << 20)

TABELLA_HELPER int32_t tabella_file_receipt(const tabella_file *file, const tabella_buffer *content,
                                            tabella_buffer *receipt, tabella_error *error) {
  char path[PATH_MAX], line[200];
  size_t shorter = file->size < content->size ? file->size : content->size, first = 0, last = 0;
  tabella_digest after = tabella_digest_of(content->bytes, content->size);
  if (realpath(file->path, path) == NULL)
    return tabella_fail_system(error, errno, "cannot be found");
  while (first < shorter && file->bytes[first] == content->bytes[first]) first++;
  while (last < shorter - first &&
         file->bytes[file->size - 1 - last] == content->bytes[content->size - 1 - last])
    last++;
  if (file->size - first - last > TABELLA_RECEIPT_LIMIT_) return TABELLA_OK;
  snprintf(line, sizeof line, TABELLA_RECEIPT_MARK_ " %s %s %llu %llu %llu %llu\n", after.text,
           file->digest.text, (unsigned long long)first, (unsigned long long)last,
           (unsigned long long)strlen(path), (unsigned long long)(file->size - first - last));
  tabella_buffer_text(receipt, line);
  tabella_buffer_text(receipt, path);
  tabella_buffer_put(receipt, file->bytes + first, file->size - first - last);
  return receipt->failed ? tabella_fail(error, TABELLA_INTERNAL, "out of memory") : TABELLA_OK;
}

TABELLA_HELPER int32_t tabella_file_undo(const tabella_file *file, tabella_string receipt,
                                         tabella_buffer *content, tabella_error *error) {
  char path[PATH_MAX], line[200], after[33], before[33];
  unsigned long long first, last, path_size, size;
  tabella_digest digest;
  size_t start = 0, length = receipt.bytes == NULL || receipt.length < 0 ? 0 : (size_t)receipt.length;
  while (start < length && start < sizeof line - 1 && receipt.bytes[start] != '\n') start++;
  memcpy(line, length > 0 ? receipt.bytes : "", start);
  line[start++] = 0;
  if (sscanf(line, TABELLA_RECEIPT_MARK_ " %32[0-9a-f] %32[0-9a-f] %llu %llu %llu %llu", after, before,
             &first, &last, &path_size, &size) != 6 ||
      start > length || path_size > length - start || size != length - start - path_size)
    return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "the receipt is damaged");
  if (strcmp(after, file->digest.text) != 0 || first > file->size || last > file->size - first)
    return tabella_fail(error, TABELLA_CONFLICT, "was changed since the edit, so the edit cannot be undone");
  if (realpath(file->path, path) == NULL)
    return tabella_fail_system(error, errno, "cannot be found");
  if (strlen(path) != path_size || memcmp(path, receipt.bytes + start, path_size) != 0)
    return tabella_fail(error, TABELLA_CONFLICT, "is not the file of the receipt");
  tabella_buffer_put(content, file->bytes, (size_t)first);
  tabella_buffer_put(content, receipt.bytes + start + path_size, (size_t)size);
  tabella_buffer_put(content, file->bytes + file->size - last, (size_t)last);
  if (content->failed) return tabella_fail(error, TABELLA_INTERNAL, "out of memory");
  digest = tabella_digest_of(content->bytes, content->size);
  if (strcmp(before, digest.text) != 0)
    return tabella_fail(error, TABELLA_INVALID_ARGUMENT, "the receipt is damaged");
  return TABELLA_OK;
}

#ifdef __cplusplus
}
#endif

#endif /* TABELLA_SAVE_H */
