// processes prints one line per process, from stat and cmdline in /proc/PID.
#include "floor.h"
#include <sys/syscall.h>

struct found {
  uint64_t inode;
  int64_t next;
  unsigned short size;
  unsigned char type;
  char name[];
};

static long contents(int folder, const char *process, const char *name, char *into, size_t room) {
  char path[64];
  snprintf(path, sizeof path, "%s/%s", process, name);
  int file = openat(folder, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  long got = read(file, into, room - 1);
  close(file);
  into[got > 0 ? got : 0] = 0;
  return got;
}

// Writes one process. Returns the new cursor.
static char *write_process(int folder, const char *process, char *cursor) {
  static char stat[4096], arguments[4096];
  if (contents(folder, process, "stat", stat, sizeof stat) <= 0) return cursor;
  long count = contents(folder, process, "cmdline", arguments, sizeof arguments);
  for (long at = 0; at + 1 < count; at++)
    if (!arguments[at]) arguments[at] = ' ';
  struct stat owner;
  if (fstatat(folder, process, &owner, 0)) return cursor;
  // A name may contain any characters. It ends with the last parenthesis.
  char *name = strchr(stat, '('), *rest = strrchr(stat, ')');
  if (!name || !rest) return cursor;
  char *resident = rest;
  for (int field = 0; resident && field < 22; field++) resident = strchr(resident + 1, ' ');
  if (cursor + 6000 > output + OUTPUT) cursor = flushed(cursor);
  int written = sprintf(
      cursor, "%s %d %u %c %ld %.*s %s\n", process, atoi(rest + 4), owner.st_uid,
      rest[2], resident ? atol(resident + 1) * 4 : 0, (int)(rest - name - 1), name + 1, arguments);
  return cursor + written;
}

int main(void) {
  static char buffer[1 << 18];
  int folder = open("/proc", O_RDONLY | O_DIRECTORY);
  char *cursor = output;
  long got;
  while ((got = syscall(SYS_getdents64, folder, buffer, sizeof buffer)) > 0)
    for (long at = 0; at < got;) {
      struct found *found = (struct found *)(buffer + at);
      at += found->size;
      if (found->name[0] >= '1' && found->name[0] <= '9')
        cursor = write_process(folder, found->name, cursor);
    }
  flushed(cursor);
  return 0;
}
