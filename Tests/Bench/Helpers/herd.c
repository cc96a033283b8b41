// herd COUNT starts COUNT sleeping processes and writes `ready`. It ends them all when standard input ends. The
// processes end with this one in any case.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **words) {
  if (count != 2) return 2;
  int wanted = atoi(words[1]), started = 0;
  pid_t *herd = calloc((size_t)wanted + 1, sizeof(pid_t));
  for (; started < wanted; started++) {
    pid_t process = fork();
    if (process < 0) break;
    if (process == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (;;) pause();
    }
    herd[started] = process;
  }
  puts(started == wanted ? "ready" : "failed");
  fflush(stdout);
  char byte;
  while (read(0, &byte, 1) > 0) {}
  for (int index = 0; index < started; index++) kill(herd[index], SIGKILL);
  while (wait(0) > 0) {}
  return 0;
}
