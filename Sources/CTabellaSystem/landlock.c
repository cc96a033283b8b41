/* Landlock, whose calls have no functions in the C library. All return -errno on failure. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calls.h"
#include "tabella_confinement.h"

/* linux/landlock.h as of version 7. Older headers lack the later fields. Older kernels accept these
 * fields if they are 0. */
struct ruleset {
  uint64_t files;
  uint64_t network;
  uint64_t scopes;
};

struct beneath {
  uint64_t rights;
  int32_t file;
} __attribute__((packed));

enum { ONLY_VERSION = 1, RULE_BENEATH = 1 };

static int result(long value) { return value < 0 ? -errno : (int)value; }

int tabella_landlock_version(void) {
  return result(syscall(__NR_landlock_create_ruleset, NULL, 0, ONLY_VERSION));
}

int tabella_landlock_make(uint64_t files, uint64_t network, uint64_t scopes) {
  struct ruleset set = {files, network, scopes};
  return result(syscall(__NR_landlock_create_ruleset, &set, sizeof set, 0));
}

int tabella_landlock_allow(int rules, int file, uint64_t rights) {
  struct beneath rule = {rights, file};
  return result(syscall(__NR_landlock_add_rule, rules, RULE_BENEATH, &rule, 0));
}

int tabella_open_path(const char *path) { return result(open(path, O_PATH | O_CLOEXEC)); }
