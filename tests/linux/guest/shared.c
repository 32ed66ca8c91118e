/* SPDX-License-Identifier: BSD-2-Clause
 * shared THREADS SECONDS
 * Threads on several processors share memory. Locked additions lose nothing. A thread takes a page away
 * (munmap, mprotect, a new mapping in its place) while others write to it: behind the call, no write arrives
 * any more. The time never goes back from one thread to another. */
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
