// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/process/frame.hpp"

#include <cstdint>

// What user mode of a process of its own comes in with, as signals and calls of the guest's do elsewhere.
namespace previrt::process {

// The guest's registers, but for its segments and vector registers; the guest is in user mode.
void take_user_signal(std::uint64_t signal, const SignalInformation& information, const Frame& frame);
void take_user_call(const std::uint64_t (&general)[16], std::uint64_t rip);
// An event has come before user mode went on, and where it cannot go on as it was to.
void take_user_event();
void refuse_user_return();

} // namespace previrt::process
