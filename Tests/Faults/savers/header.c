/* A saver as saver.c, made of tabella_save.h: header FILE OFFSET|end LENGTH TEXT replaces LENGTH bytes by TEXT. A
   provider in C saves in this way. Exit status: 0 saved and durable, 1 failed, 2 usage, 4 refused, 5 another program
   has changed the file. */
#include "tabella_save.h"

#include <signal.h>

/* Prints the message of an error and returns the exit status for its code. */
static int status_of(const char *path, int32_t code, const tabella_error *error) {
  fprintf(stderr, "header: %s: %.*s\n", path, (int)error->message.length, error->message.bytes);
  return code == TABELLA_CONFLICT ? 5 : code == TABELLA_DENIED || code == TABELLA_READ_ONLY ? 4 : 1;
}

int main(int count, char **arguments) {
  tabella_file file;
  tabella_buffer content = {NULL, 0, 0, 0};
  tabella_error error;
  size_t offset, length;
  int32_t code;
  if (count != 5) return 2;
  /* As a host does. */
  signal(SIGXFSZ, SIG_IGN);
  memset(&error, 0, sizeof error);
  code = tabella_file_open(&file, tabella_cstring(arguments[1]), (size_t)64 << 20, &error);
  if (code != TABELLA_OK) return status_of(arguments[1], code, &error);
  length = (size_t)strtoull(arguments[3], NULL, 10);
  offset = strcmp(arguments[2], "end") != 0 ? (size_t)strtoull(arguments[2], NULL, 10) : file.size;
  if (offset > file.size || length > file.size - offset) return 4;
  tabella_buffer_put(&content, file.bytes, offset);
  tabella_buffer_text(&content, arguments[4]);
  tabella_buffer_put(&content, file.bytes + offset + length, file.size - offset - length);
  code = tabella_file_save(&file, &content, 0, &error);
  if (code != TABELLA_OK) return status_of(arguments[1], code, &error);
  if (file.remark != NULL) {
    fprintf(stderr, "header: %s: %s\n", arguments[1], file.remark);
    return 1;
  }
  if (printf("saved\n") > 0 && fflush(stdout) == 0) return 0;
  fprintf(stderr, "header: %s: was saved, but this cannot be said\n", arguments[1]);
  return 1;
}
