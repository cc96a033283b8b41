/* P24 to P27: malformed or extreme texts, names, numbers and ids. The location selects the case. */
#include <limits.h>
#include <math.h>

#include "zoo.h"

static const char escapes[] =
    "\033[31mred\033[0m \033]0;title\a \033]52;c;cm0gLXJm\a \033[2J\033[1;1H \x9b" "1m \xc2\x9b" "1m "
    "\b\b\b\x7f \r\n\t\v\f \xe2\x80\xae" "bidi\xe2\x80\xac \xe2\x80\xa8 \xef\xbb\xbf \x0e\x0f";
static const char broken[] = "\xff\xfe \xc0\x80 \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x82 \x80";

/* Memory that is never freed. */
static char *much(char fill, size_t size) {
  char *bytes = malloc(size + 1);
  memset(bytes, fill, size);
  bytes[size] = 0;
  return bytes;
}

/* Columns */

static void (*schema_children_release)(struct ArrowSchema *schema);
static void release_nothing(struct ArrowSchema *schema) { schema->release = NULL; }

static void name_column(struct ArrowSchema *out, int64_t column, const char *name) {
  free((void *)(uintptr_t)out->children[column]->name);
  out->children[column]->name = strdup(name);
}

/* Metadata with one pair, whose lengths are as given. */
static void give_metadata(struct ArrowSchema *out, int32_t pairs, int32_t key, int32_t value) {
  char *bytes = calloc(1, 64);
  memcpy(bytes, &pairs, 4);
  memcpy(bytes + 4, &key, 4);
  memcpy(bytes + 8, "tabella.type", 12);
  memcpy(bytes + 20, &value, 4);
  free((void *)(uintptr_t)out->children[0]->metadata);
  out->children[0]->metadata = bytes;
}

static int32_t schema(void *self, struct ArrowSchema *out, tabella_error *error) {
  static const struct { const char *lie, *name; } names[] = {
      {"same-names", "number"}, {"empty-name", ""},   {"name-of-escapes", escapes},
      {"broken-name", broken},  {"name-of-spaces", "   "}, {"name-of-lines", "a\nb\nc"},
  };
  size_t i;
  int32_t code = zoo_schema(self, out, error);
  (void)schema_children_release;
  for (i = 0; i < sizeof names / sizeof *names; i++)
    if (zoo_tells(self, names[i].lie)) name_column(out, 0, names[i].name);
  if (zoo_tells(self, "name-of-1-MB")) name_column(out, 0, much('N', 1 << 20));
  if (zoo_tells(self, "no-name")) out->children[0]->name = NULL;
  if (zoo_tells(self, "wild-name")) out->children[0]->name = (void *)0x1234567890;
  if (zoo_tells(self, "no-format")) out->children[0]->format = NULL;
  if (zoo_tells(self, "wild-format")) out->children[0]->format = (void *)0x1234567890;
  if (zoo_tells(self, "list-format")) out->children[0]->format = "+l";
  if (zoo_tells(self, "endless-format")) out->children[0]->format = much('l', 1 << 20);
  if (zoo_tells(self, "no-struct")) out->format = "l";
  if (zoo_tells(self, "billion-columns")) out->n_children = 1000000000;
  if (zoo_tells(self, "negative-columns")) out->n_children = -3;
  if (zoo_tells(self, "no-columns")) out->n_children = 0;
  if (zoo_tells(self, "no-children")) out->children = NULL;
  if (zoo_tells(self, "null-child")) out->children[1] = NULL;
  if (zoo_tells(self, "wild-child")) out->children[1] = (void *)0x1234567890;
  if (zoo_tells(self, "its-own-child")) out->children[1] = out, out->release = release_nothing;
  if (zoo_tells(self, "metadata-of-many-pairs")) give_metadata(out, INT_MAX, 12, 4);
  if (zoo_tells(self, "metadata-of-negative-pairs")) give_metadata(out, -1, 12, 4);
  if (zoo_tells(self, "metadata-of-long-keys")) give_metadata(out, 1, INT_MAX, 4);
  if (zoo_tells(self, "metadata-of-long-values")) give_metadata(out, 1, 12, INT_MAX);
  if (zoo_tells(self, "metadata-of-negative-keys")) give_metadata(out, 1, INT_MIN, 4);
  if (zoo_tells(self, "wild-metadata")) out->children[0]->metadata = (void *)0x1234567890;
  if (zoo_tells(self, "released-schema")) {
    out->release(out);
    return TABELLA_OK;
  }
  if (zoo_tells(self, "many-columns")) {
    /* 100,000 columns, which are allowed. */
    static tabella_column columns[100000];
    for (i = 0; i < 100000; i++) columns[i] = zoo_columns[0];
    out->release(out);
    return tabella_schema_make(columns, 100000, out, error);
  }
  return code;
}

/* Titles, versions, ids */

