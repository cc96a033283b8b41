// total DIR prints the apparent size of everything in a folder, with each inode counted once.
#include "floor.h"
#include <sys/syscall.h>

struct found {
  uint64_t inode;
  int64_t next;
  unsigned short size;
  unsigned char type;
  char name[];
};

typedef struct {
  uint64_t device, inode;
} linked;

static linked *known;
static size_t known_count, capacity;
static uint64_t total;

static size_t place_of(linked file) {
  size_t place = (file.inode * 0x9E3779B97F4A7C15 ^ file.device) & (capacity - 1);
  while (known[place].inode && memcmp(&known[place], &file, sizeof file))
    place = (place + 1) & (capacity - 1);
  return place;
}

// Whether a file with several names was not found before.
static int is_new(linked file) {
  if (2 * known_count >= capacity) {
    linked *before = known;
    size_t count = capacity;
    capacity = capacity ? 2 * capacity : 1024;
    known = calloc(capacity, sizeof(linked));
    for (size_t index = 0; index < count; index++)
      if (before[index].inode) known[place_of(before[index])] = before[index];
    free(before);
  }
  size_t place = place_of(file);
  if (known[place].inode) return 0;
  known[place] = file;
  known_count++;
  return 1;
}

static int add(int folder, const char *name, struct statx *status) {
  if (statx(folder, name, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
            STATX_BASIC_STATS, status))
    return 0;
  linked file = {(uint64_t)status->stx_dev_major << 32 | status->stx_dev_minor, status->stx_ino};
  if (status->stx_nlink > 1 && !is_new(file)) return 0;
  total += status->stx_size;
  return 1;
}

static void add_folder(int folder) {
  enum { SIZE = 1 << 20 };
  struct statx status;
  if (!add(folder, "", &status)) return;
  char *buffer = malloc(SIZE);
  long got;
  while ((got = syscall(SYS_getdents64, folder, buffer, SIZE)) > 0) {
    for (long at = 0; at < got;) {
      struct found *found = (struct found *)(buffer + at);
      at += found->size;
      if (!strcmp(found->name, ".") || !strcmp(found->name, "..")) continue;
      // 4 is the type of a folder.
      if (found->type != 4) {
        add(folder, found->name, &status);
        continue;
      }
      int inner = openat(folder, found->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      if (inner < 0) continue;
      add_folder(inner);
      close(inner);
    }
  }
  free(buffer);
}

int main(int count, char **words) {
  if (count != 2) return 2;
  int folder = open(words[1], O_RDONLY | O_DIRECTORY);
  if (folder < 0) return 1;
  add_folder(folder);
  flushed(put_number(output, total, '\n'));
  return 0;
}
