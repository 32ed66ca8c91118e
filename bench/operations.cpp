// SPDX-License-Identifier: BSD-2-Clause
#include "bench/operations.hpp"

#include "guest/userland/initrd.hpp"
#include "host/input_error.hpp"
#include "host/tree.hpp"
#include "toolchain/linux/build_linux.hpp"

#include <algorithm>
#include <sstream>

namespace previrt {

namespace {

constexpr const char* command_line = "quiet nokaslr norandmaps randomize_kstack_offset=off mitigations=off";
constexpr double seconds_at_most = 900;
constexpr const char* all_went_well = "run-me: status 0"; // of guest/userland/init

Measurement read_measurement(const std::string& console) {
    Measurement measurement;
    std::istringstream lines(console);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string word;
        std::string name;
        double number = 0;
        words >> word >> std::ws;
        if (word == "kernel") {
            std::getline(words, measurement.kernel, '\r');
        } else if (word == "operation" && words >> name >> number && number > 0) {
            measurement.operations.push_back({.name = name, .instructions = number});
        } else if (word == "again" && words >> name >> number && number > 0) {
            measurement.again = number;
        }
    }
    return measurement;
}

} // namespace

std::string build_measured_kernel(const BenchOptions& options, KernelVariant variant) {
    BuildLinuxOptions build;
    build.version = options.version;
    build.configuration = options.configuration + (variant == KernelVariant::xenolinux ? "+xen" : "");
    build.compiler = options.compiler;
    build.plain = variant != KernelVariant::ours;
    build.output = in_source_tree("build/linux/" + build.version + "-" + build.configuration + "-" +
                                  build.compiler + (build.plain ? "-plain" : ""));
    build_linux(build);
    return build.output + "/bzImage";
}

std::string make_operations_initrd() {
    return make_initrd("operations", {{"/run-me", PREVIRT_OPERATIONS}});
}

RunOptions counted_run(const std::string& kernel, const std::string& initrd, const std::string& again) {
    RunOptions options;
    options.on = "bare";
    options.kernel = kernel;
    options.initrd = initrd;
    options.append = command_line + (" again=" + again); // Linux passes it to the first process
    options.timeout = seconds_at_most;
    options.deterministic = true;
    options.watch_console = false;
    return options;
}

Measurement measure_operations(RunOptions options, const Runner& run) {
    std::string console;
    options.console = [&](std::string_view text) { console += text; };
    const RunStatus status = run(options);
    Measurement measurement = read_measurement(console);
    if (status != guest_ended || measurement.operations.empty() ||
        console.find(all_went_well) == std::string::npos) {
        throw InputError(options.kernel + ": the guest did not run to its end; its console:\n" + console);
    }
    return measurement;
}

void check_same_operations(const Measurement& first, const Measurement& second) {
    if (!std::ranges::equal(first.operations, second.operations, {}, &Operation::name, &Operation::name)) {
        throw InputError("two guests did not run the same operations");
    }
}

} // namespace previrt
