// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/process/contract/handover.hpp"
#include "host/program.hpp"
#include "monitor/channel/guest_channel.hpp"
#include "monitor/console/guest_console.hpp"
#include "monitor/disk/guest_disks.hpp"
#include "monitor/folder/guest_folders.hpp"
#include "monitor/guest/guest_threads.hpp"
#include "monitor/guest/mapping.hpp"
#include "monitor/network/guest_network.hpp"
#include "monitor/port/guest_ports.hpp"
#include "monitor/process/bounds/guest_bounds.hpp"
#include "monitor/process/bounds/guest_watch.hpp"
#include "monitor/process/image.hpp"
#include "monitor/process/start.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <vector>

namespace previrt {

// A guest in processes of this machine: their memory, the keeper, and their console.
class ProcessMachine {
public:
    // Throws InputError if this machine refuses something.
    ProcessMachine(const RunOptions& options, const ProcessImage& image, const monitored::ClockStart& clock,
                   std::vector<std::uint8_t> package, std::span<const ProcessPlan> plans = process_plans,
                   KernelMove kernel = {});
    ~ProcessMachine();
    ProcessMachine(const ProcessMachine&) = delete;
    ProcessMachine& operator=(const ProcessMachine&) = delete;

    MonitoredEnd run(const RunOptions& options);
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
    template <typename Ring>
    [[nodiscard]] Ring& ring(const monitored::Part& part) const;
    void fill(const ProcessImage& image, std::span<const std::uint8_t> filter,
              std::span<const std::uint8_t> package);
    [[nodiscard]] process::Handover& guests_handover() const; // in the VMM's memory
    [[nodiscard]] DiskEventNumbers disk_events() const;
    [[nodiscard]] FolderEventNumbers folder_events() const;
    void call() const;
    ProcessorEnd wait();
    [[nodiscard]] ProcessorEnd judge_end() const;
    // Empty, or the reason to end the guest.
    [[nodiscard]] std::string follow_watch() const;
    [[nodiscard]] MissingLayers missing() const;
    void end() const;

    [[nodiscard]] std::optional<CountsMemory> counts_memory() const;

    std::uint64_t event_word_;                        // offset in the VMM's memory
    std::optional<std::uint64_t> instruction_counts_; // likewise
    KernelMove kernel_;
    GuestBounds bounds_;
    process::Handover handover_{};
    Descriptor file_;
    std::unique_ptr<Mapping> memory_; // the VMM's; with disks, also the guest's RAM behind it
    ConsoleEvents events_;
    std::optional<GuestNetwork> network_;
    GuestFolders folders_;
    GuestDisks disks_;
    std::unique_ptr<GuestChannel> channel_;
    GuestPorts ports_;
    StartedProcess first_;
    std::atomic<bool> is_stopped_ = false; // by this process, perhaps before it was the program
    std::unique_ptr<GuestWatch> watch_;    // while the guest runs
    std::unique_ptr<MonitoredConsole> console_;
};

} // namespace previrt
