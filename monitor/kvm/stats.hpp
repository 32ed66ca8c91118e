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

// What the host's KVM counted for a virtual machine or processor.
class KvmStats {
public:
    explicit KvmStats(const Descriptor& machine_or_processor);

    // The numbers that are not 0. None where it does not tell. Needs no other system call than pread.
    [[nodiscard]] std::vector<KvmStat> read() const;

private:
    Descriptor file_;
};

} // namespace previrt
