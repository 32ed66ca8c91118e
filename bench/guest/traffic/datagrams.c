/* SPDX-License-Identifier: BSD-2-Clause */
#include "traffic.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/time.h>

#define MOST_BYTES 65536

static uint64_t datagram[MOST_BYTES / sizeof(uint64_t)];

static struct sockaddr_in group_at(in_port_t port) {
    struct sockaddr_in group = {.sin_family = AF_INET, .sin_port = port};
    inet_pton(AF_INET, TRAFFIC_GROUP, &group.sin_addr);
    return group;
}

int open_group_member(struct in_addr own, in_port_t port) {
    const struct sockaddr_in group = group_at(port);
    const struct ip_mreq membership = {.imr_multiaddr = group.sin_addr, .imr_interface = own};
    const int opened = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    widen(opened);
    if (bind(opened, (const struct sockaddr *)&group, sizeof group) != 0 ||
        setsockopt(opened, IPPROTO_IP, IP_ADD_MEMBERSHIP, &membership, sizeof membership) != 0) {
        fail("a group");
    }
    return opened;
}

int open_group_sender(struct in_addr own, in_port_t port) {
    const struct sockaddr_in group = group_at(port);
    const int opened = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (setsockopt(opened, IPPROTO_IP, IP_MULTICAST_IF, &own, sizeof own) != 0 ||
        connect(opened, (const struct sockaddr *)&group, sizeof group) != 0) {
        fail("the way to a group");
    }
    return opened;
}

void widen(int socket) {
    const int bytes = 1 << 22;
    setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

void send_datagrams(int socket, uint64_t number, size_t bytes) {
    for (uint64_t i = 0; i < number; ++i) {
        for (size_t word = 0; word < bytes / sizeof datagram[0]; ++word) {
            datagram[word] = word == 0 ? i : word_at(i + word);
        }
        while (send(socket, datagram, bytes, 0) < 0) {
            if (errno != ENOBUFS && errno != ECONNREFUSED) {
                fail("send of a datagram");
            }
        }
    }
}

void receive_datagrams(int socket, uint64_t number, size_t bytes, struct result *result) {
    const struct timeval second = {.tv_sec = 1};
    if (setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second) != 0) {
        fail("SO_RCVTIMEO");
    }
    const uint64_t begin = now();
    uint64_t last = begin;
    for (uint64_t next = 0; next < number;) {
        const ssize_t got = recv(socket, datagram, sizeof datagram, 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            break;
        }
        if (got < 0) {
            fail("recv");
        }
        last = now();
        bool is_right = (size_t)got == bytes && datagram[0] < number;
        for (size_t word = 1; is_right && word < bytes / sizeof datagram[0]; ++word) {
            is_right = datagram[word] == word_at(datagram[0] + word);
        }
        if (!is_right) {
            ++result->wrong;
            continue;
        }
        result->out_of_order += datagram[0] < next;
        next = datagram[0] < next ? next : datagram[0] + 1;
        ++result->got;
    }
    result->nanoseconds = last - begin;
}
