/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbered bytes and datagrams between two machines, each of which checks what it gets. */
#pragma once
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRAFFIC_PORT 5201
#define TRAFFIC_GROUP "239.82.86.1" /* for datagrams to all who joined it */
#define WORDS_A_BLOCK 8192 /* 64 KiB */

/* What begins a connection, in network byte order. */
struct request {
    uint32_t what; /* enum */
    uint32_t datagram_bytes;
    uint64_t amount; /* bytes, or datagrams */
};
enum { to_server, from_server, datagrams_to_server, datagrams_from_server, group_to_server, group_from_server, end_server };

/* What a receiver has seen. */
struct result {
    uint64_t got; /* bytes, or datagrams */
    uint64_t wrong;
    uint64_t out_of_order;
    uint64_t nanoseconds;
};

void fail(const char *what) __attribute__((noreturn));
uint64_t now(void);

/* The stream is the same for everyone: the word at each place is known. */
uint64_t word_at(uint64_t place);

void read_all(int socket, void *to, size_t bytes);
void write_all(int socket, const void *from, size_t bytes);

void send_stream(int socket, uint64_t bytes);
void receive_stream(int socket, uint64_t bytes, struct result *result);

/* For what comes at once. */
void widen(int socket);
/* Of this address's network. */
int open_group_member(struct in_addr own, in_port_t port);
int open_group_sender(struct in_addr own, in_port_t port);
void send_datagrams(int socket, uint64_t number, size_t bytes);
/* Until the last, or none comes for a second. */
void receive_datagrams(int socket, uint64_t number, size_t bytes, struct result *result);

int serve(const char *address);
int request_of(const char *address, const struct request *request);
