// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/process/frame.hpp"

#include <cstdint>

// The entries from a user process, in place of signals and calls of the guest.
namespace previrt::process {

// All registers of the guest but its segments and vector registers; the guest is in user mode.
void take_user_signal(std::uint64_t signal, const SignalInformation& information, const Frame& frame);
void take_user_call(const std::uint64_t (&general)[16], std::uint64_t rip);
// An event came before user mode continued, and user mode cannot continue as planned.
void take_user_event();
void refuse_user_return();

} // namespace previrt::process
