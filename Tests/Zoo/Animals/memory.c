/* P35: misuses memory, of the caller or of its own results. The location selects the deed. */
#include <pthread.h>
#include <sys/mman.h>

#include "zoo_editing.h"

static void *kept; /* Memory of the caller, kept after the call. */
static size_t kept_size;

static void *scribble(void *unused) {
  for (;;) {
    size_t i;
    for (i = 0; i < kept_size; i++) ((volatile uint8_t *)kept)[i] ^= 0x5A;
  }
  return unused;
}
static void start(void *memory, size_t size) {
  pthread_t thread;
  if (kept != NULL) return;
  kept = memory;
  kept_size = size;
  pthread_create(&thread, NULL, scribble, NULL);
}

static void *no_memory(int protection) {
  return mmap(NULL, 1 << 20, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Finds the memory shared with the host by its name. */
static void *arena(size_t *size) {
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[512], permissions[8];
  unsigned long from, to;
  void *found = NULL;
  if (maps == NULL) return NULL;
  while (fgets(line, sizeof line, maps) != NULL)
    if (strstr(line, "memfd:") != NULL && sscanf(line, "%lx-%lx %7s", &from, &to, permissions) == 3 &&
        permissions[1] == 'w' && permissions[3] == 's')
      found = (void *)from, *size = to - from;
  fclose(maps);
  return found;
}

static void release_again(struct ArrowArray *array) {
  struct ArrowArray copy = *array;
  tabella_array_release_(array);
  tabella_array_release_(&copy);
}
static void release_nothing(struct ArrowArray *array) { array->release = NULL; }

/* Moves the buffers of the first requested column elsewhere. */
static void move_buffers(const void *self, tabella_batch *out) {
  struct ArrowArray *child = out->array.children[0];
  size_t size = 0;
  if (zoo_tells(self, "freed-buffers")) free((void *)(uintptr_t)child->buffers[2]);
  if (zoo_tells(self, "freed-child")) free(child), out->array.release = release_nothing;
  if (zoo_tells(self, "wild-buffers")) {
    child->buffers[1] = (void *)0x1234567000;
    out->array.release = release_nothing;
  }
  if (zoo_tells(self, "forbidden-buffers")) {
    child->buffers[2] = no_memory(PROT_NONE);
    out->array.release = release_nothing;
  }
  if (zoo_tells(self, "short-buffers")) {
    /* A mapped page, at whose end only half of the bytes fit. */
    char *page = no_memory(PROT_READ | PROT_WRITE);
    munmap(page + 4096, (1 << 20) - 4096);
    child->buffers[1] = page + 4096 - 16;
    out->array.release = release_nothing;
  }
  if (zoo_tells(self, "flickering-offsets")) start((void *)(uintptr_t)child->buffers[1], 64);
  if (zoo_tells(self, "flickering-batch")) start(out, sizeof *out);
  if (zoo_tells(self, "flickering-child")) start(child, sizeof *child);
  if (zoo_tells(self, "buffers-in-the-arena")) {
    void *shared = arena(&size);
    if (shared != NULL && size > 8192) {
      child->buffers[2] = (char *)shared + 64;
      out->array.release = release_nothing;
    }
  }
  if (zoo_tells(self, "released-twice")) out->array.release = release_again;
  if (zoo_tells(self, "null-children")) out->array.children = NULL;
  if (zoo_tells(self, "null-buffers")) child->buffers = NULL;
  if (zoo_tells(self, "its-own-child")) {
    out->array.children[0] = &out->array;
    out->array.release = release_nothing;
  }
  if (zoo_tells(self, "wild-batch-release")) out->array.release = (void *)0x1234567890;
  if (zoo_tells(self, "billion-buffers")) child->n_buffers = 1000000000;
  if (zoo_tells(self, "billion-children")) out->array.n_children = 1000000000;
  if (zoo_tells(self, "endless-length")) out->array.length = child->length = INT64_MAX;
  if (zoo_tells(self, "endless-offset")) child->offset = INT64_MAX;
  if (zoo_tells(self, "dictionary")) child->dictionary = child;
}

static int32_t rows(void *self, const tabella_row_request *request, tabella_batch *out,
                    tabella_error *error) {
  int32_t code = zoo_rows(self, request, out, error);
  size_t size = 0;
  if (zoo_tells(self, "frees-the-columns")) free((void *)(uintptr_t)request->columns);
  if (zoo_tells(self, "writes-the-request"))
    memset((void *)(uintptr_t)request, 0x5A, sizeof *request);
  if (zoo_tells(self, "writes-beyond-the-error")) memset(error, 0x5A, sizeof *error + 4096);
  if (zoo_tells(self, "keeps-the-request"))
    start((void *)(uintptr_t)request, sizeof *request);
  if (zoo_tells(self, "keeps-the-error")) start(error, sizeof *error);
  if (zoo_tells(self, "unmaps-the-arena")) {
    void *shared = arena(&size);
    if (shared != NULL) munmap(shared, size);
  }
  if (zoo_tells(self, "protects-the-arena")) {
    void *shared = arena(&size);
    if (shared != NULL) mprotect(shared, size, PROT_NONE);
  }
  if (zoo_tells(self, "scribbles-in-the-arena")) {
    void *shared = arena(&size);
    if (shared != NULL) start(shared, size < 65536 ? size : 65536);
  }
  if (code == TABELLA_OK && out->array.length > 0 && request->column_count > 0)
    move_buffers(self, out);
  return code;
}

static void release(void *self) {
  if (zoo_tells(self, "released-and-used")) {
    free(((zoo_source *)self)->data);
    zoo_release(self);
    return;
  }
  zoo_release(self);
}

static int32_t open_and_free(void *provider, const tabella_open_request *request,
                             tabella_source *out, tabella_error *error) {
  int32_t code = zoo_open(provider, request, out, error);
  if (code == TABELLA_OK && zoo_tells(out->source, "frees-the-location"))
    free((void *)(uintptr_t)request->location.bytes);
  if (code == TABELLA_OK && zoo_tells(out->source, "writes-beyond-the-source"))
    memset(out + 1, 0x5A, 1 << 16);
  return code;
}

ANIMAL {
  zoo_may_edit();
  zoo_table.rows = rows;
  zoo_table.release = release;
  entry->provider.open = open_and_free;
}
