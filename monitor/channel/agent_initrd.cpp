// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/channel/agent_initrd.hpp"

#include "guest/agent/messages.hpp"
#include "host/cpio_archive.hpp"
#include "host/file.hpp"
#include "host/input_error.hpp"

#include <filesystem>
#include <string>
#include <utility>

namespace previrt {

namespace {

// Linux reads archives one after the other, also if the next one is compressed. The user's is the last, so
// that its files win.
std::vector<std::uint8_t> make_archive() {
    const std::string file = PREVIRT_AGENT;
    if (!std::filesystem::exists(file)) {
        throw InputError(file +
                         ": the agent of a command's guest is not built (cmake --build --preset release)");
    }
    CpioArchive archive;
    archive.add_file(std::string(agent::agent_path).substr(1), read_file(file), true);
    return std::move(archive).finish();
}

} // namespace

GuestPackageOptions package_options(const RunOptions& options) {
    GuestPackageOptions package{.initrd = options.initrd,
                                .append = options.append,
                                .memory = options.memory,
                                .print_counters = !options.stats.empty(),
                                .strict = options.strict};
    if (!options.command.empty()) {
        package.before_initrd = make_archive();
        package.append = std::string(options.verbose ? "" : "quiet ") + "rdinit=" + agent::agent_path + " " +
                         options.append;
    }
    return package;
}

} // namespace previrt
