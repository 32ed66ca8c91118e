// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"
#include "monitor/console/terminal.hpp"
#include "monitor/options.hpp"
#include "monitor/qemu/serial_channel.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace previrt {

// What stands on a machine's serial line beside its guest.
class SerialFilter {
public:
    SerialFilter() = default;
    SerialFilter(const SerialFilter&) = delete;
    SerialFilter& operator=(const SerialFilter&) = delete;
    virtual ~SerialFilter() = default;

    // What of the machine's output is the guest's.
    virtual std::string read(std::string_view output) = 0;
    // What was held back because it might have become something else, after a silence.
    virtual std::string release() = 0;
    // It has been started, and what is typed is for it.
    [[nodiscard]] virtual bool guest_is_there() const = 0;
    // The machine was said to end now: it is given some seconds.
    [[nodiscard]] virtual bool ending() const = 0;
    // It has ended, whatever QEMU does.
    [[nodiscard]] virtual bool over() const = 0;
};

struct MachineOptions {
    // By these QEMU, which may have no right to open it, reads a file of ours, or has what is open. They give
    // the name of the file, which throws InputError, and the descriptor's number.
    std::string hand_on_file(const std::string& path);
    int hand_on(Descriptor descriptor);

    std::vector<std::string> qemu; // arguments beside those that every machine gets
    std::vector<Descriptor> handed_on;
    std::string type = "pc";
    std::string processor = "max";
    // Where runs are compared, without rep string instructions whose every iteration counts as an
    // instruction; random numbers of the host; and SMAP, which Xen's peers cannot have.
    std::string deterministic_processor = "max,-smap,-rdrand,-rdseed,-erms,-fsrm";
    std::uint64_t memory = 0;
    std::size_t keys_at_once = 256; // to the serial line
    std::chrono::milliseconds keys_every{0};
    std::chrono::milliseconds ends_within{3000}; // once it was said to end
    // Where a monitor in the machine holds the guest to its time: the machine may take so much longer.
    std::chrono::milliseconds beside_guest{0};
    std::vector<SerialChannel*> channels; // that are read meanwhile
};

struct MachineEnd {
    int status = 0;              // of QEMU
    std::string shutdown_reason; // in its words; empty where it did not end by itself
    bool halted = false;
    bool timed_out = false;
    bool said_goodbye = false;
    std::string panic;
    std::string ended_by; // not the guest, but this
    // What did not get out of here, and why; and keys that the guest has left no room for.
    std::uint64_t lost_output = 0;
    int output_error = 0;
    std::size_t lost_keys = 0;
};

// A PC under QEMU, its serial line on our standard input and output, until it ends or has to be ended. Throws
// InputError where QEMU cannot be started. `filter` may be null.
MachineEnd run_machine(const RunOptions& options, const MachineOptions& machine, SerialFilter* filter);

// Where time, the console or we decided the run, whatever the machine was: says so, and gives the status.
std::optional<RunStatus> judge_guest(const RunOptions& options, const MachineEnd& end);

} // namespace previrt
