/* SPDX-License-Identifier: BSD-2-Clause
 * patched PROCESSORS TOGGLES
 * Linux changes its own text while all processors execute it: a thread on each makes system calls and gives
 * its processor away, and the first one turns a probe, a tracer or a branch on and off, TOGGLES times each.
 * Then what is on is hit on each processor, and what is off is not hit any more. In a guest, as root. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { most_processors = 64, most_text = 4096 };

static const char tracing[] = "/sys/kernel/tracing";
static unsigned processors;
static atomic_bool ends;
static atomic_ulong rounds[most_processors];
static pid_t parent;

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char* form, ...) {
    va_list arguments;
    va_start(arguments, form);
    fprintf(stderr, "patched: FAILED: ");
    vfprintf(stderr, form, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    exit(1);
}

static void stay_on(unsigned processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0) {
        fail("no processor %u", processor);
    }
}

static void* execute_text(void* argument) {
    const unsigned number = (unsigned)(size_t)argument;
    stay_on(number);
    while (!ends) {
        if (syscall(SYS_getppid) != parent) {
            fail("another parent on processor %u", number);
        }
        const int file = open("/dev/null", O_RDONLY);
        if (file < 0 || close(file) != 0) {
            fail("/dev/null does not open on processor %u", number);
        }
        sched_yield();
        usleep(number % 2); /* a timer, on every other processor */
        atomic_fetch_add_explicit(&rounds[number], 1, memory_order_relaxed);
    }
    return NULL;
}

static int open_file(const char* name, int flags) {
    char path[256];
    snprintf(path, sizeof(path), "%s%s%s", name[0] == '/' ? "" : tracing, name[0] == '/' ? "" : "/", name);
    const int file = open(path, flags);
    if (file < 0) {
        fail("%s: %s", path, strerror(errno));
    }
    return file;
}

/* Some files take a word at a time. */
static void write_all(int file, const char* name, const char* text) {
    while (*text != '\0') {
        const ssize_t written = write(file, text, strlen(text));
        if (written <= 0) {
            fail("'%s' into %s: %s", text, name, strerror(errno));
        }
        text += written;
    }
}

static void write_file(const char* name, const char* text) {
    const int file = open_file(name, O_WRONLY | O_TRUNC);
    write_all(file, name, text);
    close(file);
}

/* The number behind `word`, or 0. */
static unsigned long read_number(const char* name, const char* word) {
    char text[most_text];
    const int file = open_file(name, O_RDONLY);
    const ssize_t got = read(file, text, sizeof(text) - 1);
    close(file);
    text[got > 0 ? got : 0] = '\0';
    const char* const place = strstr(text, word);
    return place == NULL ? 0 : strtoul(place + strlen(word), NULL, 10);
}

static void let_all_run(void) {
    unsigned long before[most_processors];
    for (unsigned i = 0; i < processors; ++i) {
        before[i] = rounds[i];
    }
    const time_t end = time(NULL) + 60;
    for (unsigned i = 0; i < processors; ++i) {
        while (rounds[i] - before[i] < 20) {
            if (time(NULL) > end) {
                fail("processor %u stands still", i);
            }
            usleep(1000);
        }
    }
}

static unsigned long hits_of_probe(void) {
    return read_number("kprobe_profile", "inner");
}

/* Of what the tracer has seen on a processor since the last look. */
static unsigned long seen_on(unsigned processor) {
    char name[64];
    snprintf(name, sizeof(name), "per_cpu/cpu%u/stats", processor);
    return read_number(name, "entries: ") + read_number(name, "overrun: ");
}

static void require_seen(const char* what, bool seen) {
    write_file("trace", "");
    let_all_run();
    for (unsigned i = 0; i < processors; ++i) {
        if ((seen_on(i) != 0) != seen) {
            fail("%s: processor %u %s", what, i, seen ? "never comes there" : "still comes there");
        }
    }
}

static void toggle(const char* what, const char* name, const char* on, const char* off,
                   unsigned long toggles) {
    const int file = open_file(name, O_WRONLY);
    struct timespec begin;
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (unsigned long i = 0; i < toggles; ++i) {
        write_all(file, name, i % 2 == 0 ? on : off);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    close(file);
    write_file(name, on);
    let_all_run();
    printf("patched: %s, %lu times in %ld s\n", what, toggles, (long)(end.tv_sec - begin.tv_sec));
    fflush(stdout);
}

/* Behind a function's entry, where ftrace has its own way, and where an instruction begins. */
static void make_probe(void) {
    const int file = open_file("kprobe_events", O_WRONLY | O_TRUNC);
    for (unsigned offset = 6; offset < 64; ++offset) {
        char definition[64];
        snprintf(definition, sizeof(definition), "p:inner do_sys_openat2+%u", offset);
        if (write(file, definition, strlen(definition)) > 0) {
            close(file);
            return;
        }
    }
    fail("no place for a probe");
}

int main(int count, char** arguments) {
    if (count != 3) {
        fail("usage: patched PROCESSORS TOGGLES");
    }
    processors = (unsigned)atoi(arguments[1]);
    const unsigned long toggles = strtoul(arguments[2], NULL, 10);
    if (processors == 0 || processors > most_processors || toggles == 0) {
        fail("no such number");
    }
    mount("none", tracing, "tracefs", 0, NULL);
    parent = getppid();
    pthread_t threads[most_processors];
    for (unsigned i = 0; i < processors; ++i) {
        if (pthread_create(&threads[i], NULL, execute_text, (void*)(size_t)i) != 0) {
            fail("no thread");
        }
    }
    let_all_run();

    write_file("buffer_size_kb", "64");
    const char* const branch = "events/sched/sched_switch/enable";
    toggle("a tracepoint's branch and call", branch, "1", "0", toggles);
    require_seen("sched_switch", true);
    write_file(branch, "0");
    require_seen("sched_switch", false);

    toggle("a branch of timers", "/proc/sys/kernel/timer_migration", "1", "0", toggles);

    make_probe();
    const char* const probe = "events/kprobes/inner/enable";
    toggle("a probe", probe, "1", "0", toggles);
    const unsigned long before = hits_of_probe();
    require_seen("the probe", true);
    const unsigned long after = hits_of_probe();
    write_file(probe, "0");
    require_seen("the probe", false);
    if (after <= before) {
        fail("the probe was hit %lu times, then %lu", before, after);
    }
    write_file("kprobe_events", "");

    write_file("set_ftrace_filter", "do_sys_openat2 do_sched_yield schedule\n");
    toggle("the tracer of functions", "current_tracer", "function", "nop", toggles);
    require_seen("the tracer", true);
    write_file("current_tracer", "nop");
    require_seen("the tracer", false);

    ends = true;
    for (unsigned i = 0; i < processors; ++i) {
        pthread_join(threads[i], NULL);
    }
    puts("patched: all right");
    return 0;
}
