/* SPDX-License-Identifier: BSD-2-Clause
 * shared THREADS SECONDS
 * Threads on several processors share memory. Locked additions lose nothing. A thread takes a page away
 * (munmap, mprotect, a new mapping in its place) while others write to it: behind the call, no write arrives
 * any more. The time never goes back from one thread to another. A thread makes new code with a system call
 * all the time, while others make many calls of the C library: the VMM may rewrite any of them. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { page = 4096, most_threads = 64 };

static unsigned threads;
static atomic_bool ends;
static atomic_ulong sum, added;
static atomic_ulong* word; /* on the page that comes and goes */
static atomic_ulong written[most_threads];
static _Atomic uint64_t latest;
static atomic_ulong failures;
static __thread sigjmp_buf behind;

static void fail(const char* what) {
    if (atomic_fetch_add(&failures, 1) < 10) {
        fprintf(stderr, "shared: %s\n", what);
    }
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void take_fault(int signal) {
    (void)signal;
    siglongjmp(behind, 1);
}

static void check_time(void) {
    uint64_t before = atomic_load(&latest);
    const uint64_t here = now();
    if (here < before) {
        fail("the time has gone back");
    }
    while (before < here && !atomic_compare_exchange_weak(&latest, &before, here)) {
    }
}

static void write_once(unsigned number) {
    if (sigsetjmp(behind, 1) == 0) {
        atomic_fetch_add_explicit(word, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&written[number], 1, memory_order_relaxed);
    }
}

static void* write_always(void* argument) {
    const unsigned number = (unsigned)(uintptr_t)argument;
    unsigned long mine = 0;
    while (!atomic_load(&ends)) {
        for (unsigned i = 0; i < 100; ++i) {
            write_once(number);
            atomic_fetch_add(&sum, 1);
            ++mine;
        }
        check_time();
    }
    atomic_fetch_add(&added, mine);
    return NULL;
}

static void map(void* at, int protection) {
    if (mmap(at, page, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at) {
        fail("mmap");
    }
}

/* The page's contents do not change while nobody may write to it. */
static void stays(const volatile unsigned long* where, unsigned long value) {
    for (volatile unsigned i = 0; i < 2000; ++i) {
        if (*where != value) {
            fail("a write has arrived behind the call that forbids it");
            return;
        }
    }
}

static void take_away(void* at) {
    static unsigned round;
    const volatile unsigned long* const seen = at;
    switch (round++ % 3) {
    case 0:
        if (mprotect(at, page, PROT_READ) != 0) {
            fail("mprotect");
        }
        stays(seen, *seen);
        mprotect(at, page, PROT_READ | PROT_WRITE);
        break;
    case 1: { /* the old page is kept by a second mapping, and a new one is in its place */
        void* const kept = mremap(at, page, page, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
        if (kept == MAP_FAILED) {
            fail("mremap");
            break;
        }
        stays(kept, *(volatile unsigned long*)kept);
        munmap(kept, page);
        break;
    }
    default:
        munmap(at, page);
        map(at, PROT_READ); /* all zero */
        stays(seen, 0);
        mprotect(at, page, PROT_READ | PROT_WRITE);
    }
}

static void* call_from_new_code(void* at) {
    static const unsigned char code[] = {0xb8, 39,   0,    0,    0,    0x0f, 0x05,
                                         0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff, 0xc3};
    const long self = getpid();
    for (unsigned round = 0; !atomic_load(&ends); ++round) {
        map(at, PROT_READ | PROT_WRITE);
        unsigned char* const place = (unsigned char*)at + round % 32 * 64;
        memcpy(place, code, sizeof code);
        mprotect(at, page, PROT_READ | PROT_EXEC);
        long (*call)(void) = NULL;
        memcpy(&call, &place, sizeof call);
        for (unsigned i = 0; i < 300; ++i) {
            if (call() != self) {
                fail("a system call of new code has another result");
            }
        }
    }
    return NULL;
}

static void* call_library(void* unused) {
    const pid_t parent = getppid();
    int ends_of_pipe[2];
    char byte = 0;
    if (pipe(ends_of_pipe) != 0) {
        fail("pipe");
        return unused;
    }
    while (!atomic_load(&ends)) {
        if (write(ends_of_pipe[1], "x", 1) != 1 || read(ends_of_pipe[0], &byte, 1) != 1 || byte != 'x' ||
            getppid() != parent) {
            fail("a system call of the library has another result");
        }
    }
    return NULL;
}

int main(int count, char** arguments) {
    if (count != 3) {
        return 2;
    }
    threads = (unsigned)atoi(arguments[1]);
    threads = threads > most_threads ? most_threads : threads;
    const uint64_t end = now() + (uint64_t)atoi(arguments[2]) * 1000000000;
    struct sigaction action = {.sa_handler = take_fault};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    void* const at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    word = at;
    pthread_t others[most_threads];
    for (unsigned i = 0; i < threads; ++i) {
        pthread_create(&others[i], NULL, write_always, (void*)(uintptr_t)i);
    }
    enum { callers = 3 };
    pthread_t calling[callers];
    void* const code = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_create(&calling[0], NULL, call_from_new_code, code);
    for (unsigned i = 1; i < callers; ++i) {
        pthread_create(&calling[i], NULL, call_library, NULL);
    }
    unsigned long rounds = 0;
    while (now() < end) {
        take_away(at);
        check_time();
        ++rounds;
        usleep(200);
    }
    atomic_store(&ends, true);
    for (unsigned i = 0; i < threads; ++i) {
        pthread_join(others[i], NULL);
    }
    for (unsigned i = 0; i < callers; ++i) {
        pthread_join(calling[i], NULL);
    }
    if (atomic_load(&sum) != atomic_load(&added)) {
        fail("locked additions were lost");
    }
    printf("%lu rounds, %lu additions\n", rounds, atomic_load(&sum));
    if (failures == 0 && rounds > 10) {
        printf("shared memory holds\n");
        return 0;
    }
    return 1;
}
