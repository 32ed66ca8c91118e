// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/guest/guest_end.hpp"

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

} // namespace

RunStatus judge_monitored_guest(const RunOptions& options, const MonitoredConsole& console,
                                const MonitoredEnd& end, const char* place, const nlohmann::json& counts) {
    const std::optional<RunStatus> decided = judge_guest(options, end.machine);
    const RunStatus status = write_counters(
        options, console.vmm(), decided ? *decided : judge_vmm(console.vmm(), end.processor, place), counts);
    if (status != guest_ended && !options.watch_console && !console.tail().empty()) {
        std::cerr << "previrt: the guest's last lines:\n" << console.tail() << '\n';
    }
    return status;
}

} // namespace previrt
