// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/kvm/privileged/contract/mailbox.hpp"
#include "monitor/kvm/privileged/virtual_processor.hpp"

#include <atomic>

namespace previrt {

// Runs the VMM on the guest's processor, by page tables of its own, and puts the guest back as it was.
class VmmQuestions {
public:
    // `root`: of the page tables, guest-physical. `stopped`: no answer is wanted any more.
    VmmQuestions(VirtualProcessor& processor, kvm_privileged::Mailbox& mailbox,
                 const kvm_privileged::ImageHeader& header, std::uint64_t root,
                 const std::atomic<bool>& stopped);

    // The rest of what it asks stands in the mailbox. Call this where no instruction waits for its end.
    // False: the VMM has ended the guest, or we have. Throws InputError where it broke down.
    [[nodiscard]] bool ask(kvm_privileged::Question question);
    // The first question: afterwards the processor is where the guest begins.
    [[nodiscard]] bool load();

private:
    void enter(const kvm_sregs& guest);
    [[nodiscard]] bool answer();

    VirtualProcessor& processor_;
    kvm_privileged::Mailbox& mailbox_;
    kvm_privileged::ImageHeader header_;
    std::uint64_t root_;
    const std::atomic<bool>& stopped_;
};

} // namespace previrt
