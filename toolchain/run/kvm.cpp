// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/run/kvm.hpp"

#include "toolchain/image/input_error.hpp"
#include "toolchain/pack/guest_package.hpp"
#include "toolchain/pack/vmm_image.hpp"
#include "toolchain/run/confinement.hpp"
#include "toolchain/run/isolation.hpp"
#include "toolchain/run/kvm_host.hpp"
#include "toolchain/run/kvm_image.hpp"
#include "toolchain/run/kvm_machine.hpp"
#include "toolchain/run/kvm_mode.hpp"
#include "toolchain/run/kvm_report.hpp"
#include "toolchain/run/monitored_end.hpp"
#include "toolchain/run/privileged/machine.hpp"

#include <future>
#include <iostream>
#include <nlohmann/json.hpp>

namespace previrt {

namespace {

template <typename Machine>
RunStatus run_machine(Machine& machine, const RunOptions& options) {
    if (options.verbose) {
        machine.describe(std::cerr);
    }
    const MonitoredEnd end = machine.run(options);
    if (options.verbose) {
        machine.describe_end(std::cerr);
    }
    return judge_monitored_guest(options, machine.console(), end, "KVM", machine.counts());
}

RunStatus run_interpreted(const RunOptions& options, const Descriptor& kvm,
                          std::span<const std::uint8_t> package) {
    if (!options.rewrite) {
        throw InputError("--no-rewrite: this host's KVM interprets level 0, where no kernel runs that is not "
                         "rewritten");
    }
    const KvmImage image = read_kvm_image("previrt-kvm", read_vmm_image(Hypervisor::kvm));
    KvmMachine machine(kvm, image, options.memory, package,
                       options.isolate ? UserMode::isolated : UserMode::with_kernel, options.net);
    if (!options.isolate) {
        say_that_programs_reach_kernel(options, "--isolate");
    }
    return run_machine(machine, options);
}

RunStatus run_privileged(const RunOptions& options, const Descriptor& kvm,
                         std::span<const std::uint8_t> package) {
    const PrivilegedImage image =
        read_privileged_image("previrt-kvm-privileged", read_vmm_image(Hypervisor::kvm_privileged));
    PrivilegedMachine machine(kvm, image, options.memory, package, options.rewrite, options.net);
    return run_machine(machine, options);
}

std::vector<std::uint8_t> make_package(const RunOptions& options) {
    const GuestKernel kernel = load_guest_kernel(options.kernel, options.memory);
    options.announce(kernel.sha256);
    return make_guest_package(kernel, {.initrd = options.initrd,
                                       .append = options.append,
                                       .memory = options.memory,
                                       .print_counters = !options.stats.empty(),
                                       .strict = options.strict});
}

} // namespace

PlaceFinding probe_kvm() {
    const KvmMode mode = find_kvm_mode(open_kvm());
    const bool privileged = mode == KvmMode::native;
    read_vmm_image(privileged ? Hypervisor::kvm_privileged : Hypervisor::kvm);
    for (void (*confine)() :
         {+[] { confine_relay_thread(); }, privileged ? +[] { confine_privileged_processor_thread(0); }
                                                      : +[] { confine_processor_thread(0); }}) {
        std::async(std::launch::async, confine).get();
    }
    return {
        .found = describe(mode),
        .isolation =
            privileged
                ? "KVM and seccomp keep the host from the guest; the guest's kernel keeps itself from its "
                  "programs"
                : "KVM and seccomp keep the host from the guest; only --isolate keeps the guest's kernel and "
                  "the VMM from the guest's programs"};
}

RunStatus run_kvm(const RunOptions& options) {
    const Descriptor kvm = open_kvm();
    const KvmMode mode = find_kvm_mode(kvm);
    const std::vector<std::uint8_t> package = make_package(options);
    if (options.verbose) {
        std::cerr << "previrt: KVM: " << describe(mode) << '\n';
    }
    return mode == KvmMode::native ? run_privileged(options, kvm, package)
                                   : run_interpreted(options, kvm, package);
}

} // namespace previrt
