// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/kvm/deprivileged/contract/handover.hpp"
#include "host/program.hpp"
#include "monitor/guest/mapping.hpp"
#include "monitor/guest/processor_end.hpp"
#include "monitor/kvm/layout.hpp"
#include "monitor/kvm/processor.hpp"
#include "monitor/kvm/stats.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace previrt {

// The processors of a virtual machine, each in a thread of its own.
class KvmProcessors {
public:
    // Throws InputError if the host's KVM has fewer.
    KvmProcessors(const Descriptor& kvm, const Descriptor& machine, unsigned count);

    // False: KVM does not tell.
    [[nodiscard]] bool show_stolen_times(const KvmLayout& layout) const;
    void prepare(const kvm::ImageHeader& header, const KvmLayout& layout, UserMode user_mode);
    [[nodiscard]] KvmProcessor& boot_processor() const { return *processors_.front(); }

    // The boot processor's thread is the calling one. Each thread confines itself. Returns the end of the
    // processor that ended first, when all have. `ended`: an eventfd that tells of it.
    ProcessorEnd run(std::span<std::uint8_t> memory, Backing backing, const Descriptor& ended);
    // From another thread.
    void stop() const;

    // Valid after run(). Sums.
    [[nodiscard]] KvmExits exits() const;
    [[nodiscard]] std::vector<KvmStat> read_stats() const;

private:
    void run_one(KvmProcessor& processor, std::span<std::uint8_t> memory, Backing backing,
                 const Descriptor& ended) noexcept;

    std::vector<std::unique_ptr<KvmProcessor>> processors_;
    std::atomic_flag has_end_;
    ProcessorEnd end_;
};

} // namespace previrt
