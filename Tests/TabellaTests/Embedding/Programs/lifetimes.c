/* lifetimes WHAT PATH…: forks, threads, openings and releases, in a program that is linked to libtabella. It prints
 * nothing and returns 0 if all is as the header says. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tabella_embed.h"

#define CHECK(condition)                                                          \
  do {                                                                            \
    if (!(condition)) {                                                           \
      fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #condition);         \
      exit(1);                                                                    \
    }                                                                             \
  } while (0)

static tabella_string text(const char *words) {
  tabella_string string = {words, (int64_t)strlen(words)};
  return string;
}

/* Ends the program for an unexpected error. */
static void must(int32_t code, tabella_error *error) {
  if (code == TABELLA_OK) return;
  fprintf(stderr, "%d: %.*s\n", code, (int)error->message.length, error->message.bytes);
  exit(1);
}

/* Checks that a call failed in this way, and releases its error. */
static void expect(int32_t code, int32_t wanted, tabella_error *error) {
  CHECK(code == wanted);
  CHECK(error->release && error->message.length > 0);
  error->release(error);
  CHECK(!error->release);
}

static tabella_embed_host *make_host(void) {
  tabella_embed_host *host = NULL;
  tabella_error error = {0};
  must(tabella_embed_host_create(NULL, &host, &error), &error);
  return host;
}

static tabella_embed_table *open_table(tabella_embed_host *host, const char *path) {
  tabella_embed_request request = {0};
  tabella_embed_table *table = NULL;
  tabella_error error = {0};
  request.location = text(path);
  must(tabella_embed_open(host, &request, &table, &error), &error);
  return table;
}

static int64_t drain(tabella_embed_table *table) {
  struct ArrowArrayStream stream;
  tabella_error error = {0};
  int64_t rows = 0;
  must(tabella_embed_stream(table, NULL, &stream, &error), &error);
  for (;;) {
    struct ArrowArray batch;
    CHECK(stream.get_next(&stream, &batch) == 0);
    if (!batch.release) break;
    rows += batch.length;
    batch.release(&batch);
  }
  stream.release(&stream);
  return rows;
}

/* Everything that a program can hold, released in the wrong order. */
static int64_t use(tabella_embed_host *host, const char *path) {
  tabella_error error = {0};
  tabella_embed_table *table = open_table(host, path), *sorted = NULL, *sums = NULL;
  tabella_embed_shape shape = {0};
  shape.sort = text("n:desc");
  must(tabella_embed_shaped(table, &shape, &sorted, &error), &error);
  must(tabella_embed_summarize(table, text("n"), text("rows"), 0, &sums, &error), &error);
  tabella_embed_follower *follower = NULL;
  must(tabella_embed_follow(table, &follower, &error), &error);
  tabella_source source;
  must(tabella_embed_source(sorted, &source, &error), &error);
  struct ArrowSchema schema;
  must(source.table->schema(source.source, &schema, &error), &error);
  schema.release(&schema);
  int64_t rows = drain(table);
  CHECK(drain(sorted) == rows && drain(sums) > 0);
  shape.sort = text("none");
  tabella_embed_table *none = NULL;
  expect(tabella_embed_shaped(table, &shape, &none, &error), TABELLA_INVALID_ARGUMENT, &error);
  CHECK(!none);
  tabella_embed_table_release(table);
  tabella_embed_table_release(sorted);
  tabella_count count;
  must(source.table->row_count(source.source, 0, INT64_MAX, &count, &error), &error);
  CHECK(count.exact == 1 && count.value == rows);
  source.table->release(source.source);
  tabella_embed_follower_release(follower);
  tabella_embed_table_release(sums);
  return rows;
}

