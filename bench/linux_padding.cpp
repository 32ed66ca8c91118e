// SPDX-License-Identifier: BSD-2-Clause
#include "bench/linux_padding.hpp"

#include "toolchain/host/tree.hpp"
#include "toolchain/image/file.hpp"
#include "toolchain/image/input_error.hpp"
#include "toolchain/linux/build_linux.hpp"
#include "toolchain/run/run.hpp"
#include "toolchain/userland/initrd.hpp"

#include <array>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>
#include <vector>

namespace previrt {

namespace {

struct Operation {
    std::string name;
    double instructions;
};

// Addresses, stacks and mitigations the same in each run.
constexpr const char* fixed = "quiet nokaslr norandmaps randomize_kstack_offset=off mitigations=off";
constexpr double seconds_at_most = 600;

std::vector<Operation> read_operations(const std::string& console) {
    std::vector<Operation> operations;
    std::istringstream words(console);
    for (std::string word; words >> word;) {
        Operation operation;
        if (word == "operation" && words >> operation.name >> operation.instructions) {
            operations.push_back(operation);
        }
    }
    return operations;
}

std::vector<Operation> measure(const std::string& kernel, const std::string& initrd) {
    std::string console;
    RunOptions options;
    options.on = "bare";
    options.kernel = kernel;
    options.initrd = initrd;
    options.append = fixed;
    options.timeout = seconds_at_most;
    options.deterministic = true;
    options.watch_console = false;
    options.console = [&](std::string_view text) { console += text; };
    const RunStatus status = run_guest(options);
    std::vector<Operation> operations = read_operations(console);
    if (status != guest_ended || operations.empty()) {
        throw InputError(kernel + ": the guest did not run to its end; its console:\n" + console);
    }
    return operations;
}

std::string built(const LinuxPaddingOptions& options, bool plain) {
    const std::string output = in_source_tree("build/linux/" + options.version + "-" + options.configuration +
                                              "-" + options.compiler + (plain ? "-plain" : ""));
    BuildLinuxOptions build;
    build.version = options.version;
    build.configuration = options.configuration;
    build.compiler = options.compiler;
    build.plain = plain;
    build.output = output;
    build_linux(build);
    return output;
}

} // namespace

void bench_linux_padding(const LinuxPaddingOptions& options) {
    const std::string plain_kernel = built(options, true) + "/bzImage";
    const std::string padded_kernel = built(options, false) + "/bzImage";
    const std::string initrd = make_initrd("operations", {{"/run-me", PREVIRT_OPERATIONS}});
    std::cerr << "previrt: counting instructions, two boots\n";
    const std::vector<Operation> plain = measure(plain_kernel, initrd);
    const std::vector<Operation> padded = measure(padded_kernel, initrd);
    if (plain.size() != padded.size()) {
        throw InputError("the two kernels did not run the same operations");
    }

    nlohmann::json json{{"version", options.version},
                        {"configuration", options.configuration},
                        {"compiler", options.compiler},
                        {"unit", "instructions"}};
    std::printf("%-20s %12s %12s %12s\n", "instructions", "plain", "padded", "difference");
    for (std::size_t i = 0; i < plain.size(); ++i) {
        std::printf("%-20s %12.1f %12.1f %+10.2f %%\n", plain[i].name.c_str(), plain[i].instructions,
                    padded[i].instructions, (padded[i].instructions / plain[i].instructions - 1) * 100);
        json["operations"][plain[i].name] = {{"plain", plain[i].instructions},
                                             {"padded", padded[i].instructions}};
    }
    if (!options.json.empty()) {
        write_text(options.json, json.dump(2) + "\n");
    }
}

} // namespace previrt
