// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/host/program.hpp"

#include <cstdint>

namespace previrt {

struct KvmTime {
    std::uint64_t time_stamp_khz;
    std::uint64_t epoch_nanoseconds; // of the wall clock, when the guest's time-stamp counter read this:
    std::uint64_t epoch_time_stamp;
};

// Of a virtual processor. Throws InputError.
std::uint64_t read_kvm_time_stamp(const Descriptor& processor);
KvmTime read_kvm_time(const Descriptor& processor);

} // namespace previrt
