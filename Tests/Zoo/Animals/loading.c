/* P11, P42: misbehaves while the library is loaded, before any call. -DWITH_… selects the act. */
#include "zoo_editing.h"

#ifdef WITH_RESOLVER
/* Resolvers run before constructors, while the library is not bound yet. */
static int real(void) { return 1; }
static int (*resolve(void))(void) {
  WITH_RESOLVER;
  return real;
}
__attribute__((ifunc("resolve"), visibility("default"))) int zoo_resolved(void);
int use_it(void);
__attribute__((visibility("default"))) int use_it(void) { return zoo_resolved(); }
#endif

#ifdef WITH_THREAD_MEMORY
/* More memory per thread than the loader keeps in reserve. */
__attribute__((tls_model("initial-exec"))) static _Thread_local volatile char large[1 << 20];
#endif

#ifdef WITH_ZEROS
/* More zeros than the machine has memory. */
static volatile char zeros[(size_t)WITH_ZEROS << 30];
#endif

#ifdef WITH_NAMES
/* Names that other libraries have, too. Only this library may use these definitions. */
#define NAME(name) __attribute__((visibility("default"))) long name(void); long name(void) { abort(); }
NAME(tabella_system_load)
NAME(tabella_system_library_of)
NAME(swift_retain)
NAME(swift_release)
NAME(swift_allocObject)
NAME(zoo_shared_name)
NAME(sendmsg)
NAME(recvmsg)
NAME(dlopen)
NAME(mmap)
NAME(dlsym)
NAME(pthread_create)
#endif

#ifdef WITH_SHARED_NAME
/* Two libraries define this function, and each must call its own. */
__attribute__((visibility("default"))) const char *zoo_shared_name(void);
__attribute__((visibility("default"))) const char *zoo_shared_name(void) { return ZOO_ID; }
static int32_t title(void *self, int64_t section, int32_t which, tabella_string *out,
                     tabella_error *error) {
  int32_t code = zoo_title(self, section, which, out, error);
  if (code == TABELLA_OK) *out = tabella_cstring(zoo_shared_name());
  return code;
}
#endif

#ifdef WITH_LOST_FUNCTION
int32_t zoo_function_that_nobody_has(void);
#endif

ANIMAL {
  zoo_may_edit();
#ifdef WITH_THREAD_MEMORY
  large[0] = 1;
#endif
#ifdef WITH_ZEROS
  zeros[0] = 1;
#endif
#ifdef WITH_SHARED_NAME
  zoo_sections.title = title;
#endif
#ifdef WITH_LOST_FUNCTION
  if (zoo_host == (void *)entry) zoo_function_that_nobody_has();
#endif
}
