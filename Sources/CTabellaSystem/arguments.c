/* The arguments of the program. Linux's C libraries pass them to every constructor, as they do to main. */
#include "tabella_system.h"

static char *const none[] = {NULL};
static char *const *arguments = none;

__attribute__((constructor)) static void keep_arguments(int count, char **list) {
    if (count > 0) arguments = list;
}

char *const *tabella_system_arguments(void) { return arguments; }
