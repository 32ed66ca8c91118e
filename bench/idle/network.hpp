// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/idle/echo.hpp"
#include "host/program.hpp"
#include "host/temporary_directory.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace previrt {

// A `previrt switch` for guests, and the bench as one more station at it. The destructor ends the switch.
class IdleNetwork {
public:
    // Throws InputError if the switch does not start.
    IdleNetwork();
    ~IdleNetwork();
    IdleNetwork(const IdleNetwork&) = delete;
    IdleNetwork& operator=(const IdleNetwork&) = delete;

    // Of `previrt run --net`.
    [[nodiscard]] std::string choice_of(echo::Station guest) const;
    // For poll(): a frame waits.
    [[nodiscard]] int end() const { return end_.number(); }
    // Answers the requests that wait. Returns the stations that answered.
    [[nodiscard]] std::vector<echo::Station> serve() const;
    // nullopt: no answer comes in time. Throws InputError if the switch takes no frame.
    [[nodiscard]] std::optional<std::chrono::nanoseconds> ping(echo::Station guest,
                                                               std::chrono::milliseconds within) const;

private:
    void start_switch();
    void send(std::span<const std::uint8_t> frame) const;

    TemporaryDirectory directory_;
    pid_t switch_ = 0;
    Descriptor switch_output_;
    Descriptor end_;
};

} // namespace previrt
