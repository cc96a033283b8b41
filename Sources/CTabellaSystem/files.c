/* System calls for safe saves and for edits of directories. All return -errno on failure. */
#define _GNU_SOURCE
#include "tabella_system.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

static int result(int value) { return value < 0 ? -errno : value; }

/* A path through /proc leads to the object of a descriptor, and does not follow it if it is a symbolic
 * link. Calls on descriptors refuse those of O_PATH. */
enum { PATH_OF_DESCRIPTOR = 64 };

static const char *path_of(int file, char *path) {
  snprintf(path, PATH_OF_DESCRIPTOR, "/proc/self/fd/%d", file);
  return path;
}

int tabella_system_rename(int from, const char *old_name, int to, const char *new_name,
                          tabella_rename_kind kind) {
  const unsigned flags[] = {0, RENAME_NOREPLACE, RENAME_EXCHANGE};
  return result(renameat2(from, old_name, to, new_name, flags[kind]));
}

int64_t tabella_system_copy_range(int from, int64_t from_offset, int to, int64_t to_offset,
                                  size_t count) {
  off64_t in = from_offset;
  off64_t out = to_offset;
  ssize_t copied = copy_file_range(from, &in, to, &out, count, 0);
  return copied < 0 ? -errno : copied;
}

void tabella_system_begin_writing(int file, int64_t offset, int64_t count) {
  int error = errno;
  sync_file_range(file, offset, count, SYNC_FILE_RANGE_WRITE);
  errno = error;
}

int tabella_system_make_nameless(int directory) {
  return result(openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
}

int tabella_system_reserve_space(int file, int64_t from, int64_t size) {
  return result(fallocate(file, 0, from, size));
}

int tabella_system_share_bytes(int from, int to) { return result(ioctl(to, FICLONE, from)); }

int tabella_system_name(int file, int directory, const char *name) {
  /* AT_EMPTY_PATH would need a capability. The path through /proc does not. */
  char path[PATH_OF_DESCRIPTOR];
  return result(linkat(AT_FDCWD, path_of(file, path), directory, name, AT_SYMLINK_FOLLOW));
}

int tabella_system_lock(int file) { return result(flock(file, LOCK_EX | LOCK_NB)); }

int tabella_system_lock_shared(int file) { return result(flock(file, LOCK_SH | LOCK_NB)); }

int tabella_system_unlock(int file) { return result(flock(file, LOCK_UN)); }

/* Whether a server must agree to leases of the file. The clients of these file systems grant a lease
 * only while the server lets them cache the file. */
static bool has_leases_of_server(int file) {
  struct statfs system;
  if (fstatfs(file, &system) < 0) return false;
  return system.f_type == NFS_SUPER_MAGIC || system.f_type == CIFS_SUPER_MAGIC ||
         system.f_type == SMB2_SUPER_MAGIC;
}

int tabella_system_lease(int file) {
  /* The signal for a waiting writer should be one that is ignored by default. SIGIO would end the
   * process. */
  if (fcntl(file, F_SETSIG, SIGURG) < 0) return -errno;
  if (fcntl(file, F_SETLEASE, F_RDLCK) == 0) return 0;
  int error = errno;
  return error == EAGAIN && has_leases_of_server(file) ? -EOPNOTSUPP : -error;
}

bool tabella_system_holds_lease(int file) { return fcntl(file, F_GETLEASE) == F_RDLCK; }

int64_t tabella_system_list_attributes(int file, char *names, size_t size) {
  ssize_t got = flistxattr(file, names, size);
  return got < 0 ? -errno : got;
}

int64_t tabella_system_attribute(int file, const char *name, void *value, size_t size) {
  ssize_t got = fgetxattr(file, name, value, size);
  return got < 0 ? -errno : got;
}

int tabella_system_set_attribute(int file, const char *name, const void *value, size_t size) {
  return result(fsetxattr(file, name, value, size, 0));
}

int tabella_system_remove_attribute(int file, const char *name) {
  return result(fremovexattr(file, name));
}

int tabella_system_copy_flags(int from, int to) {
  const unsigned kept = FS_NODUMP_FL | FS_NOATIME_FL | FS_SYNC_FL;
  unsigned wanted = 0;
  unsigned there = 0;
  if (ioctl(from, FS_IOC_GETFLAGS, &wanted) < 0) return 0;
  if (ioctl(to, FS_IOC_GETFLAGS, &there) < 0) there = 0;
  if ((wanted & kept) == (there & kept)) return 0;
  there = (there & ~kept) | (wanted & kept);
  return result(ioctl(to, FS_IOC_SETFLAGS, &there));
}

int tabella_system_time_of_birth(int file, int64_t *born) {
  struct statx status;
  *born = 0;
  if (statx(file, "", AT_EMPTY_PATH, STATX_BTIME, &status) != 0) return -errno;
  if ((status.stx_mask & STATX_BTIME) == 0) return 0;
  *born = status.stx_btime.tv_sec * 1000000000 + status.stx_btime.tv_nsec;
  return 0;
}

int tabella_system_open_entry(int directory, const char *name) {
  return result(openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
}

int tabella_system_set_mode(int entry, uint32_t mode) {
  char path[PATH_OF_DESCRIPTOR];
  return result(chmod(path_of(entry, path), mode));
}

int tabella_system_set_modified(int entry, int64_t seconds, uint32_t nanoseconds) {
  char path[PATH_OF_DESCRIPTOR];
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                              {.tv_sec = seconds, .tv_nsec = nanoseconds}};
  return result(utimensat(AT_FDCWD, path_of(entry, path), times, 0));
}

int tabella_system_sync_file_system(int file) { return result(syncfs(file)); }

int tabella_system_short_link(int folder) {
  struct statfs system;
  /* tmpfs stores up to 128 bytes including the NUL in the inode, ext2 to ext4 up to 60. The others are
   * assumed to be like ext4. */
  return fstatfs(folder, &system) == 0 && system.f_type == TMPFS_MAGIC ? 127 : 59;
}

size_t tabella_system_peek(int file, void *buffer, size_t size) {
  struct stat status;
  if (fstat(file, &status) != 0) return 0;
  if (S_ISSOCK(status.st_mode)) {
    ssize_t got = recv(file, buffer, size, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 ? 0 : (size_t)got;
  }
  int copy[2];
  if (!S_ISFIFO(status.st_mode) || pipe2(copy, O_CLOEXEC | O_NONBLOCK) != 0) return 0;
  ssize_t got = tee(file, copy[1], size, SPLICE_F_NONBLOCK);
  if (got > 0) got = read(copy[0], buffer, size);
  close(copy[0]);
  close(copy[1]);
  return got < 0 ? 0 : (size_t)got;
}
