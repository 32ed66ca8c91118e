// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/guest/guest_end.hpp"

#include "monitor/channel/command_end.hpp"
#include "monitor/guest/vmm_end.hpp"

#include <iostream>
#include <nlohmann/json.hpp>

namespace previrt {

namespace {

RunStatus judge_vmm(const VmmConsole& vmm, const ProcessorEnd& end, const char* place) {
    if (guest_ended_itself(vmm) && end.failure.empty()) {
        return guest_ended;
    }
    if (say_why_vmm_ended_guest(vmm)) {
        return guest_failed;
    }
    if (!end.failure.empty()) {
        std::cerr << "previrt: " << place << " ended the guest: " << end.failure << '\n';
    } else {
        std::cerr << "previrt: the VMM ended the guest without a word\n";
    }
    return guest_failed;
}

// A command that has ended decides, whatever the guest did afterwards.
RunStatus judge_command(const RunOptions& options, const CommandEnd& command, RunStatus guest) {
    if (command.timed_out || guest == run_timed_out) {
        return run_timed_out;
    }
    if (!command.failure.empty()) {
        std::cerr << "previrt: " << command.describe_failure(options.command.front(), options.process)
                  << '\n';
    }
    return command.status ? RunStatus{*command.status} : command_failed;
}

void show_last_lines(const MonitoredConsole& console) {
    if (!console.tail().empty()) {
        std::cerr << "previrt: the guest's last lines:\n" << console.tail() << '\n';
    }
}

} // namespace

RunStatus judge_monitored_guest(const RunOptions& options, const MonitoredConsole& console,
                                const MonitoredEnd& end, const char* place, const nlohmann::json& counts,
                                const CommandEnd* command) {
    if (command != nullptr && command->status) {
        return judge_command(options, *command,
                             write_counters(options, console.vmm(),
                                            end.machine.timed_out ? run_timed_out : guest_ended, counts));
    }
    const std::optional<RunStatus> decided = judge_guest(options, end.machine);
    const RunStatus status = write_counters(
        options, console.vmm(), decided ? *decided : judge_vmm(console.vmm(), end.processor, place), counts);
    if (command != nullptr && status == guest_ended) {
        std::cerr << "previrt: the guest ended before its command\n";
    }
    if (!options.watch_console && (status != guest_ended || command != nullptr)) {
        show_last_lines(console);
    }
    return command != nullptr ? judge_command(options, *command, status) : status;
}

} // namespace previrt
