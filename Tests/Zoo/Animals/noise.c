/* P17: writes output where it must not. */
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/ioctl.h>

#include "deed.h"

static void say(int file, const char *text) {
  size_t length = strlen(text);
  while (length > 0) {
    ssize_t done = write(file, text, length);
    if (done <= 0) return;
    text += done;
    length -= (size_t)done;
  }
}

static void flood(int file, char fill, size_t line) {
  static char piece[1 << 20];
  size_t i;
  memset(piece, fill, sizeof piece);
  for (i = line; line > 0 && i < sizeof piece; i += line) piece[i] = '\n';
  for (i = 0; i < 100; i++)
    if (write(file, piece, sizeof piece) <= 0) return;
}

static const char escapes[] =
    "RUBBISH\033[31mred\033]0;title\a\033]52;c;cm0gLXJm\a\033[2J\033[1;1H\x9b" "31m\rback\b\b\x7f"
    "\xe2\x80\xae" "bidi\xff\xfe\n";

A_DEED(prints) { printf("RUBBISH on standard output\n"), fflush(stdout); }
A_DEED(prints_later) { printf("RUBBISH without an end"); }
A_DEED(prints_half_a_document) { say(1, "{\"RUBBISH\":[\n"); }
A_DEED(prints_an_error) { say(2, "tabella: RUBBISH: this is not of tabella\n"); }
A_DEED(prints_escapes) { say(1, escapes), say(2, escapes); }
A_DEED(prints_without_a_line_end) { say(1, "RUBBISH"), say(2, "RUBBISH"); }
A_DEED(prints_100_MB) { flood(1, 'R', 80); }
A_DEED(complains_100_MB) { flood(2, 'R', 80); }
A_DEED(complains_one_line_of_100_MB) { flood(2, 'R', 0); }
A_DEED(prints_zeros) { flood(1, 0, 0); }

A_DEED(opens_the_terminal) {
  int terminal = open("/dev/tty", O_RDWR);
  if (terminal >= 0) say(terminal, escapes), ioctl(terminal, TIOCSTI, "x");
  ioctl(0, TIOCSTI, "x");
}
A_DEED(opens_standard_output_again) {
  char path[64];
  int file = open("/proc/self/fd/1", O_WRONLY);
  if (file >= 0) say(file, "RUBBISH\n");
  snprintf(path, sizeof path, "/proc/%d/fd/1", (int)getppid());
  file = open(path, O_WRONLY);
  if (file >= 0) say(file, "RUBBISH\n");
}

static void *print_for_ever(void *unused) {
  for (;;) {
    say(1, "RUBBISH\n");
    say(2, "RUBBISH\n");
  }
  return unused;
}
A_DEED(prints_for_ever) {
  pthread_t thread;
  pthread_create(&thread, NULL, print_for_ever, NULL);
}
A_DEED(prints_for_ever_and_never_comes_back) { print_for_ever(NULL); }

static void tell_log(int32_t severity, const char *text, int64_t length) {
  tabella_string message = {text, length};
  if (zoo_host != NULL && zoo_host->log != NULL) zoo_host->log(zoo_host->host, severity, message);
}
A_DEED(logs) { tell_log(TABELLA_LOG_WARNING, "a word of warning", 17); }
A_DEED(logs_escapes) { tell_log(TABELLA_LOG_ERROR, escapes, sizeof escapes - 1); }
A_DEED(logs_a_million_lines) {
  int i;
  for (i = 0; i < 1000000; i++) tell_log(TABELLA_LOG_ERROR, "RUBBISH", 7);
}
A_DEED(logs_a_line_of_100_MB) {
  char *line = malloc(100 << 20);
  memset(line, 'R', 100 << 20);
  tell_log(TABELLA_LOG_ERROR, line, 100 << 20);
  free(line);
}
A_DEED(logs_nonsense) {
  tell_log(-7, "RUBBISH", 7);
  tell_log(99, NULL, 12);
  tell_log(TABELLA_LOG_ERROR, "RUBBISH", -1);
  tell_log(TABELLA_LOG_ERROR, NULL, INT64_MIN);
}
A_DEED(logs_what_is_not_there) { tell_log(TABELLA_LOG_ERROR, (const char *)0x1000, 1 << 20); }
A_DEED(logs_for_ever) {
  for (;;) {
    tell_log(TABELLA_LOG_INFO, "still here", 10);
    usleep(100000);
  }
}
