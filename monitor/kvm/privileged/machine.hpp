// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/console/guest_console.hpp"
#include "monitor/disk/guest_disks.hpp"
#include "monitor/guest/guest_threads.hpp"
#include "monitor/guest/mapping.hpp"
#include "monitor/kvm/image.hpp"
#include "monitor/kvm/layout.hpp"
#include "monitor/kvm/privileged/processor.hpp"
#include "monitor/kvm/privileged/processors.hpp"
#include "monitor/network/guest_network.hpp"
#include "monitor/options.hpp"

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace previrt {

// A virtual machine of a KVM that runs level 0 on the processor: memory, processors, and the doorbells of its
// console and network.
class PrivilegedMachine {
public:
    // Throws InputError.
    PrivilegedMachine(const Descriptor& kvm, const PrivilegedImage& image, const RunOptions& options,
                      std::span<const std::uint8_t> package);

    // Call it once. Runs until the guest ends, or the monitor has to end it.
    MonitoredEnd run(const RunOptions& options);
    // Valid after run().
    [[nodiscard]] const MonitoredConsole& console() const { return *console_; }
    // The exits, for the file of counters.
    [[nodiscard]] nlohmann::json counts() const;

    // For --verbose, before and after run().
    void describe(std::ostream& output) const;
    void describe_end(std::ostream& output) const;

private:
    void add_memory();
    void add_doorbell(std::uint16_t port, const Descriptor& event);
    void add_doorbells();
    void write_handover(const KvmTime& time);
    [[nodiscard]] PrivilegedParts parts(bool strict) const;
    void start_processors(const RunOptions& options);
    [[nodiscard]] std::span<std::uint8_t> vmm_memory() const;
    template <typename Structure>
    [[nodiscard]] Structure& at(std::uint64_t offset) const;

    std::optional<GuestNetwork> network_;
    GuestDisks disks_;
    KvmLayout layout_;
    kvm_privileged::ImageHeader header_;
    unsigned processor_count_;
    Mapping memory_;
    Descriptor machine_;
    ConsoleEvents events_;
    std::unique_ptr<VirtualProcessor> processor_; // the only one
    // Of a guest with several.
    Descriptor woken_; // an eventfd: the VMM's processor has work
    std::unique_ptr<InterruptControllers> controllers_;
    std::unique_ptr<PrivilegedProcessors> processors_;
    std::unique_ptr<PrivilegedGuest> only_;
    PrivilegedGuest* guest_ = nullptr; // either
    std::unique_ptr<MonitoredConsole> console_;
};

} // namespace previrt
