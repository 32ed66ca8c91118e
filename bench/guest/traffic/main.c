/* SPDX-License-Identifier: BSD-2-Clause */
#include "traffic.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
    "traffic serve ADDRESS[:PORT]                      until it is told to end\n"
    "traffic send|receive ADDRESS[:PORT] BYTES          by TCP\n"
    "traffic send-datagrams|receive-datagrams ADDRESS[:PORT] NUMBER BYTES\n"
    "traffic send-group|receive-group ADDRESS[:PORT] NUMBER BYTES       by multicast, on one network\n"
    "traffic end ADDRESS[:PORT]\n"
    "Each end checks what it gets. Status 1: something was wrong, lost by TCP, or out of order, or no datagram came; 2: it did not work.\n";

void fail(const char *what) {
    fprintf(stderr, "traffic: %s: %s\n", what, strerror(errno));
    exit(2);
}

uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return ((uint64_t)time.tv_sec * 1000000000) + (uint64_t)time.tv_nsec;
}

static int datagrams_like(int connection) {
    struct sockaddr_storage peer;
    socklen_t bytes = sizeof peer;
    const int datagrams = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    widen(datagrams);
    if (getpeername(connection, (struct sockaddr *)&peer, &bytes) != 0 ||
        connect(datagrams, (struct sockaddr *)&peer, bytes) != 0) {
        fail("a socket for datagrams");
    }
    return datagrams;
}

static struct in_addr own_address(int connection) {
    struct sockaddr_in own;
    socklen_t bytes = sizeof own;
    if (getsockname(connection, (struct sockaddr *)&own, &bytes) != 0) {
        fail("getsockname");
    }
    return own.sin_addr;
}

static in_port_t port_of_peer(int connection) {
    struct sockaddr_in peer;
    socklen_t bytes = sizeof peer;
    if (getpeername(connection, (struct sockaddr *)&peer, &bytes) != 0) {
        fail("getpeername");
    }
    return peer.sin_port;
}

static int report(const char *what, uint64_t wanted, const struct result *result, bool may_lose) {
    const double seconds = (double)(result->nanoseconds + 1) / 1e9;
    printf("traffic: %s: %llu of %llu in %.6f s, %.0f/s, %llu wrong, %llu out of order\n", what,
           (unsigned long long)result->got, (unsigned long long)wanted, seconds, (double)result->got / seconds,
           (unsigned long long)result->wrong, (unsigned long long)result->out_of_order);
    const bool is_right = result->wrong == 0 && result->out_of_order == 0;
    const bool is_there = may_lose ? result->got != 0 : result->got == wanted;
    return is_right && is_there ? 0 : 1;
}

static uint64_t number(const char *text) {
    char *end = NULL;
    const uint64_t value = strtoull(text, &end, 0);
    if (*text == 0 || *end != 0) {
        errno = EINVAL;
        fail(text);
    }
    return value;
}

int main(int count, char **arguments) {
    static const char *const names[] = {"send", "receive", "send-datagrams", "receive-datagrams", "send-group", "receive-group", "end"};
    static const int words[] = {4, 4, 5, 5, 5, 5, 3};
    enum { number_of_names = sizeof words / sizeof words[0] };
    if (count == 3 && strcmp(arguments[1], "serve") == 0) {
        return serve(arguments[2]);
    }
    unsigned what = 0;
    while (what < number_of_names && (count < 3 || strcmp(arguments[1], names[what]) != 0)) {
        ++what;
    }
    if (what == number_of_names || count != words[what]) {
        fputs(usage, stderr);
        return 2;
    }
    const uint64_t amount = count > 3 ? number(arguments[3]) : 0;
    const uint64_t bytes = count > 4 ? number(arguments[4]) : 0;
    if (count > 4 && (bytes < 8 || bytes > 65000 || bytes % 8 != 0)) {
        fputs("traffic: a datagram has 8 to 65000 bytes, in eights\n", stderr);
        return 2;
    }
    const struct request request = {
        .what = htobe32(what), .datagram_bytes = htobe32((uint32_t)bytes), .amount = htobe64(amount)};
    const int connection = request_of(arguments[2], &request);
    struct result result = {0};
    uint8_t first = 0;
    switch (what) {
    case to_server:
        send_stream(connection, amount);
        read_all(connection, &result, sizeof result);
        return report(names[what], amount, &result, false);
    case from_server:
        receive_stream(connection, amount, &result);
        return report(names[what], amount, &result, false);
    case datagrams_to_server:
        read_all(connection, &first, sizeof first);
        send_datagrams(datagrams_like(connection), amount, bytes);
        read_all(connection, &result, sizeof result);
        return report(names[what], amount, &result, true);
    case datagrams_from_server: {
        read_all(connection, &first, sizeof first);
        const int datagrams = datagrams_like(connection);
        if (send(datagrams, &first, sizeof first, 0) < 0) {
            fail("the first datagram");
        }
        receive_datagrams(datagrams, amount, bytes, &result);
        return report(names[what], amount, &result, true);
    }
    case group_to_server:
        read_all(connection, &first, sizeof first);
        send_datagrams(open_group_sender(own_address(connection), port_of_peer(connection)), amount, bytes);
        read_all(connection, &result, sizeof result);
        return report(names[what], amount, &result, true);
    case group_from_server: {
        const int group = open_group_member(own_address(connection), port_of_peer(connection));
        write_all(connection, &first, sizeof first);
        receive_datagrams(group, amount, bytes, &result);
        return report(names[what], amount, &result, true);
    }
    default:
        return 0;
    }
}
