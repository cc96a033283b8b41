/* Reads random INI files with ini.c and writes them. A batch without edits must write the same bytes. A set must be
 * refused or read back. Prints the numbers of sets and of refusals. */
#include "../../../../Examples/provider-c/ini.c"

static uint64_t state = 88172645463325252u;

static size_t draw(size_t count) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (size_t)(state % count);
}

static size_t draw_text(char *text, size_t most) {
  static const char bytes[] = " \t\n\n\n\r=[];#\\ab=k";
  size_t size = draw(most), i;
  for (i = 0; i < size; i++) text[i] = bytes[draw(sizeof bytes - 1)];
  return size;
}

/* Plans a batch and writes the file after it. */
static void write_file(tabella_document_source_ *source, const tabella_edit_batch *batch, tabella_plan *plan,
                       tabella_buffer *out) {
  tabella_error error;
  memset(&error, 0, sizeof error);
  if (tabella_plan_make(plan, source, tabella_document_table_(), columns, 3, 0, batch, &error) != TABELLA_OK) exit(3);
  tabella_document_write_(source, plan, out);
}

/* Sets one cell of a row. Returns 1 if the new file is read as it should be. */
static int set_cell(tabella_document_source_ *source, int64_t row) {
  const tabella_document *document = &source->document;
  char text[8];
  tabella_buffer out = {NULL, 0, 0, 0};
  tabella_edit_batch batch;
  tabella_edit edit;
  tabella_cell cell;
  tabella_document now;
  tabella_error error;
  tabella_plan plan;
  int is_read;
  memset(&batch, 0, sizeof batch);
  memset(&edit, 0, sizeof edit);
  memset(&cell, 0, sizeof cell);
  memset(&error, 0, sizeof error);
  cell.column = (int64_t)draw(3);
  cell.value.type = TABELLA_TYPE_TEXT;
  cell.value.bytes.bytes = text;
  cell.value.bytes.length = (int64_t)draw_text(text, sizeof text);
  edit.kind = TABELLA_EDIT_SET;
  while (document->sections[edit.from.section].first + document->sections[edit.from.section].count <= row)
    edit.from.section++;
  edit.from.row = row - document->sections[edit.from.section].first;
  edit.cells = &cell;
  edit.cell_count = 1;
  batch.edits = &edit;
  batch.edit_count = 1;
  write_file(source, &batch, &plan, &out);
  tabella_buffer_ensure_(&out);
  if (tabella_document_read_(&format, out.bytes, out.size, &now, &error) != TABELLA_OK) exit(4);
  is_read = tabella_document_verify_(source, &now, &plan, &error) == TABELLA_OK;
  if (error.release != NULL) error.release(&error);
  tabella_document_free_(&now);
  tabella_plan_free(&plan);
  tabella_buffer_free(&out);
  return is_read;
}

int main(void) {
  int64_t file, sets = 0, refused = 0;
  for (file = 0; file < 50000; file++) {
    tabella_document_source_ source;
    tabella_edit_batch nothing;
    tabella_buffer out = {NULL, 0, 0, 0};
    tabella_error error;
    tabella_plan plan;
    char bytes[64];
    size_t size = draw_text(bytes, sizeof bytes);
    memset(&source, 0, sizeof source);
    memset(&nothing, 0, sizeof nothing);
    memset(&error, 0, sizeof error);
    source.format = &format;
    if (tabella_document_read_(&format, bytes, size, &source.document, &error) != TABELLA_OK) return 1;
    write_file(&source, &nothing, &plan, &out);
    if (out.size != size || (size > 0 && memcmp(out.bytes, bytes, size) != 0)) {
      printf("not written as read: %.*s\n", (int)size, bytes);
      return 2;
    }
    tabella_plan_free(&plan);
    tabella_buffer_free(&out);
    if (source.document.row_count > 0) {
      sets++;
      refused += !set_cell(&source, (int64_t)draw((size_t)source.document.row_count));
    }
    tabella_document_free_(&source.document);
  }
  printf("%lld %lld\n", (long long)sets, (long long)refused);
  return 0;
}
