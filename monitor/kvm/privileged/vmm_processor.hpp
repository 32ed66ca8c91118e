// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/kvm/privileged/contract/mailbox.hpp"
#include "monitor/kvm/privileged/interrupt_controllers.hpp"
#include "monitor/kvm/privileged/parts.hpp"
#include "monitor/kvm/privileged/virtual_processor.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

namespace previrt {

// A question to the VMM, with its operands.
struct VmmQuestion {
    kvm_privileged::Question question;
    kvm_sregs asker{}; // the state of the guest's processor
    std::uint64_t address = 0;
    std::uint32_t width = 0;
    std::uint64_t value = 0;
    kvm_privileged::Announcement announcement{};
};

// A processor beside those of a guest with several. The guest does not see it: it has no local APIC. It
// executes the VMM for the monitor, so that no processor of the guest has to be interrupted for that. A
// thread of its own runs it, and answers the questions of the others.
class VmmProcessor {
public:
    // `woken`: an eventfd on which its thread sleeps.
    VmmProcessor(const Descriptor& kvm, const Descriptor& machine, unsigned number,
                 const PrivilegedParts& parts, InterruptControllers& controllers, const Descriptor& woken,
                 const std::atomic<bool>& stopped);

    // From another thread: waits for the answer's value. nullopt: the guest has ended, or is to end.
    std::optional<std::uint64_t> ask(const VmmQuestion& question);

    // In its own thread, each. False: the VMM has ended the guest, or the monitor has. Throws InputError if
    // the VMM broke down.
    void begin();
    [[nodiscard]] bool answer(const VmmQuestion& question);
    [[nodiscard]] bool answer_others();
    // No question is answered any more.
    void end();

    [[nodiscard]] VirtualProcessor& processor() { return processor_; }
    [[nodiscard]] InterruptControllers& controllers() { return controllers_; }

private:
    struct Waiting {
        const VmmQuestion& question;
        bool is_answered = false;
        std::optional<std::uint64_t> value;
    };
    [[nodiscard]] bool run_to_answer();

    VirtualProcessor processor_;
    PrivilegedParts parts_;
    InterruptControllers& controllers_;
    const Descriptor& woken_;
    const std::atomic<bool>& stopped_;
    kvm_sregs state_{};
    std::mutex mutex_;
    std::condition_variable changed_;
    Waiting* waiting_ = nullptr;
    bool has_ended_ = false;
};

} // namespace previrt
