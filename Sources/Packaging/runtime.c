/* A part of the installed Swift runtime. Sources/Packaging/link links it into libswiftCore and into
   the program. It spares each start two searches of the runtime. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The runtime looks for the program swift-backtrace, which prints the stack after a crash. It first
   asks the loader for its own path (dladdr). The loader then compares all symbols of the runtime,
   which takes 3 % of a start. An installation contains no such program, so the search is only
   necessary if SWIFT_ROOT names a toolchain. */

char *__real_swift_copyAuxiliaryExecutablePath(const char *name);

__attribute__((visibility("hidden")))
char *__wrap_swift_copyAuxiliaryExecutablePath(const char *name) {
    return getenv("SWIFT_ROOT") ? __real_swift_copyAuxiliaryExecutablePath(name) : NULL;
}

/* The runtime looks for the arguments of the program on the stack. It finds the stack in the list of
   all mappings, which takes 2 % of a start. But glibc passes the arguments to constructors. Without
   the list, the runtime uses those that it is given here (CommandLine.cpp in the sources of Swift). */
FILE *__real_fopen(const char *path, const char *mode);

__attribute__((visibility("hidden")))
FILE *__wrap_fopen(const char *path, const char *mode) {
    return strcmp(path, "/proc/self/maps") == 0 ? NULL : __real_fopen(path, mode);
}

__attribute__((swiftcall)) void _swift_stdlib_overrideUnsafeArgvArgc(char **argv, int argc);

__attribute__((constructor)) static void use_arguments(int argc, char **argv) {
    _swift_stdlib_overrideUnsafeArgvArgc(argv, argc);
}
