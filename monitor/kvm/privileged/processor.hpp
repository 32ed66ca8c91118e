// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/kvm/privileged/devices.hpp"
#include "monitor/kvm/privileged/guest.hpp"
#include "monitor/kvm/privileged/guest_clock.hpp"
#include "monitor/kvm/privileged/own_accesses.hpp"
#include "monitor/kvm/privileged/parts.hpp"
#include "monitor/kvm/privileged/virtual_processor.hpp"
#include "monitor/kvm/privileged/vmm_questions.hpp"
#include "monitor/kvm/processor.hpp"
#include "monitor/kvm/stats.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <pthread.h>
#include <span>
#include <vector>

namespace previrt {

// The only processor of a guest that keeps its privileges. Models its devices until the VMM can.
class PrivilegedProcessor : public PrivilegedGuest {
public:
    // `rewrite`: if false, the guest stays unchanged, and every access to a device exits to here.
    PrivilegedProcessor(VirtualProcessor& processor, const PrivilegedParts& parts, const KvmTime& epoch,
                        std::uint64_t guest_memory, bool rewrite, std::function<void()> output_came);

    ProcessorEnd run() override;
    void stop(pthread_t thread) override;
    void input_came() override;
    void packets_came() override;

    [[nodiscard]] KvmExits exits() const override { return exits_; }
    [[nodiscard]] std::vector<KvmStat> read_stats() const override { return stats_.read(); }
    [[nodiscard]] std::vector<PostCode> post_codes() const override { return post_codes_; }

private:
    [[nodiscard]] Devices& devices();
    [[nodiscard]] std::uint64_t now();
    [[nodiscard]] bool move_packets();
    void prepare_interrupt(std::uint64_t now);
    void pass_halt();
    [[nodiscard]] std::uint64_t halt_length(std::uint64_t address) const;
    void set_alarm(std::uint64_t now);
    void call_reader();
    [[nodiscard]] bool halt();
    [[nodiscard]] bool judge_exit();
    [[nodiscard]] bool access_ports();
    [[nodiscard]] bool access_memory();
    [[nodiscard]] bool access_own();
    [[nodiscard]] bool access_vmm(std::span<std::uint8_t> data);
    [[nodiscard]] bool serve_request();
    [[nodiscard]] bool activate_if_possible();
    void note_post_code(std::span<const std::uint8_t> data);
    [[nodiscard]] bool ask(kvm_privileged::Question question);
    [[noreturn]] void fail(const std::string& reason) const;

    std::atomic<bool> stopped_ = false;
    VirtualProcessor& processor_;
    VmmQuestions questions_;
    PrivilegedParts parts_;
    GuestClock clock_;
    std::uint64_t epoch_; // nanoseconds from 1970-01-01 to 0 of the clock
    std::uint64_t guest_memory_;
    bool rewrite_;
    std::function<void()> output_came_;
    OwnDevices own_devices_;
    OwnAccesses own_accesses_;
    VmmDevices vmm_devices_;
    bool vmm_is_active_ = false;
    KvmStats stats_;
    bool is_emulated_; // QEMU interprets this machine
    KvmExits exits_;
    std::vector<PostCode> post_codes_;
    std::unique_ptr<AlarmClock> alarm_; // of the running thread
    std::atomic<pthread_t> thread_;
    std::atomic<bool> runs_ = false;
    std::atomic<bool> packets_came_ = false;
    // The value that a read of a register gives when its instruction runs again.
    struct Answer {
        std::uint64_t address;
        std::uint64_t value;
    };
    std::optional<Answer> answer_;
};

} // namespace previrt
