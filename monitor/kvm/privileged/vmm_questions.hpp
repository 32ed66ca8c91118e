// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/kvm/privileged/contract/mailbox.hpp"
#include "monitor/kvm/privileged/virtual_processor.hpp"

#include <atomic>

namespace previrt {

// The processor is at the VMM's entry, in the VMM's page tables. `root`: guest-physical. `guest`: its state
// before.
void enter_vmm(VirtualProcessor& processor, const kvm_privileged::ImageHeader& header, std::uint64_t root,
               const kvm_sregs& guest);
// For the VMM's walks of page tables.
void describe_asker(kvm_privileged::Mailbox& mailbox, const kvm_sregs& guest);
// The processor is at the guest's first instruction.
void begin_guest(VirtualProcessor& processor, const BootState& boot);

// Runs the VMM on the guest's processor, in page tables of the VMM's own, and restores the guest's state.
class VmmQuestions {
public:
    // `root`: of the page tables, guest-physical. `stopped`: the monitor wants no answer any more.
    VmmQuestions(VirtualProcessor& processor, kvm_privileged::Mailbox& mailbox,
                 const kvm_privileged::ImageHeader& header, std::uint64_t root,
                 const std::atomic<bool>& stopped);

    // The mailbox has the question's operands. No instruction may be waiting for its completion. False: the
    // VMM has ended the guest, or the monitor has. Throws InputError if the VMM broke down.
    [[nodiscard]] bool ask(kvm_privileged::Question question);
    // The first question. Afterwards the processor is at the guest's first instruction.
    [[nodiscard]] bool load();

private:
    [[nodiscard]] bool answer();

    VirtualProcessor& processor_;
    kvm_privileged::Mailbox& mailbox_;
    kvm_privileged::ImageHeader header_;
    std::uint64_t root_;
    const std::atomic<bool>& stopped_;
};

} // namespace previrt
