// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/kvm/privileged/guest.hpp"
#include "monitor/kvm/privileged/guest_processor.hpp"
#include "monitor/kvm/privileged/interrupt_controllers.hpp"
#include "monitor/kvm/privileged/kicked_thread.hpp"
#include "monitor/kvm/privileged/processor_survey.hpp"
#include "monitor/kvm/privileged/shared_devices.hpp"
#include "monitor/kvm/privileged/vmm_processor.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace previrt {

// Several processors of a guest that keeps its privileges, each in a thread of its own, and one more for the
// VMM.
class PrivilegedProcessors : public PrivilegedGuest {
public:
    // Throws InputError if the host's KVM gives fewer.
    PrivilegedProcessors(const Descriptor& kvm, const Descriptor& machine, unsigned count,
                         const PrivilegedParts& parts, InterruptControllers& controllers,
                         const Descriptor& woken);

    // Before run(). `rewrite`: if false, the guest stays unchanged, and every access to a device exits to
    // here.
    void start(const KvmTime& epoch, std::uint64_t guest_memory, bool rewrite,
               std::function<void()> output_came);
    [[nodiscard]] const Descriptor& boot_processor() const {
        return guests_.front()->processor().descriptor();
    }

    ProcessorEnd run() override;
    void stop(pthread_t thread) override;
    void input_came() override;
    void packets_came() override;

    [[nodiscard]] KvmExits exits() const override;
    [[nodiscard]] std::vector<KvmStat> read_stats() const override;
    [[nodiscard]] std::vector<PostCode> post_codes() const override { return {}; }

private:
    void stop_all();
    void run_guest(GuestProcessor& guest) noexcept;
    void run_vmm() noexcept;
    void end_with(ProcessorEnd end);
    [[nodiscard]] bool begin_boot_processor();
    [[nodiscard]] bool activate_if_possible();
    [[nodiscard]] bool others_wait_for_start();
    [[nodiscard]] bool serve();
    void sleep();
    [[nodiscard]] bool have_halted();

    const Descriptor& machine_;
    PrivilegedParts parts_;
    const Descriptor& woken_;
    bool may_activate_ = false;
    std::atomic<bool> stopped_ = false;
    ProcessorSurvey survey_;
    VmmProcessor vmm_;
    std::vector<std::unique_ptr<GuestProcessor>> guests_; // the boot processor first
    std::unique_ptr<SharedDevices> devices_;
    KickedThread vmm_thread_;
    std::atomic_flag has_end_;
    ProcessorEnd end_;
    // The VMM's thread alone: see have_halted().
    std::chrono::steady_clock::time_point next_survey_;
    std::chrono::milliseconds survey_pause_{};
    bool had_halted_ = false;
};

} // namespace previrt
