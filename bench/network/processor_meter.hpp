// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <chrono>

namespace previrt {

// The processor time of the programs that this thread starts while the meter lives, and of their descendants.
// It includes ended processes and the current tick of running ones, which the kernel's clocks of processes
// (processor_time) leave out. Throws InputError if the kernel refuses it.
class ProcessorMeter {
public:
    ProcessorMeter();

    // Never decreases.
    [[nodiscard]] std::chrono::nanoseconds used() const;

private:
    Descriptor counter_;
};

} // namespace previrt
