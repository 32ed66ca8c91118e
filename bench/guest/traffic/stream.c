/* SPDX-License-Identifier: BSD-2-Clause */
#include "traffic.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A hash of the offset: any byte that is lost, doubled or changed shows. */
uint64_t word_at(uint64_t place) {
    uint64_t word = place + 0x9e3779b97f4a7c15;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    return word ^ (word >> 31);
}

void read_all(int socket, void *to, size_t bytes) {
    for (char *at = to; bytes > 0;) {
        const ssize_t got = read(socket, at, bytes);
        if (got == 0) {
            errno = ECONNRESET;
        }
        if (got <= 0) {
            fail("read");
        }
        at += got;
        bytes -= (size_t)got;
    }
}

void write_all(int socket, const void *from, size_t bytes) {
    for (const char *at = from; bytes > 0;) {
        const ssize_t written = send(socket, at, bytes, MSG_NOSIGNAL);
        if (written < 0) {
            fail("send");
        }
        at += written;
        bytes -= (size_t)written;
    }
}

static uint64_t block[WORDS_A_BLOCK];

static size_t bytes_of_block(uint64_t left) {
    return left < sizeof block ? (size_t)left : sizeof block;
}

void send_stream(int socket, uint64_t bytes) {
    for (uint64_t place = 0; bytes > 0; place += WORDS_A_BLOCK) {
        for (uint64_t i = 0; i < WORDS_A_BLOCK; ++i) {
            block[i] = word_at(place + i);
        }
        write_all(socket, block, bytes_of_block(bytes));
        bytes -= bytes_of_block(bytes);
    }
}

void receive_stream(int socket, uint64_t bytes, struct result *result) {
    const uint64_t begin = now();
    for (uint64_t place = 0; bytes > 0; place += WORDS_A_BLOCK) {
        const size_t here = bytes_of_block(bytes);
        read_all(socket, block, here);
        for (uint64_t i = 0; i < here / sizeof block[0]; ++i) {
            result->wrong += block[i] != word_at(place + i);
        }
        const uint64_t last = word_at(place + (here / sizeof block[0]));
        const size_t rest = here % sizeof block[0];
        result->wrong += memcmp(&last, (const char *)block + here - rest, rest) != 0;
        result->got += here;
        bytes -= here;
    }
    result->nanoseconds = now() - begin;
}
