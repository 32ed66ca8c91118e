// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/kvm/privileged/vmm_processor.hpp"

#include "monitor/guest/kick_signal.hpp"
#include "monitor/kvm/privileged/features.hpp"
#include "monitor/kvm/privileged/vmm_questions.hpp"
#include "monitor/kvm/privileged/vmm_requests.hpp"
#include "monitor/kvm/time.hpp"

#include <sys/eventfd.h>

namespace previrt {

using namespace kvm_privileged;

VmmProcessor::VmmProcessor(const Descriptor& kvm, const Descriptor& machine, unsigned number,
                           const PrivilegedParts& parts, InterruptControllers& controllers,
                           const Descriptor& woken, const std::atomic<bool>& stopped)
    : processor_(kvm, machine, number), parts_(parts), controllers_(controllers), woken_(woken),
      stopped_(stopped) {
    set_rate_of_host(processor_.descriptor());
    set_features(kvm, processor_.descriptor()); // switches its local APIC off: no message reaches it
    processor_.set_state(KVM_MP_STATE_RUNNABLE);
    state_ = processor_.system_registers();
}

void VmmProcessor::begin() {
    processor_.let_signal_in(calling_signal());
}

std::optional<std::uint64_t> VmmProcessor::ask(const VmmQuestion& question) {
    Waiting mine{.question = question, .is_answered = false, .value = std::nullopt};
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ == nullptr || has_ended_; });
    if (has_ended_) {
        return std::nullopt;
    }
    waiting_ = &mine;
    eventfd_write(woken_.number(), 1);
    changed_.wait(lock, [&] { return mine.is_answered; });
    return mine.value;
}

bool VmmProcessor::answer_others() {
    for (;;) {
        Waiting* waiting = nullptr;
        {
            const std::lock_guard guard(mutex_);
            waiting = waiting_;
        }
        if (waiting == nullptr) {
            return true;
        }
        const bool lives = answer(waiting->question);
        const std::lock_guard guard(mutex_);
        if (!lives) {
            return false; // end() tells the one that waits
        }
        waiting->value = parts_.mailbox.value;
        waiting->is_answered = true;
        waiting_ = nullptr;
        changed_.notify_all();
    }
}

void VmmProcessor::end() {
    const std::lock_guard guard(mutex_);
    has_ended_ = true;
    if (waiting_ != nullptr) {
        waiting_->is_answered = true;
        waiting_ = nullptr;
    }
    changed_.notify_all();
}

bool VmmProcessor::answer(const VmmQuestion& question) {
    Mailbox& mailbox = parts_.mailbox;
    mailbox.question = question.question;
    mailbox.address = question.address;
    mailbox.width = question.width;
    mailbox.value = question.value;
    mailbox.announcement = question.announcement;
    describe_asker(mailbox, question.asker);
    enter_vmm(processor_, parts_.header, parts_.vmm_root, state_);
    return run_to_answer();
}

bool VmmProcessor::run_to_answer() {
    while (const std::optional<PortRequest> request = run_to_request(processor_, stopped_)) {
        switch (*request) {
        case PortRequest::answer:
            processor_.finish_instruction();
            return true;
        case PortRequest::ended:
            return false;
        case PortRequest::lines:
            controllers_.set_lines(parts_.mailbox.lines, parts_.mailbox.rises);
            break;
        case PortRequest::release:
            give_pages_back(parts_, processor_);
            break;
        default:
            break;
        }
    }
    return false;
}

} // namespace previrt
