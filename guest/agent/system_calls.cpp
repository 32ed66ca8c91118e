// SPDX-License-Identifier: BSD-2-Clause
#include "guest/agent/system_calls.hpp"

#include "guest/agent/kernel.hpp"
#include "guest/agent/messages.hpp"

#include <asm-generic/errno.h>
#include <linux/netlink.h>

namespace previrt::agent {

namespace {

constexpr std::size_t arguments_of_a_call = 6;

long send_route_message(long socket, const char* message, long bytes) {
    struct Answer {
        nlmsghdr header;
        nlmsgerr error;
        char rest[1024]; // a copy of the message
    } answer{};
    const long sent = call(__NR_sendto, socket, address_of(message), bytes, 0, 0, 0);
    if (sent < 0) {
        return sent;
    }
    const long got = call(__NR_recvfrom, socket, address_of(&answer), sizeof answer, 0, 0, 0);
    if (got < 0) {
        return got;
    }
    const bool is_answer = got >= static_cast<long>(sizeof answer.header + sizeof answer.error.error) &&
                           answer.header.nlmsg_type == NLMSG_ERROR;
    return is_answer ? answer.error.error : -EPROTO;
}

class Calls {
public:
    explicit Calls(const Request& request) : request_(request) {}

    // Each result takes the place of the call's first argument.
    int make() {
        for (std::uint32_t number = 0; number < request_.start.calls; ++number) {
            SystemCall& made = request_.calls[number];
            const long result = make(made);
            if (result < 0 && !is_ignored(made, static_cast<std::uint16_t>(-result))) {
                return static_cast<int>((number + 1) << failed_call_shift) | static_cast<int>(-result);
            }
            made.arguments[0] = static_cast<std::uint64_t>(result);
        }
        return 0;
    }

private:
    [[nodiscard]] long argument(const SystemCall& made, unsigned place) const {
        const std::uint64_t given = made.arguments[place];
        constexpr std::uint32_t mask = (1U << argument_kind_bits) - 1;
        switch (ArgumentKind{static_cast<std::uint8_t>(made.kinds >> (argument_kind_bits * place) & mask)}) {
        case ArgumentKind::value:
            break;
        case ArgumentKind::data:
            return address_of(request_.data + given);
        case ArgumentKind::loaded: {
            std::uint32_t word = 0;
            __builtin_memcpy(&word, request_.data + given, sizeof word);
            return static_cast<long>(word);
        }
        case ArgumentKind::result:
            return static_cast<long>(request_.calls[given].arguments[0]);
        }
        return static_cast<long>(given);
    }

    [[nodiscard]] long make(const SystemCall& made) const {
        long arguments[arguments_of_a_call];
        for (unsigned place = 0; place < arguments_of_a_call; ++place) {
            arguments[place] = argument(made, place);
        }
        if (made.number == store_call) {
            __builtin_memcpy(reinterpret_cast<void*>(arguments[0]), &arguments[1],
                             static_cast<std::size_t>(arguments[2]));
            return 0;
        }
        if (made.number == route_call) {
            return send_route_message(arguments[0], reinterpret_cast<const char*>(arguments[1]),
                                      arguments[2]);
        }
        return call(made.number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                    arguments[5]);
    }

    static bool is_ignored(const SystemCall& made, std::uint16_t error) {
        bool is_among_them = false;
        for (const std::uint16_t ignored : made.ignored) {
            is_among_them = is_among_them || ignored == error;
        }
        return is_among_them;
    }

    const Request& request_;
};

} // namespace

int make_calls(const Request& request) {
    return Calls(request).make();
}

} // namespace previrt::agent
