// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/channel/command_end.hpp"

#include "monitor/channel/guest_process.hpp"
#include "monitor/options.hpp"

#include <cerrno>
#include <system_error>

namespace previrt {

bool CommandEnd::take(agent::Message message, std::uint32_t value) {
    constexpr std::uint32_t most_status = 255;
    constexpr std::uint32_t last_signal = 64;
    constexpr std::uint32_t last_error = 4095;
    if (message == agent::Message::exited && value <= most_status) {
        status = static_cast<std::uint8_t>(value);
    } else if (message == agent::Message::killed && value <= last_signal) {
        status = static_cast<std::uint8_t>(command_killed + value);
    } else if (message == agent::Message::not_started && value > last_error) {
        failed_call = value >> agent::failed_call_shift;
        status = command_failed;
        failure = std::generic_category().message(static_cast<int>(value & last_error));
    } else if (message == agent::Message::not_started) {
        const bool is_missing = value == ENOENT || value == ENOTDIR;
        status = is_missing ? command_not_found : command_not_executable;
        failure = std::generic_category().message(static_cast<int>(value));
    } else {
        return false;
    }
    return true;
}

std::string CommandEnd::describe_failure(const std::string& command, const GuestProcess* process) const {
    const bool is_of_call = process != nullptr && failed_call != 0 && failed_call <= process->purposes.size();
    return (is_of_call ? process->purposes[failed_call - 1] : command) + ": " + failure;
}

} // namespace previrt
