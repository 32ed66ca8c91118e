// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/host/program.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace previrt {

// What KVM itself counts of a processor: how often it left the guest, and for what.
class ExitCounts {
public:
    using Counts = std::map<std::string, std::uint64_t>;

    // A KVM before Linux 5.14 tells no counts. Throws InputError where it tells nonsense.
    explicit ExitCounts(const Descriptor& processor);

    [[nodiscard]] bool known() const { return statistics_.has_value(); }
    // Needs no other system call than pread.
    [[nodiscard]] Counts read() const;

private:
    struct Counter {
        std::string name;
        std::uint64_t offset;
    };

    std::optional<Descriptor> statistics_;
    std::vector<Counter> counters_;
};

} // namespace previrt
