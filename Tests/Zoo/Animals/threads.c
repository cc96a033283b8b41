/* P23, P34: reports changes at the wrong time, from the wrong thread, or wrongly. The location selects the lie. */
#include <pthread.h>
#include <stdatomic.h>

#include "zoo_editing.h"

static tabella_notify listener;
static void *listener_context;
static zoo_source *told;

static void *tell_for_ever(void *pause) {
  for (;;) {
    if (listener != NULL) listener(listener_context);
    if (pause != NULL) usleep((useconds_t)(uintptr_t)pause);
  }
  return NULL;
}
static void *tell_log_for_ever(void *unused) {
  for (;;) {
    if (zoo_host != NULL && zoo_host->log != NULL)
      zoo_host->log(zoo_host->host, TABELLA_LOG_WARNING, tabella_cstring("from a thread"));
    usleep(100);
  }
  return unused;
}
/* Calls its own source from another thread during calls of the host. */
static void *use_the_source(void *unused) {
  for (;;) {
    tabella_error error = {0};
    tabella_count count = {0};
    if (told != NULL) zoo_table.row_count(told, 0, 0, &count, &error);
  }
  return unused;
}
static void start(void *(*body)(void *), void *context) {
  pthread_t thread;
  pthread_create(&thread, NULL, body, context);
}

static int32_t listen_to(void *self, tabella_notify notify, void *context, tabella_error *error) {
  (void)error;
  if (notify == NULL && zoo_tells(self, "never-stops")) return TABELLA_OK;
  listener = notify;
  listener_context = context;
  if (notify == NULL) return TABELLA_OK;
  if (zoo_tells(self, "tells-in-listen")) notify(context);
  if (zoo_tells(self, "tells-without-end") || zoo_tells(self, "never-stops"))
    start(tell_for_ever, NULL);
  if (zoo_tells(self, "listen-fails"))
    return tabella_fail(error, TABELLA_INTERNAL, "I tell nobody");
  return TABELLA_OK;
}

static int32_t pull(void *self, tabella_changes *out, tabella_error *error) {
  static tabella_change changes[2];
  zoo_source *source = self;
  (void)error;
  out->from_version = out->to_version = tabella_cstring(source->version);
  out->changes = changes;
  changes[0].kind = TABELLA_CHANGE_INSERT;
  changes[0].from = (tabella_index_path){-1, -1};
  if (zoo_tells(self, "tells-in-pull") && listener != NULL) listener(listener_context);
  if (zoo_tells(self, "changes-without-a-version")) out->change_count = 1;
  if (zoo_tells(self, "came-past-the-end"))
    out->change_count = 1, changes[0].to = (tabella_index_path){0, 100000};
  if (zoo_tells(self, "came-nowhere"))
    out->change_count = 1, changes[0].to = (tabella_index_path){INT64_MIN, INT64_MAX};
  if (zoo_tells(self, "three-came-of-two"))
    out->change_count = 2, changes[1] = changes[0];
  if (zoo_tells(self, "billion-came")) out->change_count = 1000000000;
  if (zoo_tells(self, "wild-changes")) out->change_count = 3, out->changes = (void *)0x1234567890;
  if (zoo_tells(self, "wild-pull-version")) out->to_version.bytes = (void *)0x1234567890;
  if (zoo_tells(self, "grows-in-secret")) {
    zoo_data *more = zoo_data_new(source->data->count[0] + 1, source->data->count[1]);
    memcpy(more->rows, source->data->rows, zoo_size(source->data) - sizeof *more);
    more->next_id = source->data->next_id;
    /* Changes silently: the version stays the same. */
    free(source->data);
    source->data = more;
  }
  return TABELLA_OK;
}

static tabella_changes_table changes_table = {listen_to, pull};

static const void *more(void *self, tabella_string id) {
  if (tabella_string_equals(id, TABELLA_CHANGES_ID)) return &changes_table;
  return zoo_editing_abilities(self, id);
}

static int32_t open_and_start(void *provider, const tabella_open_request *request,
                              tabella_source *out, tabella_error *error) {
  int32_t code = zoo_open(provider, request, out, error);
  if (code != TABELLA_OK) return code;
  told = out->source;
  if (zoo_tells(told, "logs-from-a-thread")) start(tell_log_for_ever, NULL);
  if (zoo_tells(told, "uses-its-own-source")) start(use_the_source, NULL);
  if (zoo_tells(told, "asks-the-host-nonsense") && zoo_host != NULL && zoo_host->ability != NULL) {
    zoo_host->ability(zoo_host->host, (tabella_string){NULL, 77});
    zoo_host->ability(zoo_host->host, (tabella_string){"tabella.everything/9", 20});
    zoo_host->ability((void *)0x1234567890, tabella_cstring(""));
  }
  if (zoo_tells(told, "tells-a-wild-listener")) {
    listener = (tabella_notify)(uintptr_t)0x1234567890;
    start(tell_for_ever, (void *)1000);
    usleep(100000);
  }
  return code;
}

static void release(void *self) {
  /* Continues to notify and to use its memory after the release. */
  zoo_release(self);
}

ANIMAL {
  zoo_more_abilities = more;
  zoo_table.release = release;
  entry->provider.open = open_and_start;
}
