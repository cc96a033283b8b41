// folder names DIR prints the names. folder stat DIR prints NAME,SIZE,MODIFIED of each entry. folder sort DIR prints
// the same, with the largest first.
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
  const char *name;
  uint64_t size;
  int64_t modified;
  uint32_t mode, user;
} entry;

static entry *entries;
static size_t entry_count, capacity;

static void keep(const char *name) {
  if (entry_count == capacity) {
    capacity = capacity ? 2 * capacity : 4096;
    entries = realloc(entries, capacity * sizeof(entry));
  }
  entries[entry_count++] = (entry){name, 0, 0, 0, 0};
}

static int larger_first(const void *left, const void *right) {
  uint64_t first = ((const entry *)left)->size, second = ((const entry *)right)->size;
  return (first < second) - (first > second);
}

static void look_at_each(int folder) {
  for (size_t index = 0; index < entry_count; index++) {
    struct statx status;
    if (statx(folder, entries[index].name, AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC,
              STATX_BASIC_STATS, &status))
      continue;
    entries[index].size = status.stx_size;
    entries[index].modified = status.stx_mtime.tv_sec;
    entries[index].mode = status.stx_mode;
    entries[index].user = status.stx_uid;
  }
}

// Unlike `put`, this reads no bytes after the name.
FLOOR(char *put_name)(char *cursor, const char *name, char end) {
  size_t count = strlen(name);
  if (cursor + count >= output + OUTPUT) cursor = flushed(cursor);
  memcpy(cursor, name, count);
  cursor[count] = end;
  return cursor + count + 1;
}

int main(int count, char **words) {
  if (count != 3) return 2;
  enum { SIZE = 1 << 20 };
  int only_names = !strcmp(words[1], "names"), folder = open(words[2], O_RDONLY | O_DIRECTORY);
  char *buffer = malloc(SIZE), *cursor = output;
  long got;
  while ((got = syscall(SYS_getdents64, folder, buffer, SIZE)) > 0) {
    for (long at = 0; at < got;) {
      struct found *found = (struct found *)(buffer + at);
      at += found->size;
      if (found->name[0] == '.') continue;
      if (only_names)
        cursor = put_name(cursor, found->name, '\n');
      else
        keep(found->name);
    }
    // The names stay in the buffer of the kernel call.
    if (!only_names) buffer = malloc(SIZE);
  }
  look_at_each(folder);
  if (!strcmp(words[1], "sort")) qsort(entries, entry_count, sizeof(entry), larger_first);
  for (size_t index = 0; index < entry_count; index++) {
    cursor = put_name(cursor, entries[index].name, ',');
    cursor = put_number(cursor, entries[index].size, ',');
    cursor = put_number(cursor, (uint64_t)entries[index].modified, '\n');
  }
  flushed(cursor);
  return 0;
}
