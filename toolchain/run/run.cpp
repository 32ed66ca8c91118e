// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/run/run.hpp"

#include "toolchain/host/digest.hpp"
#include "toolchain/image/file.hpp"
#include "toolchain/image/input_error.hpp"
#include "toolchain/image/kernel_file.hpp"
#include "toolchain/run/bare.hpp"

#include <iostream>
#include <unistd.h>

namespace previrt {

namespace {

constexpr std::uint64_t least_memory = std::uint64_t{32} << 20U;

void check(const RunOptions& options) {
    if (!load_kernel_file(options.kernel).packed) {
        throw InputError(options.kernel + ": not a bzImage");
    }
    if (!options.initrd.empty()) {
        read_file(options.initrd);
    }
    if (options.memory < least_memory) {
        throw InputError("--memory: a kernel needs 32M at least");
    }
    if (options.net != "none" && options.net != "user" && !options.net.starts_with("tap=")) {
        throw InputError("--net " + options.net + ": one of user, tap=NAME, none");
    }
}

} // namespace

RunStatus run_guest(const RunOptions& options) {
    if (options.on != "bare" && options.on != "auto") {
        throw InputError("--on " + options.on + ": not built yet; --on bare works");
    }
    if (!options.stats.empty()) {
        throw InputError("--stats: on bare metal no VMM counts anything");
    }
    check(options);
    if (options.watch_console) {
        std::cerr << "previrt: " << options.kernel << " (sha256 " << sha256_of_file(options.kernel)
                  << ") on bare: a PC under QEMU, TCG"
                  << (isatty(STDIN_FILENO) != 0 ? "; Ctrl-] ends it" : "") << '\n';
    }
    return run_bare(options);
}

} // namespace previrt
