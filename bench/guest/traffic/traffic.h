/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbered bytes and datagrams between two machines, each of which checks the data it receives. */
#pragma once
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRAFFIC_PORT 5201
#define TRAFFIC_GROUP "239.82.86.1" /* for datagrams to all members */
#define WORDS_A_BLOCK 8192 /* 64 KiB */

/* The start of a connection, in network byte order. */
struct request {
    uint32_t what; /* enum */
    uint32_t datagram_bytes;
    uint64_t amount; /* bytes, or datagrams */
};
enum { to_server, from_server, datagrams_to_server, datagrams_from_server, group_to_server, group_from_server, end_server };

/* A receiver's result. */
struct result {
    uint64_t got; /* bytes, or datagrams */
    uint64_t wrong;
    uint64_t out_of_order;
    uint64_t nanoseconds;
};

void fail(const char *what) __attribute__((noreturn));
uint64_t now(void);

/* The stream is fixed: the word at each offset is known. */
uint64_t word_at(uint64_t place);

void read_all(int socket, void *to, size_t bytes);
void write_all(int socket, const void *from, size_t bytes);

void send_stream(int socket, uint64_t bytes);
void receive_stream(int socket, uint64_t bytes, struct result *result);

/* A buffer for a burst. */
void widen(int socket);
/* The interface with this address's network. */
int open_group_member(struct in_addr own, in_port_t port);
int open_group_sender(struct in_addr own, in_port_t port);
void send_datagrams(int socket, uint64_t number, size_t bytes);
/* Until the last datagram, or until none comes for a second. */
void receive_datagrams(int socket, uint64_t number, size_t bytes, struct result *result);

int serve(const char *address);
int request_of(const char *address, const struct request *request);
