// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string_view>

namespace previrt {

// Ends the guest when the model does not cover an access or a state. Prints the reason, the instruction, the
// registers and the last events.
[[noreturn, gnu::cold, gnu::noinline]] void stop_guest(std::string_view reason);
[[noreturn, gnu::cold, gnu::noinline]] void stop_guest(std::string_view reason, std::uint64_t value);
[[noreturn, gnu::cold, gnu::noinline]] void stop_guest(std::string_view reason, std::uint64_t value,
                                                       std::string_view detail);

// The guest's kernel has panicked: prints the registers and the last events. The guest goes on, and ends
// itself.
[[gnu::cold, gnu::noinline]] void tell_of_panic();

// The guest has ended by itself; `word` says how.
[[noreturn, gnu::cold, gnu::noinline]] void end_guest(std::string_view word);

extern bool counters_are_wanted; // print them at the end, for --stats

} // namespace previrt
