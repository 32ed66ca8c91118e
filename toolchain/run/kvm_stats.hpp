// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/host/program.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace previrt {

struct KvmStat {
    std::string name; // KVM's
    std::uint64_t value;
};

// What the host's KVM counted for a virtual machine or processor: the numbers that are not 0. None where it
// does not tell.
std::vector<KvmStat> read_kvm_stats(const Descriptor& machine_or_processor);

} // namespace previrt
