// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/kvm/place.hpp"

#include "host/input_error.hpp"
#include "monitor/channel/agent_initrd.hpp"
#include "monitor/guest/confinement.hpp"
#include "monitor/guest/guest_end.hpp"
#include "monitor/guest/isolation.hpp"
#include "monitor/kvm/host.hpp"
#include "monitor/kvm/image.hpp"
#include "monitor/kvm/machine.hpp"
#include "monitor/kvm/mode.hpp"
#include "monitor/kvm/privileged/machine.hpp"
#include "monitor/kvm/report.hpp"
#include "toolchain/pack/guest_package.hpp"
#include "toolchain/pack/vmm_image.hpp"

#include <future>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

namespace previrt {

namespace {

const CommandEnd* command_end(const KvmMachine& machine) {
    return machine.command_end();
}
const CommandEnd* command_end(const PrivilegedMachine& /*machine*/) {
    return nullptr;
}

template <typename Machine>
RunStatus run_machine(Machine& machine, const RunOptions& options) {
    if (options.verbose) {
        machine.describe(std::cerr);
    }
    const MonitoredEnd end = machine.run(options);
    if (options.verbose) {
        machine.describe_end(std::cerr);
    }
    return judge_monitored_guest(options, machine.console(), end, "KVM", machine.counts(),
                                 command_end(machine));
}

// Each frees the package once the machine has its own copy.
RunStatus run_interpreted(const RunOptions& options, const Descriptor& kvm,
                          std::vector<std::uint8_t>& package) {
    const KvmImage image = read_kvm_image("previrt-kvm", read_vmm_image(Hypervisor::kvm));
    KvmMachine machine(kvm, image, options, package,
                       options.isolate ? UserMode::isolated : UserMode::with_kernel);
    package = std::vector<std::uint8_t>(); // {} would keep its room
    if (!options.isolate) {
        say_that_programs_reach_kernel(options, "--isolate");
    }
    return run_machine(machine, options);
}

RunStatus run_privileged(const RunOptions& options, const Descriptor& kvm,
                         std::vector<std::uint8_t>& package) {
    const PrivilegedImage image =
        read_privileged_image("previrt-kvm-privileged", read_vmm_image(Hypervisor::kvm_privileged));
    PrivilegedMachine machine(kvm, image, options, package);
    package = std::vector<std::uint8_t>(); // {} would keep its room
    return run_machine(machine, options);
}

struct PreparedGuest {
    Descriptor kvm;
    KvmMode mode;
    std::string kernel_sha256;
    std::vector<std::uint8_t> package;
};

RunStatus run_kvm(const RunOptions& options, PreparedGuest& guest) {
    options.announce(guest.kernel_sha256);
    if (options.verbose) {
        std::cerr << "previrt: KVM: " << describe(guest.mode) << '\n';
    }
    return guest.mode == KvmMode::native ? run_privileged(options, guest.kvm, guest.package)
                                         : run_interpreted(options, guest.kvm, guest.package);
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

PreparedRun prepare_kvm(const RunOptions& options) {
    Descriptor kvm = open_kvm();
    const KvmMode mode = find_kvm_mode(kvm);
    if (!options.rewrite && mode != KvmMode::native) {
        throw InputError("--no-rewrite: this host's KVM interprets level 0, where no kernel runs that is not "
                         "rewritten");
    }
    if (!options.command.empty() && mode == KvmMode::native) {
        throw InputError("a command: on a KVM that runs level 0 on the processor there is none so far");
    }
    if ((!options.root.empty() || !options.shares.empty() || !options.share_sockets.empty()) &&
        mode == KvmMode::native) {
        throw InputError("--root, --share: on a KVM that runs level 0 on the processor there are no folders "
                         "so far");
    }
    if (!options.ports.empty() && mode == KvmMode::native) {
        throw InputError("--port: on a KVM that runs level 0 on the processor there are no ports so far");
    }
    const GuestKernel kernel = load_guest_kernel(options.kernel, options.memory);
    std::vector<std::uint8_t> package = make_guest_package(kernel, package_options(options));
    const auto guest = std::make_shared<PreparedGuest>(
        PreparedGuest{std::move(kvm), mode, kernel.sha256, std::move(package)});
    return [guest](const RunOptions& announcing) { return run_kvm(announcing, *guest); };
}

} // namespace previrt
