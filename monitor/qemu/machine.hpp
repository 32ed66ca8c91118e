// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"
#include "monitor/console/terminal.hpp"
#include "monitor/options.hpp"
#include "monitor/qemu/serial_channel.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace previrt {

// The other speakers on a machine's serial line, beside its guest.
class SerialFilter {
public:
    SerialFilter() = default;
    SerialFilter(const SerialFilter&) = delete;
    SerialFilter& operator=(const SerialFilter&) = delete;
    virtual ~SerialFilter() = default;

    // Returns the guest's part of the machine's output.
    virtual std::string read(std::string_view output) = 0;
    // Returns held-back text after a silence.
    virtual std::string release() = 0;
    // The guest has been started, and takes typed keys.
    [[nodiscard]] virtual bool guest_is_there() const = 0;
    // The machine was reported to end now: it gets some seconds.
    [[nodiscard]] virtual bool ending() const = 0;
    // The machine has ended, whatever QEMU does.
    [[nodiscard]] virtual bool over() const = 0;
};

struct MachineOptions {
    // Give QEMU, which may have no right to open it, a file or an open descriptor. They return the file's
    // name or the descriptor's number. Those of files throw InputError.
    std::string hand_on_file(const std::string& path);
    int hand_on(Descriptor descriptor);
    std::string hand_on_bytes(std::span<const std::uint8_t> bytes); // as a file

    std::vector<std::string> qemu; // arguments in addition to those of every machine
    std::vector<Descriptor> handed_on;
    std::string type = "pc";
    std::string processor = "max";
    // For comparable runs: without rep string instructions, of which -icount counts every iteration; without
    // the host's random numbers; and without SMAP, which Xen's peers cannot have.
    std::string deterministic_processor = "max,-smap,-rdrand,-rdseed,-erms,-fsrm";
    std::uint64_t memory = 0;
    unsigned processors = 0;        // 0: as many as the guest has
    std::size_t keys_at_once = 256; // to the serial line
    std::chrono::milliseconds keys_every{0};
    std::chrono::milliseconds ends_within{3000}; // after the report of its end
    // If a monitor in the machine enforces the guest's time limit, the machine may take this much longer.
    std::chrono::milliseconds beside_guest{0};
    std::vector<SerialChannel*> channels;          // that are read meanwhile
    std::map<std::string, std::string> disk_files; // by the disk's name; for messages
};

struct MachineEnd {
    int status = 0;              // of QEMU
    std::string shutdown_reason; // in QEMU's words; empty if it did not end by itself
    bool halted = false;
    bool timed_out = false;
    bool said_goodbye = false;
    std::string panic;
    std::string ended_by; // the other cause that ended it
    // Lost output with its reason; and keys for which the guest had no room.
    std::uint64_t lost_output = 0;
    int output_error = 0;
    std::size_t lost_keys = 0;
};

// Runs a PC under QEMU, with its serial line on standard input and output, until it ends or has to be ended.
// Throws InputError if QEMU cannot be started. `filter` may be null.
MachineEnd run_machine(const RunOptions& options, const MachineOptions& machine, SerialFilter* filter);

// If time, the console or the monitor decided the run: prints that, and returns the status.
std::optional<RunStatus> judge_guest(const RunOptions& options, const MachineEnd& end);

} // namespace previrt
