/* SPDX-License-Identifier: BSD-2-Clause */
#include "traffic.h"

#include <arpa/inet.h>
#include <endian.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in place_of(const char *address) {
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons(TRAFFIC_PORT)};
    char text[64];
    snprintf(text, sizeof text, "%s", address);
    char *const port = strchr(text, ':');
    if (port != NULL) {
        *port = 0;
        unsigned number = 0;
        if (sscanf(port + 1, "%u", &number) != 1) {
            fail("a port");
        }
        place.sin_port = htons((uint16_t)number);
    }
    if (inet_pton(AF_INET, text, &place.sin_addr) != 1) {
        fail("an IPv4 address");
    }
    return place;
}

static void bind_to(int socket, const struct sockaddr_in *place) {
    const int one = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(socket, (const struct sockaddr *)place, sizeof *place) != 0) {
        fail("bind");
    }
}

/* Datagrams come to the connection's port, and go to the sender of the first one. */
static int open_datagrams(const struct sockaddr_in *place) {
    const int opened = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    widen(opened);
    bind_to(opened, place);
    return opened;
}

static void answer(int connection, int datagrams, const struct sockaddr_in *place, const struct request *request) {
    struct result result = {0};
    struct sockaddr_in from;
    socklen_t from_bytes = sizeof from;
    uint8_t first = 0;
    int group = -1;
    switch (be32toh(request->what)) {
    case to_server:
        receive_stream(connection, be64toh(request->amount), &result);
        write_all(connection, &result, sizeof result);
        return;
    case from_server:
        send_stream(connection, be64toh(request->amount));
        return;
    case datagrams_to_server:
        write_all(connection, &first, sizeof first); /* we listen */
        receive_datagrams(datagrams, be64toh(request->amount), be32toh(request->datagram_bytes), &result);
        write_all(connection, &result, sizeof result);
        return;
    case datagrams_from_server:
        write_all(connection, &first, sizeof first);
        if (recvfrom(datagrams, &first, sizeof first, 0, (struct sockaddr *)&from, &from_bytes) < 0 ||
            connect(datagrams, (struct sockaddr *)&from, from_bytes) != 0) {
            fail("the way for datagrams");
        }
        send_datagrams(datagrams, be64toh(request->amount), be32toh(request->datagram_bytes));
        return;
    case group_to_server:
        group = open_group_member(place->sin_addr, place->sin_port);
        write_all(connection, &first, sizeof first);
        receive_datagrams(group, be64toh(request->amount), be32toh(request->datagram_bytes), &result);
        write_all(connection, &result, sizeof result);
        break;
    case group_from_server:
        read_all(connection, &first, sizeof first); /* the peer has joined */
        group = open_group_sender(place->sin_addr, place->sin_port);
        send_datagrams(group, be64toh(request->amount), be32toh(request->datagram_bytes));
        break;
    default:
        fail("a request");
    }
    close(group);
}

int serve(const char *address) {
    const struct sockaddr_in place = place_of(address);
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bind_to(listener, &place);
    if (listen(listener, 4) != 0) {
        fail("listen");
    }
    printf("traffic: listening\n");
    fflush(stdout);
    for (;;) {
        const int connection = accept(listener, NULL, NULL);
        if (connection < 0) {
            fail("accept");
        }
        struct request request;
        read_all(connection, &request, sizeof request);
        const bool is_last = be32toh(request.what) == end_server;
        if (!is_last) {
            const int datagrams = open_datagrams(&place);
            answer(connection, datagrams, &place, &request);
            close(datagrams);
        }
        close(connection);
        if (is_last) {
            return 0;
        }
    }
}

int request_of(const char *address, const struct request *request) {
    const struct sockaddr_in place = place_of(address);
    const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(connection, (const struct sockaddr *)&place, sizeof place) != 0) {
        fail("connect");
    }
    write_all(connection, request, sizeof *request);
    return connection;
}
