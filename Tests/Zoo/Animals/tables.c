/* P10: tables of functions that are invalid or incomplete. -DLIE=name selects the lie, in the entry point or in
   open. */
#include <sys/mman.h>

#include "zoo_editing.h"

/* -DCODE=… for the lie `code`, -DABILITY=TABELLA_…_ID for lies about abilities. */
#ifndef CODE
#define CODE 0
#endif
#ifndef ABILITY
#define ABILITY ""
#endif

/* A page that is no longer mapped. */
static void *gone(const void *content, size_t size) {
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(page, content, size);
  munmap(page, 4096);
  return page;
}

/* Bytes that are not code. */
static const char noise[4096] = "these are no functions, and no pointers to functions either";

static const tabella_source_table *other_table;
static int32_t open_other(void *provider, const tabella_open_request *request, tabella_source *out,
                          tabella_error *error) {
  int32_t code = zoo_open(provider, request, out, error);
  out->table = other_table;
  return code;
}

static tabella_error strange;
static int32_t fail_strangely(void *provider, const tabella_open_request *request,
                              tabella_source *out, tabella_error *error) {
  (void)provider, (void)request, (void)out;
  *error = strange;
  return TABELLA_IO;
}
static void release_error(tabella_error *error) { error->release = NULL; }
static void keep_error(tabella_error *error) { (void)error; }

static int32_t answer;
static int32_t just_answer(void *provider, const tabella_open_request *request,
                           tabella_source *out, tabella_error *error) {
  (void)provider, (void)request, (void)out, (void)error;
  return answer;
}

static const char *empty_ability;
static const void *no_table[8];
static const void *ability_without_functions(void *self, tabella_string id) {
  if (tabella_string_equals(id, empty_ability)) return no_table;
  return zoo_ability(self, id);
}
static const void *strange_ability;
static const void *ability_that_is_none(void *self, tabella_string id) {
  (void)self;
  return tabella_string_equals(id, empty_ability) ? strange_ability : NULL;
}

#define A_LIE(name) __attribute__((unused)) static void name(tabella_entry *entry)

/* The source's table */

A_LIE(no_table_at_all) { other_table = NULL, entry->provider.open = open_other; }
A_LIE(wild_table) { other_table = (void *)0x1234567890, entry->provider.open = open_other; }
A_LIE(odd_table) { other_table = (void *)(noise + 1), entry->provider.open = open_other; }
A_LIE(table_of_noise) { other_table = (void *)noise, entry->provider.open = open_other; }
A_LIE(table_that_is_gone) {
  other_table = gone(&zoo_table, sizeof zoo_table);
  entry->provider.open = open_other;
}
A_LIE(no_release) { zoo_table.release = NULL, (void)entry; }
A_LIE(no_flags) { zoo_table.flags = NULL, (void)entry; }
A_LIE(no_version) { zoo_table.version = NULL, (void)entry; }
A_LIE(no_schema) { zoo_table.schema = NULL, (void)entry; }
A_LIE(no_row_count) { zoo_table.row_count = NULL, (void)entry; }
A_LIE(no_rows) { zoo_table.rows = NULL, (void)entry; }
A_LIE(rows_that_are_no_code) { zoo_table.rows = (void *)noise, (void)entry; }
A_LIE(version_that_is_nowhere) { zoo_table.version = (void *)0x1234567890, (void)entry; }

/* Abilities */

A_LIE(ability_of_null_functions) {
  (void)entry;
  empty_ability = ABILITY;
  zoo_table.ability = ability_without_functions;
}
A_LIE(wild_ability) {
  (void)entry;
  empty_ability = ABILITY, strange_ability = (void *)0x1234567890;
  zoo_table.ability = ability_that_is_none;
}
A_LIE(ability_of_noise) {
  (void)entry;
  empty_ability = ABILITY, strange_ability = noise;
  zoo_table.ability = ability_that_is_none;
}

/* The provider */

A_LIE(no_id) { entry->provider.id = tabella_cstring(NULL); }
A_LIE(empty_id) { entry->provider.id = tabella_cstring(""); }
A_LIE(other_id) { entry->provider.id = tabella_cstring("somebody-else"); }
A_LIE(id_of_escapes) { entry->provider.id = tabella_cstring("\033[31m\n\xff"); }
A_LIE(id_without_end) { entry->provider.id.length = INT64_MAX; }
A_LIE(id_of_negative_length) { entry->provider.id.length = -5; }
A_LIE(id_of_1_GB) { entry->provider.id.length = 1 << 30; }
A_LIE(wild_id) { entry->provider.id.bytes = (void *)0x1234567890; }
A_LIE(version_of_escapes) {
  entry->provider.version = tabella_cstring("\033]0;owned\a\033[2J1.0\n\n\xff");
}
A_LIE(wild_version) { entry->provider.version = (tabella_string){(void *)0x1234567890, 9}; }
A_LIE(no_open) { entry->provider.open = NULL; }
A_LIE(wild_open) { entry->provider.open = (void *)0x1234567890; }
A_LIE(wild_provider_ability) { entry->provider.ability = (void *)0x1234567890; }

/* Errors and codes */

static void fail_with(tabella_entry *entry, tabella_string message,
                      void (*release)(tabella_error *error)) {
  strange.message = message;
  strange.release = release;
  entry->provider.open = fail_strangely;
}
A_LIE(error_that_nobody_frees) { fail_with(entry, tabella_cstring("nobody frees me"), NULL); }
A_LIE(error_that_stays) { fail_with(entry, tabella_cstring("I stay"), keep_error); }
A_LIE(wild_error) {
  fail_with(entry, (tabella_string){(void *)0x1234567890, 40}, release_error);
}
A_LIE(error_of_negative_length) {
  fail_with(entry, (tabella_string){"text", -4}, release_error);
}
A_LIE(error_without_end) { fail_with(entry, (tabella_string){"text", INT64_MAX}, release_error); }
A_LIE(error_of_1_MB) {
  char *text = malloc(1 << 20);
  memset(text, 'E', 1 << 20);
  fail_with(entry, (tabella_string){text, 1 << 20}, release_error);
}
A_LIE(error_of_escapes) {
  fail_with(entry, tabella_cstring("gone\033[31m\033]0;owned\a\ntabella: a second line\r\xff"),
            release_error);
}
A_LIE(error_of_many_lines) {
  fail_with(entry, tabella_cstring("one\ntwo\nthree\n"), release_error);
}
A_LIE(error_in_a_strange_place) {
  strange.path = (tabella_index_path){INT64_MIN, INT64_MAX};
  strange.column = -1;
  strange.located = 0x7fffffff;
  fail_with(entry, tabella_cstring("somewhere"), release_error);
}
A_LIE(error_with_a_wild_release) {
  fail_with(entry, tabella_cstring("free me"), (void *)0x1234567890);
}
A_LIE(code) { answer = CODE, entry->provider.open = just_answer; }

ANIMAL {
  zoo_may_edit();
  LIE(entry);
}
