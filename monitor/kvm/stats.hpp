// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace previrt {

struct KvmStat {
    std::string name; // KVM's
    std::uint64_t value;
};

// The counts of the host's KVM for a virtual machine or processor.
class KvmStats {
public:
    explicit KvmStats(const Descriptor& machine_or_processor);

    // The counts that are not 0; empty if KVM gives none. Uses no system call but pread.
    [[nodiscard]] std::vector<KvmStat> read() const;

private:
    Descriptor file_;
};

// Adds counts of the same name.
void add_stats(std::vector<KvmStat>& sum, const std::vector<KvmStat>& stats);

} // namespace previrt
