// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/monitor_link/clock.hpp"
#include "host/program.hpp"

#include <cstdint>

namespace previrt {

using KvmTime = monitored::ClockStart;

// Of a virtual processor. Throws InputError.
std::uint64_t read_kvm_time_stamp(const Descriptor& processor);
// Before it runs: lets the counter run at the host's rate, and reads it.
KvmTime start_kvm_time(const Descriptor& processor);
// Part of it: for the other processors.
void set_rate_of_host(const Descriptor& processor);

} // namespace previrt
