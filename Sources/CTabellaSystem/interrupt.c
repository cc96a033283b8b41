/* What the terminal is left with when a signal ends the program: no half line of progress, and no
 * pager that fights with the shell for the keys. In C since a handler may run at any instruction,
 * also in the middle of the Swift runtime. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tabella_system.h"

static volatile sig_atomic_t has_line;
static volatile sig_atomic_t pager;
static volatile sig_atomic_t pager_input = -1;

static void end_by(int number) {
    if (has_line) {
        ssize_t ignored = write(2, "\r\033[K", 4);
        (void)ignored;
    }
    if (pager > 0) {
        /* As git does: the pager sees the end, and has the terminal until it is left. */
        close((int)pager_input);
        while (waitpid((pid_t)pager, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    /* The handler was reset when it was called: the signal now ends the program. */
    raise(number);
}

void tabella_system_end_cleanly(void) {
    const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t index = 0; index < sizeof numbers / sizeof *numbers; index++) {
        struct sigaction now;
        /* Who was started to ignore a signal (nohup) goes on ignoring it. */
        if (sigaction(numbers[index], NULL, &now) == 0 && now.sa_handler == SIG_IGN) continue;
        struct sigaction action = {.sa_handler = end_by, .sa_flags = (int)SA_RESETHAND | SA_NODEFER};
        sigaction(numbers[index], &action, NULL);
    }
}

void tabella_system_has_progress_line(bool there_is) { has_line = there_is; }

void tabella_system_has_pager(int process, int input) {
    pager_input = input;
    pager = process;
}
