// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"
#include "monitor/guest/mapping.hpp"
#include "monitor/kvm/interface.hpp"

#include <csignal>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace previrt {

// A processor of KVM's that runs level 0 itself. Each request throws InputError where KVM refuses it.
class VirtualProcessor {
public:
    VirtualProcessor(const Descriptor& kvm, const Descriptor& machine);

    // Until it comes back: false where a signal made it, which is then gone.
    bool run();
    // Lets an instruction that it came back for end, and no other begin.
    void finish_instruction();
    // The same. False: it came back for an access to memory of the same instruction.
    [[nodiscard]] bool try_to_finish_instruction();
    // Its accesses to memory that it came back for come to nothing: it is again where it was before it.
    void undo_instruction();
    // In run() and wait() alone `signal` arrives; elsewhere the calling thread holds it back.
    void let_signal_in(int signal);
    // For the signal.
    void wait();
    // Whether one has come since the last question.
    [[nodiscard]] bool signal_came() { return std::exchange(signal_came_, false); }

    [[nodiscard]] kvm_run& exit() const { return *reinterpret_cast<kvm_run*>(shared_.bytes().data()); }
    // Of a port's access: one element after the other.
    [[nodiscard]] std::span<std::uint8_t> port_data() const;

    [[nodiscard]] kvm_regs registers() const;
    void set_registers(const kvm_regs& registers);
    [[nodiscard]] kvm_sregs system_registers() const;
    void set_system_registers(const kvm_sregs& registers);
    void interrupt(std::uint8_t vector);

    // " at RIP ..." for messages.
    [[nodiscard]] std::string place() const;
    [[nodiscard]] const Descriptor& descriptor() const { return processor_; }

private:
    void take_signals();

    Descriptor processor_;
    Mapping shared_; // struct kvm_run
    sigset_t signals_{};
    bool signal_came_ = false;
};

} // namespace previrt
