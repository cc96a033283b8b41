/* A part of the installed Swift runtime. Sources/Packaging/link links it into libswiftCore.

   At each start, the runtime looks for the program swift-backtrace, which prints the stack after a
   crash. It first asks the loader for its own path (dladdr). The loader then compares all symbols of
   the runtime, which takes 3 % of a start. An installation contains no such program, so the search is
   only necessary if SWIFT_ROOT names a toolchain. */
#include <stdlib.h>

char *__real_swift_copyAuxiliaryExecutablePath(const char *name);

__attribute__((visibility("hidden")))
char *__wrap_swift_copyAuxiliaryExecutablePath(const char *name) {
    return getenv("SWIFT_ROOT") ? __real_swift_copyAuxiliaryExecutablePath(name) : NULL;
}
