// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/process/place.hpp"

#include "backends/process/contract/layout.hpp"
#include "host/input_error.hpp"
#include "monitor/channel/agent_initrd.hpp"
#include "monitor/guest/guest_end.hpp"
#include "monitor/guest/isolation.hpp"
#include "monitor/process/clock.hpp"
#include "monitor/process/filter.hpp"
#include "monitor/process/host.hpp"
#include "monitor/process/machine.hpp"
#include "previrt/layout_constants.hpp"
#include "toolchain/pack/guest_package.hpp"
#include "toolchain/pack/load_segments.hpp"
#include "toolchain/pack/vmm_image.hpp"

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sys/sysinfo.h>
#include <utility>

namespace previrt {

namespace {

ProcessImage read_image() {
    return read_process_image("previrt-process", read_vmm_image(Hypervisor::process));
}

struct PreparedGuest {
    monitored::ClockStart clock;
    std::string kernel_sha256;
    std::vector<std::uint8_t> package;
    KernelMove move;
};

// The first address of its segments in the last 2 GiB.
std::uint64_t first_high_address(const GuestKernel& kernel) {
    constexpr std::uint64_t last_two_gib = 0xffffffff80000000;
    std::uint64_t first = 0;
    for (const LoadSegment& segment : read_load_segments(kernel.elf)) {
        if (segment.virtual_address >= last_two_gib) {
            first = first == 0 ? segment.virtual_address : std::min(first, segment.virtual_address);
        }
    }
    return first;
}

PreparedGuest prepare(const RunOptions& options) {
    const ProcessClock measured;
    GuestKernel kernel = load_guest_kernel(options.kernel, options.memory);
    const std::uint64_t linked = first_high_address(kernel);
    slide_guest_kernel(kernel, process::kernel_address, layout_constants);
    const KernelMove move{.begin = process::kernel_address,
                          .bytes = linked != 0 ? process::kernel_room : 0,
                          .distance = linked - process::kernel_address};
    const monitored::ClockStart clock = measured.read();
    return {.clock = clock,
            .kernel_sha256 = kernel.sha256,
            .package = make_guest_package(kernel, package_options(options)),
            .move = move};
}

// A memory file may be larger than the machine's memory.
void warn_of_too_much(std::uint64_t memory) {
    constexpr unsigned mib_shift = 20;
    struct sysinfo machine{};
    if (sysinfo(&machine) != 0) {
        return;
    }
    const std::uint64_t ram = std::uint64_t{machine.totalram} * machine.mem_unit;
    if (memory > ram) {
        std::cerr << "previrt: warning: --memory: this machine has " << (ram >> mib_shift)
                  << " MiB of RAM, less than the guest's " << (memory >> mib_shift)
                  << " MiB: a guest that uses them all will be ended\n";
    }
}

// docs/process.md, "Scattered memory"
std::string advice_on_mappings() {
    constexpr std::uint64_t enough = std::uint64_t{1} << 20U; // for 3 GiB of single pages
    const std::uint64_t most = read_most_mappings();
    return most >= enough
               ? std::string()
               : "; programs with much scattered memory are quicker with sysctl vm.max_map_count=" +
                     std::to_string(enough) + " (now " + std::to_string(most) + ")";
}

RunStatus run_process(const RunOptions& options, PreparedGuest& guest) {
    options.announce(guest.kernel_sha256);
    warn_of_too_much(options.memory);
    ProcessMachine machine(options, read_image(), guest.clock, std::move(guest.package), process_plans,
                           guest.move);
    if (!options.isolate) {
        say_that_programs_reach_kernel(options, "--isolate");
    }
    if (options.verbose) {
        machine.describe(std::cerr);
    }
    const MonitoredEnd end = machine.run(options);
    if (options.verbose) {
        machine.describe_end(std::cerr);
    }
    return judge_monitored_guest(options, machine.console(), end, "the host", machine.counts(),
                                 machine.command_end());
}

} // namespace

PlaceFinding probe_process() {
    require_process_host();
    make_process_filter();
    read_image();
    return {.found = "Syscall User Dispatch and FSGSBASE are there" + advice_on_mappings(),
            .isolation = "between guest and host: " + describe(find_process_layers()) +
                         "; only --isolate keeps the guest's kernel and the VMM from the guest's programs"};
}

PreparedRun prepare_process(const RunOptions& options) {
    if (!options.rewrite) {
        throw InputError("--no-rewrite: in a process no kernel runs that is not rewritten");
    }
    require_process_host();
    return [guest = std::make_shared<PreparedGuest>(prepare(options))](const RunOptions& announcing) {
        return run_process(announcing, *guest);
    };
}

} // namespace previrt
