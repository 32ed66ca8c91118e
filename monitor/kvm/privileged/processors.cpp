// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/kvm/privileged/processors.hpp"

#include "host/input_error.hpp"
#include "monitor/guest/confinement.hpp"
#include "monitor/guest/kick_signal.hpp"
#include "monitor/kvm/host.hpp"
#include "monitor/kvm/privileged/vmm_questions.hpp"

#include <algorithm>
#include <exception>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <system_error>
#include <thread>
#include <utility>

namespace previrt {

using namespace kvm_privileged;
using namespace std::chrono_literals;

namespace {

constexpr std::chrono::milliseconds first_survey_pause = 100ms;
constexpr std::chrono::milliseconds last_survey_pause = 3200ms;

// QEMU's emulated VMRUN forgets that no interrupt comes between STI and the HLT behind it. Taken there, an
// interrupt would not end the HLT, and the guest might sleep for ever. If HLT does not exit, any interrupt of
// the host ends it.
void let_emulated_processor_halt(const Descriptor& machine) {
    if (has_emulated_processor()) {
        kvm_enable_cap wanted{};
        wanted.cap = KVM_CAP_X86_DISABLE_EXITS;
        wanted.args[0] = KVM_X86_DISABLE_EXITS_HLT;
        kvm_request(machine, KVM_ENABLE_CAP, "KVM_ENABLE_CAP", &wanted);
    }
}

// Before the first processor. Returns the number of the VMM's.
unsigned prepare(const Descriptor& kvm, const Descriptor& machine, unsigned count) {
    const int most =
        kvm_request(kvm, KVM_CHECK_EXTENSION, "KVM_CHECK_EXTENSION", std::uintptr_t{KVM_CAP_MAX_VCPUS});
    if (count + 1 > static_cast<unsigned>(most)) { // one is the VMM's
        throw InputError("--cpus: this host's KVM gives a guest " + std::to_string(most - 1) +
                         " at most, not " + std::to_string(count));
    }
    let_emulated_processor_halt(machine);
    return count;
}

} // namespace

PrivilegedProcessors::PrivilegedProcessors(const Descriptor& kvm, const Descriptor& machine, unsigned count,
                                           const PrivilegedParts& parts, InterruptControllers& controllers,
                                           const Descriptor& woken)
    : machine_(machine), parts_(parts), woken_(woken), survey_(count),
      vmm_(kvm, machine, prepare(kvm, machine, count), parts, controllers, woken, stopped_) {
    for (unsigned number = 0; number < count; ++number) {
        guests_.push_back(
            std::make_unique<GuestProcessor>(kvm, machine, number, parts, controllers, survey_));
    }
    receive_calling_signals();
}

void PrivilegedProcessors::start(const KvmTime& epoch, std::uint64_t guest_memory, bool rewrite,
                                 std::function<void()> output_came) {
    may_activate_ = rewrite;
    devices_ = std::make_unique<SharedDevices>(boot_processor(), parts_, epoch, guest_memory,
                                               vmm_.controllers(), vmm_, woken_, std::move(output_came));
}

void PrivilegedProcessors::input_came() {
    devices_->come();
    eventfd_write(woken_.number(), 1);
}

void PrivilegedProcessors::packets_came() {
    input_came();
}

void PrivilegedProcessors::stop(pthread_t /*thread*/) {
    stop_all();
}

void PrivilegedProcessors::stop_all() {
    stopped_ = true;
    for (const std::unique_ptr<GuestProcessor>& guest : guests_) {
        guest->kick();
    }
    vmm_thread_.kick();
    eventfd_write(woken_.number(), 1);
}

// The first one counts.
void PrivilegedProcessors::end_with(ProcessorEnd end) {
    if (!has_end_.test_and_set()) {
        end_ = std::move(end);
    }
    stop_all();
}

ProcessorEnd PrivilegedProcessors::run() {
    std::vector<std::jthread> threads;
    try {
        threads.emplace_back([this] { run_vmm(); });
        for (std::size_t i = 1; i < guests_.size(); ++i) {
            threads.emplace_back([this, i] { run_guest(*guests_[i]); });
        }
    } catch (const std::system_error&) { // this machine gives no more threads
        stop_all();
        throw;
    }
    run_guest(*guests_.front());
    threads.clear(); // waits for them
    devices_->call_reader();
    return end_;
}

void PrivilegedProcessors::run_guest(GuestProcessor& guest) noexcept {
    try {
        guest.begin();
        const bool boots = &guest == guests_.front().get();
        bool lives = !boots || begin_boot_processor();
        confine_one_of_several(guest.processor().descriptor().number(), machine_.number());
        while (lives && !stopped_) {
            lives = guest.run(*devices_, vmm_) && (!boots || activate_if_possible());
        }
        if (!lives) {
            end_with({.guest_rang = true, .failure = {}});
        }
    } catch (const std::exception& error) {
        end_with({.guest_rang = false, .failure = error.what()});
    }
    guest.end();
}

bool PrivilegedProcessors::begin_boot_processor() {
    if (!vmm_.ask({.question = Question::load})) {
        return false;
    }
    begin_guest(guests_.front()->processor(), parts_.mailbox.boot);
    return true;
}

// When Linux first accesses its devices, its page tables already have the directory that all of them share,
// and no other processor has begun.
bool PrivilegedProcessors::activate_if_possible() {
    VirtualProcessor& processor = guests_.front()->processor();
    if (!may_activate_ || processor.exit().exit_reason != KVM_EXIT_IO || !devices_->can_activate(processor)) {
        return true;
    }
    may_activate_ = false;
    return !others_wait_for_start() || devices_->activate(processor);
}

bool PrivilegedProcessors::others_wait_for_start() {
    survey_.begin();
    bool all_wait = true;
    for (std::size_t i = 1; i < guests_.size(); ++i) {
        guests_[i]->kick();
    }
    for (unsigned i = 1; i < guests_.size(); ++i) {
        all_wait = survey_.answer_of(i) == ProcessorSurvey::Activity::waits_for_start && all_wait;
    }
    return all_wait;
}

void PrivilegedProcessors::run_vmm() noexcept {
    try {
        vmm_.begin();
        vmm_thread_.begin();
        prctl(PR_SET_TIMERSLACK, 1);
        confine_vmm_processor_thread(vmm_.processor().descriptor().number(), machine_.number());
        bool lives = true;
        while (lives && !stopped_) {
            sleep();
            lives = serve();
        }
        if (!lives) {
            end_with({.guest_rang = !stopped_, .failure = {}});
        }
    } catch (const std::exception& error) {
        end_with({.guest_rang = false, .failure = error.what()});
    }
    vmm_thread_.end();
    vmm_.end();
}

bool PrivilegedProcessors::serve() {
    if (!vmm_.answer_others() || !devices_->attend()) {
        return false;
    }
    return !have_halted() || vmm_.answer({.question = Question::halt});
}

void PrivilegedProcessors::sleep() {
    constexpr std::uint64_t second = 1'000'000'000;
    const auto to_survey = std::max(next_survey_ - std::chrono::steady_clock::now(), 0ns);
    const std::uint64_t wait =
        std::min(devices_->begin_sleep(), static_cast<std::uint64_t>(to_survey.count()));
    const timespec time{.tv_sec = static_cast<time_t>(wait / second),
                        .tv_nsec = static_cast<long>(wait % second)};
    pollfd woken{.fd = woken_.number(), .events = POLLIN, .revents = 0};
    if (wait != 0) {
        ppoll(&woken, 1, &time, nullptr);
    }
    eventfd_t calls = 0;
    if (eventfd_read(woken_.number(), &calls) == 0) {
        survey_pause_ = first_survey_pause; // the guest does something
        next_survey_ = std::min(next_survey_, std::chrono::steady_clock::now() + survey_pause_);
    }
    devices_->end_sleep();
}

// Nothing wakes a guest whose processors have all halted with interrupts disabled. KVM tells nobody: each
// processor is interrupted and looks, more rarely the longer the guest does nothing here. Two surveys have to
// say the same, because one processor may wake another one behind its answer.
bool PrivilegedProcessors::have_halted() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_survey_) {
        return false;
    }
    const bool has_halted = survey_.all_have_halted();
    const bool result = has_halted && std::exchange(had_halted_, has_halted);
    had_halted_ = has_halted;
    survey_pause_ = has_halted ? first_survey_pause : std::min(survey_pause_ * 2, last_survey_pause);
    next_survey_ = now + survey_pause_;
    survey_.begin();
    for (const std::unique_ptr<GuestProcessor>& guest : guests_) {
        guest->kick();
    }
    return result;
}

KvmExits PrivilegedProcessors::exits() const {
    KvmExits sum;
    for (const std::unique_ptr<GuestProcessor>& guest : guests_) {
        for (const auto& [reason, count] : guest->exits()) {
            sum[reason] += count;
        }
    }
    return sum;
}

std::vector<KvmStat> PrivilegedProcessors::read_stats() const {
    std::vector<KvmStat> sum;
    for (const std::unique_ptr<GuestProcessor>& guest : guests_) {
        add_stats(sum, guest->read_stats());
    }
    return sum;
}

} // namespace previrt
