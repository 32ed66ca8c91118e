// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/channel/guest_channel.hpp"
#include "monitor/console/guest_console.hpp"
#include "monitor/disk/guest_disks.hpp"
#include "monitor/folder/guest_folders.hpp"
#include "monitor/guest/guest_threads.hpp"
#include "monitor/guest/mapping.hpp"
#include "monitor/kvm/image.hpp"
#include "monitor/kvm/layout.hpp"
#include "monitor/kvm/processors.hpp"
#include "monitor/network/guest_network.hpp"
#include "monitor/options.hpp"
#include "monitor/port/guest_ports.hpp"
#include "monitor/qemu/machine.hpp"

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace previrt {

// A virtual machine of the host's KVM. It has only memory, processors, their local APICs, and the doorbells.
class KvmMachine {
public:
    // `kvm`: /dev/kvm. `options`: those of run(). The package is theirs too. Throws InputError.
    KvmMachine(const Descriptor& kvm, const KvmImage& image, const RunOptions& options,
               std::span<const std::uint8_t> package, UserMode user_mode);

    // Call it once. Runs until the guest ends, or the monitor has to end it. Its console is the options'; the
    // options must outlive this.
    MonitoredEnd run(const RunOptions& options);
    // Valid after run().
    [[nodiscard]] const MonitoredConsole& console() const { return *console_; }
    // Of the options' command; null: there is none.
    [[nodiscard]] const CommandEnd* command_end() const {
        return channel_ ? channel_->command_end() : nullptr;
    }
    // For the file of counters, beside those that the VMM prints: all of its counts of instructions.
    [[nodiscard]] nlohmann::json counts() const;

    // For --verbose.
    void describe(std::ostream& output) const;
    void describe_end(std::ostream& output) const;

private:
    void add_memory();
    void add_doorbell(std::uint64_t which, const Descriptor& event);
    void add_doorbells();
    void add_calls() const;
    [[nodiscard]] std::uint32_t& event_word() const;
    [[nodiscard]] std::optional<CountsMemory> counts_memory() const;
    void call() const;
    [[nodiscard]] kvm::Handover& handover() const;
    void write_handover(const RunOptions& options);
    [[nodiscard]] std::span<std::uint8_t> vmm_memory() const;
    template <typename Ring>
    [[nodiscard]] Ring& ring(const kvm::Part& part) const;

    std::optional<GuestNetwork> network_;
    GuestFolders folders_;
    GuestDisks disks_;
    std::unique_ptr<GuestChannel> channel_;
    GuestPorts ports_;
    KvmLayout layout_;
    UserMode user_mode_;
    Descriptor file_; // of its memory, if servers of folders map it
    Mapping memory_;
    Descriptor machine_;
    std::uint64_t event_word_;                        // its offset in the VMM's memory
    std::optional<std::uint64_t> instruction_counts_; // likewise
    ConsoleEvents events_;
    Descriptor called_; // an eventfd: the boot processor has an interrupt
    std::unique_ptr<KvmProcessors> processors_;
    std::unique_ptr<MonitoredConsole> console_;
};

} // namespace previrt
