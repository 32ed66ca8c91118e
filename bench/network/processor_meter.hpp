// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <chrono>

namespace previrt {

// The time that programs use of the processors: those that this thread starts while the meter lives, and all
// that descend from them. A process that has ended keeps counting, and so does the part of a tick that one
// still runs in: the kernel's clocks of processes (processor_time) leave both out. Throws InputError where
// the kernel refuses it.
class ProcessorMeter {
public:
    ProcessorMeter();

    // It never falls.
    [[nodiscard]] std::chrono::nanoseconds used() const;

private:
    Descriptor counter_;
};

} // namespace previrt
