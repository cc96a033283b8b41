#define _GNU_SOURCE
#include "tabella_system.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <malloc.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

void *tabella_system_load(const char *path) {
  return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

void *tabella_system_loaded(const char *path) {
  return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | RTLD_NOLOAD);
}

bool tabella_system_belongs(void *library, const void *address) {
  Dl_info info;
  struct link_map *owner = NULL;
  struct link_map *own = NULL;
  return dladdr1(address, &info, (void **)&owner, RTLD_DL_LINKMAP) != 0 &&
         dlinfo(library, RTLD_DI_LINKMAP, &own) == 0 && owner == own;
}

bool tabella_system_is_privileged(void) { return getauxval(AT_SECURE) != 0; }

bool tabella_system_is_noexec(int file) {
  struct statvfs system;
  return fstatvfs(file, &system) == 0 && (system.f_flag & ST_NOEXEC) != 0;
}

bool tabella_system_is_proc(int file) {
  struct statfs system;
  return fstatfs(file, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

void tabella_system_keep_memory(void) {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 8 << 20);
  mallopt(M_TRIM_THRESHOLD, 32 << 20);
#endif
}

void *tabella_system_grow_pages(void *pages, size_t had, size_t count) {
  void *grown = pages != NULL ? mremap(pages, had, count, MREMAP_MAYMOVE)
                              : mmap(NULL, count, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (grown == MAP_FAILED) return NULL;
  if (count >= (4 << 20)) madvise(grown, count, MADV_HUGEPAGE);
  return grown;
}

const char *tabella_system_library_of(const void *address) {
  Dl_info info;
  return dladdr(address, &info) != 0 ? info.dli_fname : NULL;
}

uint64_t tabella_system_heap_in_use(void) {
  struct mallinfo2 info = mallinfo2();
  return (uint64_t)info.uordblks + (uint64_t)info.hblkhd;
}

int64_t tabella_system_entries(int directory, void *buffer, size_t size) {
  ssize_t got = getdents64(directory, buffer, size);
  return got < 0 ? -errno : got;
}

int tabella_system_status(int directory, const char *name, tabella_status *out) {
  struct statx status;
  int flags = AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT | AT_EMPTY_PATH;
  if (statx(directory, name, flags, STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID, &status) != 0) {
    return -errno;
  }
  out->size = status.stx_size;
  out->room = status.stx_blocks * 512;
  out->inode = status.stx_ino;
  out->device = makedev(status.stx_dev_major, status.stx_dev_minor);
  /* A kernel before 5.8 does not report the mount. */
  out->mount = (status.stx_mask & STATX_MNT_ID) != 0 ? status.stx_mnt_id : 0;
  out->modified = status.stx_mtime.tv_sec;
  out->modified_rest = status.stx_mtime.tv_nsec;
  out->changed = status.stx_ctime.tv_sec;
  out->changed_rest = status.stx_ctime.tv_nsec;
  out->has_birth = (status.stx_mask & STATX_BTIME) != 0;
  out->born = status.stx_btime.tv_sec;
  out->born_rest = status.stx_btime.tv_nsec;
  out->mode = status.stx_mode;
  out->owner = status.stx_uid;
  out->group = status.stx_gid;
  out->links = status.stx_nlink;
  out->is_mounted = (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  out->is_immutable = (status.stx_attributes & STATX_ATTR_IMMUTABLE) != 0;
  out->is_append_only = (status.stx_attributes & STATX_ATTR_APPEND) != 0;
  return 0;
}

int tabella_system_open_directory(int directory, const char *name, int follow) {
  int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  int descriptor = openat(directory, name, follow ? flags : flags | O_NOFOLLOW);
  return descriptor < 0 ? -errno : descriptor;
}

int tabella_system_open_directory_below(int directory, const char *path) {
  struct open_how how = {
      .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
      .resolve = RESOLVE_NO_SYMLINKS,
  };
  /* glibc has no function for this call. */
  long descriptor = syscall(SYS_openat2, directory, path, &how, sizeof how);
  return descriptor < 0 ? -errno : (int)descriptor;
}

bool tabella_system_is_of_kernel(int file) {
  struct statfs system;
  if (fstatfs(file, &system) < 0) return false;
  return system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC;
}

bool tabella_system_is_watchable(int file) {
  struct statfs system;
  if (fstatfs(file, &system) < 0) return false;
  switch ((uint32_t)system.f_type) {
  case NFS_SUPER_MAGIC:
  case SMB_SUPER_MAGIC:
  case SMB2_SUPER_MAGIC:
  case CIFS_SUPER_MAGIC:
  case CODA_SUPER_MAGIC:
  case AFS_SUPER_MAGIC:
  case AFS_FS_MAGIC:
  case CEPH_SUPER_MAGIC:
  case FUSE_SUPER_MAGIC:
  case V9FS_MAGIC:
  case PROC_SUPER_MAGIC:
  case SYSFS_MAGIC: return false;
  default: return true;
  }
}

int tabella_system_make_event(void) {
  int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return event < 0 ? -errno : event;
}
