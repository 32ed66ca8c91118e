// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"
#include "monitor/guest/mapping.hpp"
#include "monitor/kvm/interface.hpp"

#include <csignal>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace previrt {

// A processor of a KVM that runs level 0 on the processor. Each request throws InputError if KVM refuses it.
class VirtualProcessor {
public:
    VirtualProcessor(const Descriptor& kvm, const Descriptor& machine, unsigned number = 0);

    // Runs until an exit. False: a signal caused it, and has been taken.
    bool run();
    // Completes the instruction that exited, and begins no other.
    void finish_instruction();
    // The same. False: the same instruction made a further access to memory.
    [[nodiscard]] bool try_to_finish_instruction();
    // Discards the exited instruction's accesses to memory: the processor is again in front of it.
    void undo_instruction();
    // `signal` arrives in run() and wait() alone; elsewhere the calling thread blocks it.
    void let_signal_in(int signal);
    // For the signal.
    void wait();
    // Whether a signal has come since the last question.
    [[nodiscard]] bool signal_came() { return std::exchange(signal_came_, false); }

    [[nodiscard]] kvm_run& exit() const { return *reinterpret_cast<kvm_run*>(shared_.bytes().data()); }
    // Of a port access: its elements in order.
    [[nodiscard]] std::span<std::uint8_t> port_data() const;

    [[nodiscard]] kvm_regs registers() const;
    void set_registers(const kvm_regs& registers);
    [[nodiscard]] kvm_sregs system_registers() const;
    void set_system_registers(const kvm_sregs& registers);
    void interrupt(std::uint8_t vector);
    // The guest-physical address of a virtual one; nullopt: none is mapped there.
    [[nodiscard]] std::optional<std::uint64_t> translate(std::uint64_t address) const;

    // If KVM has its local APIC: one of KVM_MP_STATE_...
    [[nodiscard]] std::uint32_t state() const;
    void set_state(std::uint32_t state);

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

// QEMU interprets this machine.
bool has_emulated_processor();

} // namespace previrt
