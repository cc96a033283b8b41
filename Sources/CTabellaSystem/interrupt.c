/* Cleans up the terminal when a signal ends the program. The progress line is cleared, and the pager
 * does not compete with the shell for the keyboard. This is C, because a handler can run at any
 * instruction, even inside the Swift runtime. */
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "screen.h"
#include "tabella_system.h"

static volatile sig_atomic_t has_line;
static volatile sig_atomic_t pager;
static volatile sig_atomic_t pager_input = -1;

static void end_by(int number) {
    tabella_screen_restore();
    if (has_line) {
        ssize_t ignored = write(2, "\r\033[K", 4);
        (void)ignored;
    }
    if (pager > 0) {
        /* As in git, the pager sees the end of its input, and keeps the terminal until the user quits
         * it. Further keys that interrupt are for the pager, too. */
        struct sigaction action = {.sa_handler = SIG_IGN};
        if (number == SIGINT || number == SIGQUIT) sigaction(number, &action, NULL);
        if (pager_input >= 0) close((int)pager_input);
        while (waitpid((pid_t)pager, NULL, 0) < 0 && errno == EINTR) {
        }
        action.sa_handler = SIG_DFL;
        sigaction(number, &action, NULL);
    }
    /* The handler was reset when it was called. The signal now ends the program. */
    raise(number);
}

/* Handles the signals that end a program, except those that it was started to ignore (nohup). SIGQUIT
 * is included, because the Swift runtime would treat it as a crash, report it, and let the program
 * continue. */
static void handle(void (*handler)(int), int flags) {
    const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU};
    for (size_t index = 0; index < sizeof numbers / sizeof *numbers; index++) {
        struct sigaction now;
        if (sigaction(numbers[index], NULL, &now) == 0 && now.sa_handler == SIG_IGN) continue;
        struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
        sigaction(numbers[index], &action, NULL);
    }
}

void tabella_system_end_cleanly(void) { handle(end_by, (int)SA_RESETHAND | SA_NODEFER); }

/* A handler rather than SIG_IGN, because child programs would inherit SIG_IGN. */
static void go_on(int number) { (void)number; }

static void go_on_at(int number) {
    struct sigaction action = {.sa_handler = go_on, .sa_flags = SA_RESTART};
    sigaction(number, &action, NULL);
}

void tabella_system_survive_file_limit(void) {
    struct sigaction now;
    bool is_default = sigaction(SIGXFSZ, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO)
        && now.sa_handler == SIG_DFL;
    if (is_default) go_on_at(SIGXFSZ);
}

static bool ends_by_broken_pipe;

void tabella_system_survive_broken_pipe(void) {
    struct sigaction now;
    ends_by_broken_pipe = sigaction(SIGPIPE, NULL, &now) != 0 || now.sa_handler != SIG_IGN;
    go_on_at(SIGPIPE);
}

void tabella_system_end_by_broken_pipe(void) {
    if (!ends_by_broken_pipe) return;
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigaction(SIGPIPE, &action, NULL);
    raise(SIGPIPE);
}

void tabella_system_has_progress_line(bool there_is) { has_line = there_is; }

void tabella_system_has_pager(int process, int input) {
    pager_input = input;
    pager = process;
}

/* During an edit whose result must be reported, a signal only requests a stop. A separate thread stops
 * the edit, because a handler may call only few functions. The thread and its pipe exist until the
 * program ends. */
static struct {
    int pipe[2];
    void (*stop)(void *);
    void *context;
} hold;
static volatile sig_atomic_t holds;
static volatile sig_atomic_t held;

static void hold_back(int number) {
    if (held != 0) {
        /* The second signal ends the program at once, even if something is lost. */
        tabella_system_end_cleanly();
        raise(number);
        return;
    }
    held = number;
    int error = errno;
    ssize_t ignored = write(hold.pipe[1], "", 1);
    (void)ignored;
    errno = error;
}

static void *wait_for_signal(void *ignored) {
    struct pollfd end = {.fd = hold.pipe[0], .events = POLLIN};
    int got;
    do got = poll(&end, 1, -1);
    while (got < 0 && errno == EINTR);
    if (got > 0 && hold.stop != NULL) hold.stop(hold.context);
    return ignored;
}

void tabella_system_hold_signals(void (*stop)(void *), void *context) {
    if (holds || pipe2(hold.pipe, O_CLOEXEC) != 0) return;
    hold.stop = stop;
    hold.context = context;
    holds = true;
    pthread_t waiter;
    /* Without the thread, a signal still waits, but stops nothing. */
    if (pthread_create(&waiter, NULL, wait_for_signal, NULL) == 0) pthread_detach(waiter);
    handle(hold_back, SA_RESTART);
}

void tabella_system_release_signals(void) {
    if (!holds) return;
    tabella_system_end_cleanly();
    if (held != 0) raise((int)held);
}
