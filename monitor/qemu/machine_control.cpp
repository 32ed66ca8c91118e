// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/qemu/machine_control.hpp"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sys/socket.h>

namespace previrt {

namespace {

constexpr std::uint64_t interrupt_flag = 0x200;

// From the text of "info registers -a".
bool all_halted(const std::string& registers) {
    std::size_t processors = 0;
    for (std::size_t at = registers.find("RFL="); at != std::string::npos;
         at = registers.find("RFL=", at + 1)) {
        const std::uint64_t flags = std::strtoull(registers.c_str() + at + 4, nullptr, 16);
        const std::size_t halt = registers.find("HLT=", at);
        if (halt == std::string::npos || registers[halt + 4] != '1' || (flags & interrupt_flag) != 0) {
            return false;
        }
        ++processors;
    }
    return processors > 0;
}

} // namespace

void MachineControl::connect(Descriptor socket) {
    socket_ = std::move(socket);
    send(R"({"execute":"qmp_capabilities"})");
}

void MachineControl::send(std::string_view message) {
    // QEMU may have gone: then read() says so. Or QEMU does not read: this does not wait for it.
    [[maybe_unused]] const ssize_t sent =
        ::send(socket_.number(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool MachineControl::read() {
    std::array<char, 4096> block{};
    const ssize_t got = recv(socket_.number(), block.data(), block.size(), 0);
    if (got <= 0) {
        return false;
    }
    received_.append(block.data(), static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end = received_.find('\n'); end != std::string::npos;
         end = received_.find('\n', begin)) {
        read_message(received_.substr(begin, end - begin));
        begin = end + 1;
    }
    received_.erase(0, begin);
    return true;
}

void MachineControl::read_message(const std::string& text) {
    const auto message = nlohmann::json::parse(text, nullptr, false);
    if (!message.is_object()) {
        return;
    }
    if (message.value("event", "") == "SHUTDOWN" && message.contains("data")) {
        shutdown_reason_ = message["data"].value("reason", "unknown");
    }
    if (message.value("event", "") == "BLOCK_IO_ERROR" && message.contains("data")) {
        const auto& data = message["data"];
        FailedRequests& failed = failed_requests_[data.value("device", "")];
        if (failed.count++ == 0) {
            failed.first = data.value("operation", "request") + ": " + data.value("reason", "unknown");
        }
    }
    if (message.value("id", "") == "registers" && message.contains("return") &&
        message["return"].is_string()) {
        halted_ = all_halted(message["return"]);
    }
}

void MachineControl::let_run(bool runs) {
    send(runs ? R"({"execute":"cont"})" : R"({"execute":"stop"})");
}

void MachineControl::ask_if_halted() {
    send(
        R"({"execute":"human-monitor-command","arguments":{"command-line":"info registers -a"},"id":"registers"})");
}

} // namespace previrt
