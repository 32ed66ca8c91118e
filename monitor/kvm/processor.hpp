// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/kvm/deprivileged/contract/handover.hpp"
#include "host/program.hpp"
#include "monitor/guest/mapping.hpp"
#include "monitor/guest/processor_end.hpp"
#include "monitor/kvm/stats.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <pthread.h>
#include <span>
#include <string>
#include <vector>

namespace previrt {

// The number of exits of KVM_RUN, by reason.
using KvmExits = std::map<std::uint32_t, std::uint64_t>;

// Whether the guest's user mode has page tables of its own, or can access all that its kernel can.
enum class UserMode : std::uint8_t { with_kernel, isolated };

class KvmProcessor {
public:
    KvmProcessor(const Descriptor& kvm, const Descriptor& machine, unsigned number = 0);

    // The state in which the VMM's image begins. `root`: of its page tables. The boot processor begins at
    // once, another one with its first interrupt.
    void prepare(const kvm::ImageHeader& header, std::uint64_t root, UserMode user_mode);

    // Until the guest ends, fails, or is stopped. `memory`: from ram_base on, of which the VMM releases
    // pages. Throws only for lack of memory.
    ProcessorEnd run(std::span<std::uint8_t> memory, Backing backing = Backing::own);
    // From another thread: run() returns, or does not begin.
    void stop();

    [[nodiscard]] const Descriptor& descriptor() const { return processor_; }
    // KVM then tells the guest there how long the processor had to wait for this machine. False: it does not.
    [[nodiscard]] bool show_stolen_time(std::uint64_t physical) const;
    // Valid after run().
    [[nodiscard]] const KvmExits& exits() const { return exits_; }
    [[nodiscard]] std::vector<KvmStat> read_stats() const { return KvmStats(processor_).read(); }

private:
    void set_features(const Descriptor& kvm);
    [[nodiscard]] std::optional<ProcessorEnd> judge_exit() const;
    // What the VMM has written to this doorbell of 8 bytes, if it was that.
    [[nodiscard]] std::optional<std::uint64_t> rang(std::uint64_t doorbell) const;
    void wait_for_interrupt() const;
    [[nodiscard]] std::string place() const;

    Descriptor processor_;
    Mapping shared_;               // struct kvm_run
    std::uint64_t components_ = 0; // of XSAVE's area, in KVM
    unsigned number_;
    std::atomic<bool> stopped_ = false;
    std::atomic<pthread_t> thread_; // of run(), or 0
    KvmExits exits_;
};

} // namespace previrt
