/* The whole screen of a terminal, for a display that is redrawn in place. However the program ends or
 * stops, the terminal is restored. This is C, because a handler can run at any instruction, even inside
 * the Swift runtime. */
#define _GNU_SOURCE

#include "screen.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "tabella_system.h"

/* The alternate screen, without a cursor. Long lines do not wrap. */
static const char enter[] = "\033[?1049h\033[?25l\033[?7l";
/* The end of a frame that is half written, and the state before. */
static const char leave[] = "\033[?2026l\033[0m\033[?7h\033[?25h\033[?1049l";

static volatile sig_atomic_t is_on;
/* Whether the terminal shows the screen now. While the program is stopped, the terminal is the shell's. */
static volatile sig_atomic_t is_shown;
static int terminal = -1;
static int wake = -1;
/* Whether standard input is this terminal, so that keys are read without echo. */
static bool has_keys;
static struct termios before;

static void put(const char *text) {
    ssize_t ignored = write(terminal, text, strlen(text));
    (void)ignored;
}

static void set_up(void) {
    if (has_keys) {
        struct termios quiet = before;
        quiet.c_lflag &= ~(tcflag_t)(ECHO | ICANON);
        quiet.c_cc[VMIN] = 1;
        quiet.c_cc[VTIME] = 0;
        /* In the background, this stops the program. */
        tcsetattr(0, TCSANOW, &quiet);
    }
    is_shown = true;
    put(enter);
}

void tabella_screen_restore(void) {
    if (!is_shown) return;
    is_shown = false;
    put(leave);
    if (has_keys) tcsetattr(0, TCSANOW, &before);
}

static void ask_for_frame(void) {
    ssize_t ignored = write(wake, "r", 1);
    (void)ignored;
}

static void resize(int number) {
    int error = errno;
    (void)number;
    ask_for_frame();
    errno = error;
}

/* Handles a signal, unless its handler is another one than `expected`: the program was started to ignore
 * it, for example. */
static void handle_instead(void (*expected)(int), int number, void (*handler)(int), int flags) {
    struct sigaction now;
    if (sigaction(number, NULL, &now) != 0 || now.sa_handler != expected) return;
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(number, &action, NULL);
}

/* Ctrl-Z: the shell gets its terminal back. Afterwards the program continues here. */
static void stop(int number) {
    int error = errno;
    tabella_screen_restore();
    handle_instead(stop, number, SIG_DFL, 0);
    raise(number);
    handle_instead(SIG_DFL, number, stop, (int)SA_RESTART | SA_NODEFER);
    if (is_on) set_up();
    ask_for_frame();
    errno = error;
}

static void crash(int number) {
    tabella_screen_restore();
    /* The handler was reset when it was called. */
    raise(number);
}

static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGABRT};

static void handle_crashes(void (*old)(int), void (*new)(int), int flags) {
    for (size_t index = 0; index < sizeof crashes / sizeof *crashes; index++) {
        handle_instead(old, crashes[index], new, flags);
    }
}

void tabella_system_begin_screen(int file, int waker) {
    if (is_on) return;
    terminal = file;
    wake = waker;
    has_keys = tcgetattr(0, &before) == 0 && tcgetpgrp(0) == getpgrp();
    is_on = true;
    handle_crashes(SIG_DFL, crash, (int)SA_RESETHAND | SA_NODEFER);
    handle_instead(SIG_DFL, SIGTSTP, stop, (int)SA_RESTART | SA_NODEFER);
    handle_instead(SIG_DFL, SIGWINCH, resize, SA_RESTART);
    set_up();
}

bool tabella_system_screen_has_keys(void) { return is_on && has_keys; }

void tabella_system_end_screen(void) {
    if (!is_on) return;
    handle_instead(stop, SIGTSTP, SIG_DFL, 0);
    handle_instead(resize, SIGWINCH, SIG_DFL, 0);
    handle_crashes(crash, SIG_DFL, 0);
    /* Keys that were typed here are not for the shell. */
    if (has_keys) tcflush(0, TCIFLUSH);
    tabella_screen_restore();
    is_on = false;
}
