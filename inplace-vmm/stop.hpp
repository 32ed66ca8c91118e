// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string_view>

namespace previrt {

// What the model does not cover ends the guest, loudly: the reason, the instruction, the registers, the last
// events.
[[noreturn]] void stop_guest(std::string_view reason);
[[noreturn]] void stop_guest(std::string_view reason, std::uint64_t value);
[[noreturn]] void stop_guest(std::string_view reason, std::uint64_t value, std::string_view detail);

// The guest's kernel has said that it gives up: the registers and the last events. The guest goes on, to end
// itself.
void tell_of_panic();

// Why the guest ended by itself, and how.
[[noreturn]] void end_guest(std::string_view word);

extern bool counters_are_wanted; // at the end, for --stats

} // namespace previrt
