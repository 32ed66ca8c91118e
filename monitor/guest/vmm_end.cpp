// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/guest/vmm_end.hpp"

#include "host/file.hpp"
#include "inplace-vmm/package.hpp"

#include <cerrno>
#include <iostream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <unistd.h>

namespace previrt {

namespace {

// Works under the filter, which opens no file.
bool write_to(int file, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = write(file, text.data(), text.size());
        if (written <= 0) {
            std::cerr << "previrt: --stats: " << std::generic_category().message(errno) << '\n';
            return false;
        }
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

bool write_file_of_counters(const RunOptions& options, const std::optional<std::string>& printed,
                            const nlohmann::json& more) {
    nlohmann::ordered_json counters =
        nlohmann::ordered_json::parse(printed.value_or(""), nullptr, /*allow_exceptions=*/false);
    if (!counters.is_object()) {
        std::cerr << "previrt: --stats: the VMM printed no counters\n";
        return false;
    }
    counters.update(more);
    const std::string text = counters.dump() + '\n';
    if (options.counters >= 0) {
        return write_to(options.counters, text);
    }
    write_text(options.stats, text);
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
    if (!options.stats.empty() && !write_file_of_counters(options, vmm.counters(), more) &&
        status == guest_ended) {
        return guest_failed;
    }
    return status;
}

} // namespace previrt