static int32_t title(void *self, int64_t section, int32_t which, tabella_string *out,
                     tabella_error *error) {
  int32_t code = zoo_title(self, section, which, out, error);
  if (code != TABELLA_OK) return code;
  if (zoo_tells(self, "title-of-escapes")) *out = tabella_cstring(escapes);
  if (zoo_tells(self, "broken-title")) *out = tabella_cstring(broken);
  if (zoo_tells(self, "title-of-1-MB")) *out = tabella_cstring(much('T', 1 << 20));
  if (zoo_tells(self, "title-with-a-nul")) *out = (tabella_string){"De\0n", 4};
  if (zoo_tells(self, "title-of-4-GB")) *out = (tabella_string){"Den", (int64_t)1 << 32};
  if (zoo_tells(self, "negative-title")) *out = (tabella_string){"Den", -1};
  if (zoo_tells(self, "wild-title")) *out = (tabella_string){(void *)0x1234567890, 3};
  if (zoo_tells(self, "freed-title")) {
    char *gone = much('T', 100);
    *out = (tabella_string){gone, 100};
    free(gone);
  }
  return code;
}

static int32_t version(void *self, tabella_string *out, tabella_error *error) {
  int32_t code = zoo_version(self, out, error);
  if (zoo_tells(self, "version-of-escapes")) *out = tabella_cstring(escapes);
  if (zoo_tells(self, "version-of-1-MB")) *out = tabella_cstring(much('V', 1 << 20));
  if (zoo_tells(self, "wild-version")) *out = (tabella_string){(void *)0x1234567890, 3};
  return code;
}

static int32_t section_count(void *self, int64_t at_least, tabella_count *out,
                             tabella_error *error) {
  int32_t code = zoo_section_count(self, at_least, out, error);
  if (zoo_tells(self, "many-sections")) out->value = 99999999;
  if (zoo_tells(self, "negative-sections")) out->value = INT64_MIN;
  if (zoo_tells(self, "no-sections")) out->value = 0;
  return code;
}

/* Cells */

enum { many = 64 };

static void put(tabella_batch_builder *batch, int64_t column, const char *text, size_t length) {
  tabella_batch_text(batch, column, text, length);
}

static int32_t rows(void *self, const tabella_row_request *request, tabella_batch *out,
                    tabella_error *error) {
  tabella_batch_builder *batch;
  int64_t i;
  int32_t code;
  if (zoo_tells(self, "many-columns")) {
    tabella_column *text = calloc(100000, sizeof *text);
    for (i = 0; i < 100000; i++) text[i] = zoo_columns[0];
    batch = tabella_batch_for(request, text);
    free(text);
    for (i = 0; i < request->column_count; i++) put(batch, i, "x", 1);
    return tabella_batch_finish_rows(batch, 1, out, error);
  }
  if (request->section != 0 || request->first != 0 || zoo_tells(self, "failing-rows") ||
      request->column_count == 0 || request->columns[0] >= ZOO_COLUMNS) {
    if (zoo_tells(self, "failing-rows"))
      return tabella_fail(error, TABELLA_IO, "%s", escapes);
    return zoo_rows(self, request, out, error);
  }
  batch = tabella_batch_for(request, zoo_columns);
  for (i = 0; i < request->column_count; i++) {
    if (request->columns[i] == 1) {
      tabella_batch_integer(batch, i, zoo_tells(self, "odd-numbers") ? INT64_MIN : 1);
    } else if (request->columns[i] == 2) {
      tabella_batch_real(batch, i, zoo_tells(self, "odd-numbers") ? (double)NAN : 0.5);
    } else if (zoo_tells(self, "cell-of-escapes")) {
      put(batch, i, escapes, sizeof escapes - 1);
    } else if (zoo_tells(self, "broken-cell")) {
      put(batch, i, broken, sizeof broken - 1);
    } else if (zoo_tells(self, "cell-with-nuls")) {
      put(batch, i, "a\0b\0c", 5);
    } else if (zoo_tells(self, "cell-of-300-MB")) {
      char *text = much('C', (size_t)300 << 20);
      put(batch, i, text, (size_t)300 << 20);
      free(text);
    } else if (zoo_tells(self, "cell-of-2-GB")) {
      char *text = much('C', (size_t)INT32_MAX);
      put(batch, i, text, (size_t)INT32_MAX);
      free(text);
    } else {
      put(batch, i, "word", 4);
    }
  }
  if (request->flags & TABELLA_ROWS_IDS) {
    char *id = much('i', zoo_tells(self, "id-of-1-MB") ? 1 << 20 : 5);
    tabella_batch_id(batch, zoo_tells(self, "id-of-escapes") ? "\033[31m" : id);
    free(id);
  }
  code = tabella_batch_finish_rows(batch, 1, out, error);
  return code;
}

/* Supplementary elements */

