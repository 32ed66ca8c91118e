// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt::process {

// Of a host process: the time in which it had the turn and work, beside the processor time that it got.
struct TurnTime {
    std::uint64_t began;          // of the turn that it has, less the time that it slept meanwhile
    std::uint64_t had;            // in earlier turns, since it was last compared
    std::uint64_t processor_time; // when it was last compared
    std::int64_t ahead;           // of the processor time; negative if clocks differ by a little
};

// The current process hands the turn to another one, which becomes the current one.
void end_turn();
void begin_turn();
// The current process has slept since then.
void exclude_sleep(std::uint64_t since);

} // namespace previrt::process
