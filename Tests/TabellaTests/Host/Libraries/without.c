/* without WHAT PROGRAM ARGUMENT…: runs a program as if the kernel lacked a feature: "landlock", "seccomp", or
 * private "mounts". */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LANDLOCK_CREATE_RULESET = 444, GET_ACTION_AVAIL = 2 };
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define UNLESS(value, skipped) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skipped)
#define GIVE(answer) BPF_STMT(BPF_RET | BPF_K, answer)

static int install(struct sock_filter *code, unsigned short count) {
  struct sock_fprog program = {count, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

int main(int count, char **words) {
  if (count < 3) return 2;
  struct sock_filter landlock[] = {
      LOAD(nr), UNLESS(LANDLOCK_CREATE_RULESET, 1), GIVE(SECCOMP_RET_ERRNO | ENOSYS), GIVE(SECCOMP_RET_ALLOW),
  };
  struct sock_filter seccomp[] = {
      LOAD(nr),      UNLESS(SYS_seccomp, 3),
      LOAD(args[0]), UNLESS(GET_ACTION_AVAIL, 1),
      GIVE(SECCOMP_RET_ERRNO | ENOSYS), GIVE(SECCOMP_RET_ALLOW),
  };
  struct sock_filter mounts[] = {
      LOAD(nr), UNLESS(SYS_unshare, 1), GIVE(SECCOMP_RET_ERRNO | EPERM), GIVE(SECCOMP_RET_ALLOW),
  };
  int done = -1;
  if (strcmp(words[1], "landlock") == 0) done = install(landlock, sizeof landlock / sizeof *landlock);
  if (strcmp(words[1], "seccomp") == 0) done = install(seccomp, sizeof seccomp / sizeof *seccomp);
  if (strcmp(words[1], "mounts") == 0) done = install(mounts, sizeof mounts / sizeof *mounts);
  if (done != 0) {
    perror(words[1]);
    return 125;
  }
  execv(words[2], words + 2);
  perror(words[2]);
  return 126;
}
