/* called SYMBOLS PROGRAM WORD...: runs a program and prints the functions that it calls, in the
   order of their first calls. SYMBOLS is a file with the output of `nm PROGRAM`.

   Each function gets a breakpoint, which its first call removes. The exit status is that of the
   program, or 125 if it cannot be traced. The output of the program is lost. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { cannot_trace = 125 };

static _Noreturn void fail(const char *what) {
    fprintf(stderr, "called: %s: %s\n", what, strerror(errno));
    exit(cannot_trace);
}

#ifdef __x86_64__

struct function {
    uint64_t address;    /* relative to the start of the program */
    uint8_t instruction; /* the first byte, which the breakpoint replaces */
    char *name;
};

static struct function *functions;
static size_t count;

static int by_address(const void *first, const void *second) {
    uint64_t a = ((const struct function *)first)->address;
    uint64_t b = ((const struct function *)second)->address;
    return (a > b) - (a < b);
}

static void read_functions(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) fail(path);
    char *line = NULL;
    size_t size = 0, room = 0;
    while (getline(&line, &size, file) > 0) {
        unsigned long long address;
        char type;
        int name = 0;
        if (sscanf(line, "%llx %c %n", &address, &type, &name) < 2 || !strchr("tTwW", type)) continue;
        if (count == room) {
            room = room ? 2 * room : 1 << 16;
            functions = realloc(functions, room * sizeof *functions);
            if (!functions) fail("memory");
        }
        line[strcspn(line, "\n")] = 0;
        functions[count++] = (struct function){.address = address, .name = strdup(line + name)};
    }
    fclose(file);
    if (count == 0) {
        fprintf(stderr, "called: %s contains no function\n", path);
        exit(cannot_trace);
    }
    qsort(functions, count, sizeof *functions, by_address);
}

/* Starts the program. It stops before its first instruction. */
static pid_t start(char **words) {
    pid_t process = fork();
    if (process < 0) fail("fork");
    if (process == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        if (nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0) fail("/dev/null");
        if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0) fail("ptrace");
        execv(words[0], words);
        fail(words[0]);
    }
    int status;
    if (waitpid(process, &status, 0) < 0) fail("waitpid");
    if (!WIFSTOPPED(status)) exit(cannot_trace);
    long options = PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
    if (ptrace(PTRACE_SETOPTIONS, process, 0, options) < 0) fail("ptrace");
    return process;
}

static int memory_of(pid_t process) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)process);
    int memory = open(path, O_RDWR | O_CLOEXEC);
    if (memory < 0) fail(path);
    return memory;
}

/* The address of the start of the program. */
static uint64_t start_of(pid_t process) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)process);
    FILE *file = fopen(path, "r");
    unsigned long long address;
    if (!file || fscanf(file, "%llx", &address) != 1) fail(path);
    fclose(file);
    return address;
}

static void set_breakpoints(pid_t process, uint64_t base) {
    uint64_t first = functions[0].address, size = functions[count - 1].address + 1 - first;
    uint8_t *code = malloc(size);
    if (!code) fail("memory");
    int memory = memory_of(process);
    ssize_t done = 1;
    for (uint64_t at = 0; at < size && done > 0; at += (uint64_t)done)
        done = pread(memory, code + at, size - at, (off_t)(base + first + at));
    for (size_t i = 0; i < count; i++) functions[i].instruction = code[functions[i].address - first];
    for (size_t i = 0; i < count; i++) code[functions[i].address - first] = 0xCC; /* int3 */
    for (uint64_t at = 0; at < size && done > 0; at += (uint64_t)done)
        done = pwrite(memory, code + at, size - at, (off_t)(base + first + at));
    if (done <= 0) fail("the code of the program");
    close(memory);
    free(code);
}

/* If a process stopped at a breakpoint, prints the function and removes the breakpoint. */
static int is_first_call(pid_t process, uint64_t base) {
    struct user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, process, 0, &registers) < 0) return 0;
    struct function key = {.address = registers.rip - 1 - base};
    struct function *called = bsearch(&key, functions, count, sizeof key, by_address);
    if (!called) return 0;
    while (called > functions && called[-1].address == key.address) called--;
    int memory = memory_of(process);
    if (pwrite(memory, &called->instruction, 1, (off_t)(base + key.address)) != 1) fail("a breakpoint");
    close(memory);
    registers.rip--;
    if (ptrace(PTRACE_SETREGS, process, 0, &registers) < 0) fail("ptrace");
    /* A function can have several names. */
    for (; called < functions + count && called->address == key.address; called++) puts(called->name);
    return 1;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "called: SYMBOLS PROGRAM WORD...\n");
        return cannot_trace;
    }
    read_functions(argv[1]);
    pid_t program = start(argv + 2);
    uint64_t base = start_of(program);
    set_breakpoints(program, base);
    ptrace(PTRACE_CONT, program, 0, 0);
    int status;
    for (pid_t process; (process = waitpid(-1, &status, __WALL)) > 0;) {
        if (WIFSTOPPED(status)) {
            int event = status >> 16, signal = WSTOPSIG(status);
            /* A new thread or process begins with SIGSTOP. */
            if (event || signal == SIGSTOP || (signal == SIGTRAP && is_first_call(process, base))) signal = 0;
            ptrace(PTRACE_CONT, process, 0, signal);
        } else if (process == program) {
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
    }
    fail("waitpid");
}

#else

int main(void) {
    errno = ENOTSUP;
    fail("this processor");
}

#endif