/* Waits for a child that must end with 0. */
static void join_child(pid_t child) {
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A child of a process that used the library gets invalid-state from every function. */
static void after_use(const char *path) {
  tabella_embed_host *host = make_host();
  tabella_embed_table *table = open_table(host, path);
  tabella_embed_follower *follower = NULL;
  tabella_error error = {0};
  must(tabella_embed_follow(table, &follower, &error), &error);
  struct ArrowArrayStream stream;
  must(tabella_embed_stream(table, NULL, &stream, &error), &error);
  tabella_source source;
  must(tabella_embed_source(table, &source, &error), &error);
  pid_t child = fork();
  if (child == 0) {
    tabella_embed_host *other = NULL;
    tabella_embed_table *out = NULL;
    tabella_embed_follower *following = NULL;
    tabella_embed_request request = {0};
    tabella_embed_shape shape = {0};
    tabella_edit_batch batch = {0};
    tabella_embed_edit edit;
    tabella_changes changes;
    tabella_source own;
    struct ArrowArrayStream more;
    struct ArrowArray array;
    struct ArrowSchema schema;
    tabella_string version = {0}, none = {0};
    const int32_t wrong = TABELLA_INVALID_STATE;
    alarm(10);
    request.location = text(path);
    expect(tabella_embed_host_create(NULL, &other, &error), wrong, &error);
    expect(tabella_embed_providers(host, &out, &error), wrong, &error);
    expect(tabella_embed_open(host, &request, &out, &error), wrong, &error);
    expect(tabella_embed_join(&table, 1, &out, &error), wrong, &error);
    expect(tabella_embed_shaped(table, &shape, &out, &error), wrong, &error);
    expect(tabella_embed_summarize(table, none, none, 0, &out, &error), wrong, &error);
    expect(tabella_embed_source(table, &own, &error), wrong, &error);
    expect(tabella_embed_stream(table, NULL, &more, &error), wrong, &error);
    expect(tabella_embed_commit(table, &batch, &edit, &error), wrong, &error);
    expect(tabella_embed_undo(host, text(path), 0, &edit, &error), wrong, &error);
    expect(tabella_embed_log(host, none, &out, &error), wrong, &error);
    expect(tabella_embed_follow(table, &following, &error), wrong, &error);
    expect(tabella_embed_pull(follower, &changes, &error), wrong, &error);
    expect(tabella_embed_listen(follower, NULL, NULL, &error), wrong, &error);
    expect(source.table->version(source.source, &version, &error), wrong, &error);
    CHECK(source.table->ability(source.source, text(TABELLA_SECTIONS_ID)) == NULL);
    CHECK(stream.get_schema(&stream, &schema) == EINVAL);
    CHECK(stream.get_next(&stream, &array) == EINVAL);
    CHECK(strstr(stream.get_last_error(&stream), "forked"));
    CHECK(!other && !out && !following && !more.release);
    CHECK(tabella_embed_version().length > 0 && tabella_embed_provider(table).length > 0);
    tabella_embed_cancel(table);
    stream.release(&stream);
    CHECK(!stream.release);
    source.table->release(source.source);
    tabella_embed_follower_release(follower);
    tabella_embed_table_release(table);
    tabella_embed_host_release(host);
    _exit(0);
  }
  join_child(child);
  /* The parent goes on. */
  CHECK(drain(table) > 0);
  stream.release(&stream);
  source.table->release(source.source);
  tabella_embed_follower_release(follower);
  tabella_embed_table_release(table);
  tabella_embed_host_release(host);
}

/* The first use may be in children; the parent may begin later. */
static void before_use(const char *path) {
  for (int number = 0; number < 8; number++) {
    pid_t child = fork();
    if (child == 0) {
      tabella_embed_host *host = make_host();
      use(host, path);
      pid_t grandchild = fork();
      if (grandchild == 0) {
        tabella_embed_host *other = NULL;
        tabella_error error = {0};
        expect(
            tabella_embed_host_create(NULL, &other, &error), TABELLA_INVALID_STATE, &error);
        _exit(0);
      }
      join_child(grandchild);
      tabella_embed_host_release(host);
      _exit(0);
    }
    join_child(child);
  }
  tabella_embed_host *host = make_host();
  use(host, path);
  tabella_embed_host_release(host);
}

static const char *shared_path;
static tabella_embed_host *shared_host;
static tabella_embed_table *shared_table;
static int64_t shared_rows;

static void *work(void *own) {
  for (int number = 0; number < 15; number++) {
    tabella_embed_host *host = own ? make_host() : shared_host;
    CHECK(use(host, shared_path) == shared_rows);
    if (own) tabella_embed_host_release(host);
    CHECK(drain(shared_table) == shared_rows);
  }
  return NULL;
}

/* Threads share a host and a table, or have hosts of their own. */
static void threads(const char *path) {
  pthread_t all[8];
  shared_path = path;
  shared_host = make_host();
  shared_table = open_table(shared_host, path);
  shared_rows = drain(shared_table);
  for (int number = 0; number < 8; number++) {
    CHECK(pthread_create(&all[number], NULL, work, number % 2 ? shared_host : NULL) == 0);
  }
  for (int number = 0; number < 8; number++) pthread_join(all[number], NULL);
  tabella_embed_table_release(shared_table);
  tabella_embed_host_release(shared_host);
}

/* The rows of a large table, which a call reads until it is cancelled. */
static char large_path[] = "/tmp/tabella-cancels-XXXXXX.csv";
static atomic_int has_begun;
/* The number of threads whose call was cancelled. */
static atomic_int cancelled;

/* Sums a large table until the call is cancelled. */
static void *sum(void *table) {
  tabella_error error = {0};
  tabella_embed_table *sums = NULL;
  int32_t code = TABELLA_OK;
  while (code == TABELLA_OK) {
    code = tabella_embed_summarize(table, text("n"), text("sum m"), 0, &sums, &error);
    tabella_embed_table_release(sums);
    atomic_store(&has_begun, 1);
  }
  if (code != TABELLA_CANCELLED) must(code, &error);
  expect(code, TABELLA_CANCELLED, &error);
  CHECK(!sums);
  atomic_fetch_add(&cancelled, 1);
  return NULL;
}

/* Makes short calls, which wait for those of the other thread, until one is cancelled. */
static void *wait_often(void *table) {
  tabella_error error = {0};
  tabella_embed_shape shape = {0};
  tabella_embed_table *view = NULL;
  int32_t code = TABELLA_OK;
  for (int number = 0; number < 10000 && code == TABELLA_OK; number++) {
    code = tabella_embed_shaped(table, &shape, &view, &error);
    tabella_embed_table_release(view);
  }
  expect(code, TABELLA_CANCELLED, &error);
  atomic_fetch_add(&cancelled, 1);
  return NULL;
}

/* Cancels a table until its thread has ended, as the thread number `number`. */
static void cancel(tabella_embed_table *table, pthread_t thread, int number) {
  while (atomic_load(&cancelled) < number) {
    tabella_embed_cancel(table);
    usleep(1000);
  }
  CHECK(pthread_join(thread, NULL) == 0 && atomic_load(&cancelled) == number);
}

/* Cancellations of a call that runs, and of one that waits. Calls on other tables and later calls go on. */
static void cancels(const char *path) {
  pthread_t running, waiting;
  FILE *file = fdopen(mkstemps(large_path, 4), "w");
  CHECK(file && fputs("n,m\n", file) >= 0);
  for (int number = 0; number < 300000; number++) {
    CHECK(fprintf(file, "%d,%d\n", number % 1000, number) > 0);
  }
  CHECK(fclose(file) == 0);
  tabella_embed_host *host = make_host();
  tabella_embed_table *large = open_table(host, large_path), *small = open_table(host, path);
  CHECK(pthread_create(&running, NULL, sum, large) == 0);
  while (!atomic_load(&has_begun)) usleep(1000);
  CHECK(pthread_create(&waiting, NULL, wait_often, small) == 0);
  cancel(small, waiting, 1);
  cancel(large, running, 2);
  CHECK(drain(large) == 300000 && drain(small) > 0);
  tabella_embed_table_release(large);
  tabella_embed_table_release(small);
  tabella_embed_host_release(host);
  CHECK(unlink(large_path) == 0);
}

/* Rounds after which as much memory is in use as before, except `most` bytes per round. Without a host, each round has
 * its own. */
static void repeat(tabella_embed_host *host, const char *path, size_t most) {
  size_t before = 0;
  for (int number = 0; number < 220; number++) {
    if (number == 20) before = mallinfo2().uordblks;
    tabella_embed_host *own = host ? host : make_host();
    use(own, path);
    if (!host) tabella_embed_host_release(own);
  }
  size_t after = mallinfo2().uordblks;
  if (after > before + 200 * most) {
    fprintf(stderr, "%zu bytes in use, then %zu\n", before, after);
    exit(1);
  }
}

/* Openings leave nothing. A provider lives until the process ends, and each host has its own. */
static void leaks(const char *path) {
  tabella_embed_host *host = make_host();
  repeat(host, path, 16);
  tabella_embed_host_release(host);
  repeat(NULL, path, 5000);
}

int main(int count, char **words) {
  CHECK(count == 3);
  if (strcmp(words[1], "after") == 0) after_use(words[2]);
  else if (strcmp(words[1], "before") == 0) before_use(words[2]);
  else if (strcmp(words[1], "threads") == 0) threads(words[2]);
  else if (strcmp(words[1], "cancels") == 0) cancels(words[2]);
  else if (strcmp(words[1], "leaks") == 0) leaks(words[2]);
  else return 2;
  return 0;
}
