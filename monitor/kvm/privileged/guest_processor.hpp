// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/kvm/privileged/kicked_thread.hpp"
#include "monitor/kvm/privileged/processor_survey.hpp"
#include "monitor/kvm/privileged/shared_devices.hpp"
#include "monitor/kvm/privileged/vmm_processor.hpp"
#include "monitor/kvm/processor.hpp"
#include "monitor/kvm/stats.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace previrt {

// One of several processors of a guest that keeps its privileges. It starts, sleeps and gets interrupts by
// its local APIC, in KVM. A thread of its own runs it.
class GuestProcessor {
public:
    GuestProcessor(const Descriptor& kvm, const Descriptor& machine, unsigned number,
                   const PrivilegedParts& parts, InterruptControllers& controllers, ProcessorSurvey& survey);

    // The thread's first call. From then on kick() interrupts KVM_RUN.
    void begin();
    // From another thread. Nothing happens before begin() and behind end().
    void kick() const { thread_.kick(); }

    // One run of KVM's, and the guest's wish. False: the guest has ended. Throws InputError if it fails.
    [[nodiscard]] bool run(SharedDevices& devices, VmmProcessor& vmm);

    [[nodiscard]] VirtualProcessor& processor() { return processor_; }
    // Valid after the last run().
    [[nodiscard]] const KvmExits& exits() const { return exits_; }
    [[nodiscard]] std::vector<KvmStat> read_stats() const { return stats_.read(); }
    // The processor runs no more. It answers any survey.
    void end();

private:
    [[nodiscard]] bool judge_exit(SharedDevices& devices, VmmProcessor& vmm);
    [[nodiscard]] bool access_ports(SharedDevices& devices, VmmProcessor& vmm);
    [[nodiscard]] bool serve_request(VmmProcessor& vmm);
    [[nodiscard]] ProcessorSurvey::Activity activity() const;
    [[nodiscard]] bool is_behind_halt(std::uint64_t rip) const;
    [[noreturn]] void fail(const std::string& reason) const;

    VirtualProcessor processor_;
    unsigned number_;
    PrivilegedParts parts_;
    InterruptControllers& controllers_;
    ProcessorSurvey& survey_;
    KvmStats stats_;
    bool is_emulated_; // QEMU interprets this machine
    KvmExits exits_;
    KickedThread thread_;
};

} // namespace previrt
