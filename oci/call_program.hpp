// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/channel/guest_process.hpp"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace previrt::oci {

struct CallArgument {
    agent::ArgumentKind kind;
    std::uint64_t value;
};

// An argument that is a number.
constexpr CallArgument number(std::uint64_t value) {
    return {.kind = agent::ArgumentKind::value, .value = value};
}
// The result of an earlier call.
constexpr CallArgument result_of(std::uint64_t call) {
    return {.kind = agent::ArgumentKind::result, .value = call};
}
// 32 bits of the data.
constexpr CallArgument loaded(CallArgument place, std::uint64_t offset) {
    return {.kind = agent::ArgumentKind::loaded, .value = place.value + offset};
}

// Writes the system calls by which a process in the guest prepares itself.
class CallProgram {
public:
    explicit CallProgram(GuestProcess& process) : process_(process) {}

    CallArgument data(std::string_view bytes);
    // Ended by a zero byte.
    CallArgument text(const std::string& text);
    // Gives the call's number for result_of(). `purpose`: of the message if it fails, unless the error is one
    // of `ignored`, of which there are four at most.
    std::uint64_t call(std::string purpose, long call, std::initializer_list<CallArgument> arguments,
                       std::initializer_list<int> ignored = {});

    // Usual series of calls.
    void make_directories(const std::string& path); // ignores all errors: the next call then fails
    void write_file(const std::string& purpose, const std::string& path, const std::string& content,
                    std::initializer_list<int> ignored = {});
    void mount(const std::string& purpose, const std::string& source, const std::string& place,
               const std::string& type, unsigned long flags, const std::string& options = {},
               std::initializer_list<int> ignored = {});

private:
    GuestProcess& process_;
};

} // namespace previrt::oci
