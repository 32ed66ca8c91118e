// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/run/vmm_end.hpp"

#include "inplace-vmm/package.hpp"
#include "toolchain/image/file.hpp"

#include <iostream>
#include <nlohmann/json.hpp>

namespace previrt {

namespace {

bool write_file_of_counters(const std::string& path, const std::optional<std::string>& printed,
                            const nlohmann::json& more) {
    nlohmann::ordered_json counters =
        nlohmann::ordered_json::parse(printed.value_or(""), nullptr, /*allow_exceptions=*/false);
    if (!counters.is_object()) {
        std::cerr << "previrt: --stats: the VMM printed no counters\n";
        return false;
    }
    counters.update(more);
    write_text(path, counters.dump() + '\n');
    return true;
}

} // namespace

bool guest_ended_itself(const VmmConsole& vmm) {
    const std::string said = vmm.end().value_or("");
    return said == end_powered_off || said == end_rebooted;
}

bool say_why_vmm_ended_guest(const VmmConsole& vmm) {
    const std::string said = vmm.end().value_or("");
    if (said.empty() || guest_ended_itself(vmm)) {
        return false;
    }
    std::cerr << "previrt: the VMM ended the guest: " << said << '\n';
    return true;
}

RunStatus write_counters(const RunOptions& options, const VmmConsole& vmm, RunStatus status,
                         const nlohmann::json& more) {
    if (!options.stats.empty() && !write_file_of_counters(options.stats, vmm.counters(), more) &&
        status == guest_ended) {
        return guest_failed;
    }
    return status;
}

} // namespace previrt
