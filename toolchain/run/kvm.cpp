// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/run/kvm.hpp"

#include "toolchain/image/input_error.hpp"
#include "toolchain/pack/guest_package.hpp"
#include "toolchain/pack/vmm_image.hpp"
#include "toolchain/run/confinement.hpp"
#include "toolchain/run/kvm_host.hpp"
#include "toolchain/run/kvm_image.hpp"
#include "toolchain/run/kvm_machine.hpp"
#include "toolchain/run/kvm_mode.hpp"
#include "toolchain/run/kvm_report.hpp"
#include "toolchain/run/vmm_end.hpp"

#include <future>
#include <iostream>

namespace previrt {

namespace {

RunStatus judge_vmm(const VmmConsole& vmm, const KvmExit& end) {
    if (guest_ended_itself(vmm) && end.failure.empty()) {
        return guest_ended;
    }
    if (say_why_vmm_ended_guest(vmm)) {
        return guest_failed;
    }
    if (!end.failure.empty()) {
        std::cerr << "previrt: KVM ended the guest: " << end.failure << '\n';
    } else {
        std::cerr << "previrt: the VMM ended the guest without a word\n";
    }
    return guest_failed;
}

RunStatus judge(const RunOptions& options, const KvmConsole& console, const KvmEnd& end) {
    const std::optional<RunStatus> decided = judge_guest(options, end.machine);
    const RunStatus status =
        write_counters(options, console.vmm(), decided ? *decided : judge_vmm(console.vmm(), end.processor));
    if (status != guest_ended && !options.watch_console && !console.tail().empty()) {
        std::cerr << "previrt: the guest's last lines:\n" << console.tail() << '\n';
    }
    return status;
}

// Throws InputError where there is no way yet to run a guest in it.
KvmMode find_usable_mode(const Descriptor& kvm) {
    const KvmMode mode = find_kvm_mode(kvm);
    if (mode != KvmMode::interpreted) {
        throw InputError(
            "/dev/kvm: this host's KVM runs a guest's level 0 on the processor itself; --on kvm knows "
            "only hosts that interpret it so far; --on xen and --on bare work");
    }
    return mode;
}

} // namespace

PlaceFinding probe_kvm() {
    const KvmMode mode = find_usable_mode(open_kvm());
    read_vmm_image(Hypervisor::kvm);
    for (void (*confine)() : {confine_console_thread, +[] { confine_processor_thread(0); }}) {
        std::async(std::launch::async, confine).get();
    }
    return {.found = describe(mode),
            .isolation =
                "KVM and seccomp keep the host from the guest; only --isolate keeps the guest's kernel and "
                "the VMM from the guest's programs"};
}

RunStatus run_kvm(const RunOptions& options) {
    const Descriptor kvm = open_kvm();
    const KvmMode mode = find_usable_mode(kvm);
    const KvmImage image = read_kvm_image("previrt-kvm", read_vmm_image(Hypervisor::kvm));
    KvmMachine machine(kvm, image, options.memory,
                       make_guest_package({.kernel = options.kernel,
                                           .initrd = options.initrd,
                                           .append = options.append,
                                           .memory = options.memory,
                                           .print_counters = !options.stats.empty()})
                           .bytes,
                       options.isolate ? UserMode::isolated : UserMode::with_kernel);
    if (options.verbose) {
        std::cerr << "previrt: KVM: " << describe(mode) << '\n';
        machine.describe(std::cerr);
    }
    const KvmEnd end = machine.run(options);
    if (options.verbose) {
        machine.describe_end(std::cerr);
    }
    return judge(options, machine.console(), end);
}

} // namespace previrt
