// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/console/guest_console.hpp"
#include "monitor/disk/guest_disks.hpp"
#include "monitor/guest/guest_threads.hpp"
#include "monitor/guest/mapping.hpp"
#include "monitor/kvm/image.hpp"
#include "monitor/kvm/layout.hpp"
#include "monitor/kvm/privileged/processor.hpp"
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

// A virtual machine of a KVM that runs level 0 on the processor: memory, a processor, and the doorbells of
// its console and network.
class PrivilegedMachine {
public:
    // Throws InputError.
    PrivilegedMachine(const Descriptor& kvm, const PrivilegedImage& image, std::uint64_t guest_memory,
                      std::span<const std::uint8_t> package, bool rewrite, const std::string& net,
                      const std::vector<std::string>& disks);

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
    [[nodiscard]] std::span<std::uint8_t> vmm_memory() const;
    template <typename Structure>
    [[nodiscard]] Structure& at(std::uint64_t offset) const;

    std::optional<GuestNetwork> network_;
    GuestDisks disks_;
    KvmLayout layout_;
    kvm_privileged::ImageHeader header_;
    bool rewrite_;
    Mapping memory_;
    Descriptor machine_;
    ConsoleEvents events_;
    std::unique_ptr<VirtualProcessor> processor_;
    std::unique_ptr<PrivilegedProcessor> guest_;
    std::unique_ptr<MonitoredConsole> console_;
};

} // namespace previrt
