// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace previrt {

// Requests for a disk that the host failed.
struct FailedRequests {
    std::uint64_t count = 0;
    std::string first; // in QEMU's words
};

// QEMU's control protocol (QMP), over a socket that QEMU inherits.
class MachineControl {
public:
    // `socket` leads to QEMU's monitor.
    void connect(Descriptor socket);

    [[nodiscard]] int descriptor() const { return socket_.number(); }
    // Reads available messages; false if QEMU has gone.
    bool read();

    // Asks whether all processors are halted with interrupts off, which is how a machine without ACPI powers
    // off.
    void ask_if_halted();
    // Stops or continues the processors.
    void let_run(bool runs);

    [[nodiscard]] bool halted() const { return halted_; }
    // Why the machine shut down, in QEMU's words ("guest-reset"); empty while it runs.
    [[nodiscard]] const std::string& shutdown_reason() const { return shutdown_reason_; }
    // By the disk's name.
    [[nodiscard]] const std::map<std::string, FailedRequests>& failed_requests() const {
        return failed_requests_;
    }

private:
    void send(std::string_view message);
    void read_message(const std::string& text);

    Descriptor socket_;
    std::string received_;
    std::string shutdown_reason_;
    std::map<std::string, FailedRequests> failed_requests_;
    bool halted_ = false;
};

} // namespace previrt