static int32_t element(void *self, tabella_string kind, tabella_index_path path,
                       tabella_element *out, tabella_error *error) {
  static const tabella_text_span wild[2] = {{INT64_MIN, INT64_MAX, 1, 0}, {3, -9, 2, 0}};
  int32_t code = zoo_element(self, kind, path, out, error);
  if (out->form == TABELLA_ELEMENT_NONE) return code;
  if (zoo_tells(self, "badge-of-escapes")) out->text = tabella_cstring(escapes);
  if (zoo_tells(self, "badge-of-1-MB")) out->text = tabella_cstring(much('B', 1 << 20));
  if (zoo_tells(self, "wild-badge")) out->text = (tabella_string){(void *)0x1234567890, 5};
  if (zoo_tells(self, "wild-spans")) out->spans = wild, out->span_count = 2;
  if (zoo_tells(self, "billion-spans")) out->spans = wild, out->span_count = 1000000000;
  if (zoo_tells(self, "spans-nowhere")) out->span_count = 5;
  if (zoo_tells(self, "table-in-table")) {
    /* A table whose first row has a table whose first row … */
    tabella_open_request request = {.location = tabella_cstring("table-in-table")};
    out->form = TABELLA_ELEMENT_TABLE;
    out->text = tabella_cstring(NULL);
    return zoo_open(NULL, &request, &out->table, error);
  }
  if (zoo_tells(self, "wild-table")) {
    out->form = TABELLA_ELEMENT_TABLE;
    out->table.table = (void *)0x1234567890;
    out->table.source = self;
  }
  return code;
}

static int32_t kinds(void *self, const tabella_string **out, int64_t *count,
                     tabella_error *error) {
  int32_t code = zoo_kind_list(self, out, count, error);
  if (zoo_tells(self, "billion-kinds")) *count = 1000000000;
  if (zoo_tells(self, "negative-kinds")) *count = -1;
  if (zoo_tells(self, "no-kinds-but-some")) *out = NULL;
  return code;
}

static int32_t next_diagnostic(void *self, tabella_diagnostic *out) {
  static int count;
  if (zoo_tells(self, "remark-of-escapes") && count++ < 3)
    return out->severity = TABELLA_SEVERITY_WARNING, out->message = tabella_cstring(escapes), 1;
  if (zoo_tells(self, "remark-of-1-MB") && count++ < 3)
    return out->severity = 77, out->message = tabella_cstring(much('R', 1 << 20)), 1;
  if (zoo_tells(self, "remarks-without-end"))
    return out->severity = TABELLA_SEVERITY_WARNING, out->message = tabella_cstring("again"), 1;
  if (zoo_tells(self, "wild-remark"))
    return out->message = (tabella_string){(void *)0x1234567890, 9}, 1;
  return 0;
}

static int32_t find(void *self, tabella_string id, tabella_index_path *out,
                    tabella_error *error) {
  int32_t code = zoo_find(self, id, out, error);
  if (zoo_tells(self, "found-nowhere")) out->section = INT64_MAX, out->row = INT64_MIN;
  return code;
}

/* The titles of the section index. */
static int32_t index_titles(void *self, const tabella_string **out, int64_t *count,
                            tabella_error *error) {
  static tabella_string titles[2] = {{escapes, sizeof escapes - 1}, {NULL, 5}};
  (void)error;
  *out = titles;
  *count = zoo_tells(self, "billion-titles") ? 1000000000 : 1;
  return TABELLA_OK;
}
static int32_t index_path(void *self, int64_t number, tabella_index_path *out,
                          tabella_error *error) {
  (void)self, (void)number, (void)error;
  out->section = INT64_MIN;
  return TABELLA_OK;
}
static tabella_section_index section_index = {index_titles, index_path};

/* The locations that rows lead to. */
static int32_t location(void *self, tabella_index_path path, tabella_string *out,
                        tabella_error *error) {
  (void)path, (void)error;
  if (zoo_tells(self, "leads-to-escapes")) *out = tabella_cstring(escapes);
  if (zoo_tells(self, "leads-nowhere")) *out = (tabella_string){(void *)0x1234567890, 9};
  if (zoo_tells(self, "leads-to-a-nul")) *out = (tabella_string){"/etc\0x", 6};
  return TABELLA_OK;
}
static tabella_accessories accessories = {location};

static const void *more(void *self, tabella_string id) {
  (void)self;
  if (tabella_string_equals(id, TABELLA_ACCESSORIES_ID) && strncmp(((zoo_source *)self)->lie, "leads", 5) == 0)
    return &accessories;
  if (tabella_string_equals(id, TABELLA_SECTION_INDEX_ID) && zoo_tells(self, "billion-titles"))
    return &section_index;
  return NULL;
}

ANIMAL {
  zoo_table.schema = schema;
  zoo_table.version = version;
  zoo_table.rows = rows;
  zoo_sections.title = title;
  zoo_sections.count = section_count;
  zoo_supplementary.element = element;
  zoo_supplementary.kinds = kinds;
  zoo_diagnostics.next = next_diagnostic;
  zoo_identity.find = find;
  zoo_more_abilities = more;
}
