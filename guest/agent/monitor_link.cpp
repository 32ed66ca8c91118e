// SPDX-License-Identifier: BSD-2-Clause
#include "guest/agent/monitor_link.hpp"

#include "guest/agent/kernel.hpp"

#include <asm-generic/errno.h>
#include <asm-generic/poll.h>
#include <asm/signal.h>

namespace previrt::agent {

namespace {

int command_group = 0; // 0: none

[[noreturn]] void power_off() {
    constexpr long first_magic = 0xfee1dead;
    constexpr long second_magic = 672274793;
    constexpr long off = 0x4321fedc;
    call(__NR_sync);
    for (;;) {
        call(__NR_reboot, first_magic, second_magic, off);
    }
}

void await(int descriptor, short events) {
    pollfd waiting{.fd = descriptor, .events = events, .revents = 0};
    call(__NR_poll, address_of(&waiting), 1, -1);
}

void transfer(long number, int socket, char* place, std::size_t bytes, short event) {
    while (bytes != 0) {
        const long moved = call(number, socket, address_of(place), static_cast<long>(bytes));
        if (moved > 0) {
            place += moved;
            bytes -= static_cast<std::size_t>(moved);
        } else if (moved == -EAGAIN || moved == -EINTR) {
            await(socket, event);
        } else {
            leave();
        }
    }
}

} // namespace

void leave() {
    if (call(__NR_getpid) == 1) {
        power_off();
    }
    if (command_group != 0) {
        call(__NR_kill, -command_group, SIGHUP);
        call(__NR_kill, -command_group, SIGCONT); // a stopped process takes no other signal
    }
    for (;;) {
        call(__NR_exit_group, 1);
    }
}

void give_up(const char* reason) {
    call(__NR_write, 2, address_of(reason), static_cast<long>(length_of(reason)));
    leave();
}

void hang_up_at_the_end(int group) {
    command_group = group;
}

void receive(int socket, void* to, std::size_t bytes) {
    transfer(__NR_read, socket, static_cast<char*>(to), bytes, POLLIN);
}

void send(int socket, const void* from, std::size_t bytes) {
    transfer(__NR_write, socket, static_cast<char*>(const_cast<void*>(from)), bytes, POLLOUT);
}

} // namespace previrt::agent
