// launch OUTPUT ERRORS COMMAND... ['|' COMMAND...] runs one command, or several in a pipe, and writes `WALL_NS CPU_US
// PEAK_KIB STATUS` to standard output.
//
// A process inherits the peak of memory of the process that spawned it. So the figure is correct only if the spawning
// process is small, which is the reason for this program. PEAK is the sum over a pipe.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static long long micros(struct timeval time) { return time.tv_sec * 1000000LL + time.tv_usec; }

// Starts one command with the given standard input, output and error.
static pid_t start(char **command, int input, int output, int errors) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawn_file_actions_adddup2(&actions, errors, 2);
  pid_t process = 0;
  int failed = posix_spawnp(&process, command[0], &actions, 0, command, environ);
  posix_spawn_file_actions_destroy(&actions);
  return failed ? -1 : process;
}

static int status_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int count, char **words) {
  if (count < 4) return 2;
  // The words after each bar form a separate command.
  char **commands[8] = {words + 3};
  int stages = 1;
  for (int index = 3; index < count; index++) {
    if (strcmp(words[index], "|")) continue;
    if (stages == 8) return 2;
    words[index] = 0;
    commands[stages++] = words + index + 1;
  }
  int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
  int output = open(words[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  int errors = open(words[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (input < 0 || output < 0 || errors < 0) return 1;

  pid_t processes[8];
  long long begin = now();
  for (int stage = 0; stage < stages; stage++) {
    int ends[2] = {-1, output};
    if (stage + 1 < stages && pipe2(ends, O_CLOEXEC)) return 1;
    processes[stage] = start(commands[stage], input, ends[1], errors);
    close(input);
    close(ends[1]);
    input = ends[0];
    if (processes[stage] < 0) return 127;
  }
  long long cpu = 0, peak = 0;
  int result = 0;
  for (int stage = 0; stage < stages; stage++) {
    struct rusage usage;
    int status;
    if (wait4(processes[stage], &status, 0, &usage) < 0) return 1;
    cpu += micros(usage.ru_utime) + micros(usage.ru_stime);
    peak += usage.ru_maxrss;
    // `head` has read enough, and the signal ends the writer, as it should.
    int broken = stage + 1 < stages && status_of(status) == 128 + SIGPIPE;
    if (!broken && status_of(status)) result = status_of(status);
  }
  printf("%lld %lld %lld %d\n", now() - begin, cpu, peak, result);
  return 0;
}
