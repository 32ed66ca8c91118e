// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <cstdint>
#include <mutex>

namespace previrt {

// KVM's interrupt controllers of a virtual machine with several processors: the 8259s, the I/O APIC, and a
// local APIC for each processor.
class InterruptControllers {
public:
    // Before the processors are created. Throws InputError.
    explicit InterruptControllers(const Descriptor& machine);

    // The devices' lines, a bit for each: those that have changed are moved. `rises`: those that have risen
    // meanwhile, even if they are as before. From any thread.
    void set_lines(std::uint32_t lines, std::uint32_t rises);

private:
    void set_line(unsigned line, bool asserted);

    const Descriptor& machine_;
    std::mutex mutex_;
    std::uint32_t lines_ = 0;
};

// The state of a boot processor's local APIC that firmware leaves: on, with the 8259s at LINT0, and NMIs at
// LINT1.
void start_boot_apic(const Descriptor& processor);

} // namespace previrt
