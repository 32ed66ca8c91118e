// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/nested/place.hpp"

#include "host/digest.hpp"
#include "host/file.hpp"
#include "host/input_error.hpp"
#include "host/temporary_directory.hpp"
#include "monitor/nested/console.hpp"
#include "monitor/nested/host.hpp"
#include "monitor/qemu/bridged_network.hpp"
#include "monitor/qemu/machine.hpp"
#include "monitor/qemu/qemu.hpp"
#include "toolchain/image/kernel_file.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <unistd.h>

namespace previrt {

namespace {

// QEMU's EPYC without the features for which TCG prints a warning.
constexpr const char* processor = "EPYC,-rdseed,-sha-ni,-fxsr-opt,-misalignsse,-3dnowprefetch,-osvw,"
                                  "-topoext,-nrip-save,-xsavec";

// After the guest has ended, or should have: the previrt in the machine judges, and its limits are shorter.
constexpr std::chrono::seconds reports_within{60};

// A serial line after the console. `number` distinguishes it. QEMU opens an inherited pipe only from a set of
// descriptors, and would truncate it unless it appends.
void add_channel(MachineOptions& machine, SerialChannel& channel, const std::string& number) {
    const int descriptor = machine.hand_on(channel.take_machine_end());
    const std::string name = "channel" + number;
    machine.qemu.insert(machine.qemu.end(),
                        {"-add-fd", "fd=" + std::to_string(descriptor) + ",set=" + number, "-chardev",
                         "file,append=on,id=" + name + ",path=/dev/fdset/" + number, "-serial",
                         "chardev:" + name});
    machine.channels.push_back(&channel);
}

MachineOptions machine_for(const RunOptions& options, const NestedHost& host, const std::string& initramfs,
                           std::uint64_t initramfs_bytes) {
    MachineOptions machine;
    machine.type = "q35";
    machine.processor = processor;
    machine.deterministic_processor = processor;
    machine.memory = nested_host_memory(initramfs_bytes, options.memory);
    machine.ends_within = reports_within;
    constexpr unsigned most = 8; // QEMU emulates each in a thread of its own; the guest's take turns on them
    machine.processors = std::min(options.cpus, most);
    machine.qemu = {"-kernel", machine.hand_on_file(host.kernel()),
                    "-initrd", machine.hand_on_file(initramfs),
                    "-append", nested_host_command_line(options)};
    add_bridged_card(machine, parse_network(options.net));
    if (options.deterministic) {
        machine.qemu.insert(machine.qemu.end(), {"-seed", "42"});
    }
    return machine;
}

RunStatus status_of(int status) {
    for (const RunStatus known : {guest_ended, guest_failed, run_refused, run_timed_out}) {
        if (status == known) {
            return known;
        }
    }
    std::cerr << "previrt: the previrt in the machine ended with status " << status << '\n';
    return guest_failed;
}

RunStatus judge(const RunOptions& options, const NestedConsole& console, const MachineEnd& end) {
    const NestedReport& report = console.report();
    if (const std::optional<int> status = report.status()) {
        if (!report.counters().empty()) {
            write_text(options.stats, report.counters());
        }
        // The guest's last output may have found no reader here.
        const std::optional<RunStatus> decided =
            *status == guest_ended ? judge_guest(options, end) : std::nullopt;
        return decided ? *decided : status_of(*status);
    }
    if (const std::optional<RunStatus> decided = judge_guest(options, end)) {
        return *decided;
    }
    if (!console.say_why_it_failed()) {
        const std::string how = end.shutdown_reason.empty() ? "with status " + std::to_string(end.status)
                                                            : "for reason " + end.shutdown_reason;
        if (!console.spoke()) {
            throw InputError("QEMU ended " + how + " before there was a Linux with KVM");
        }
        std::cerr << "previrt: QEMU ended " << how << ", and the previrt in its machine had not\n";
    }
    console.print_log();
    return guest_failed;
}

} // namespace

RunStatus run_nested_kvm(const RunOptions& options) {
    load_kernel_file(options.kernel); // fails before anything is downloaded for it
    options.announce(sha256_of_file(options.kernel));
    const TemporaryDirectory directory;
    read_qemu_version(); // fails before anything is downloaded
    const NestedHost host = prepare_nested_host();
    const bool person = options.watch_console && isatty(STDIN_FILENO) != 0;
    const std::string initramfs = directory.path() + "/initramfs";
    write_file(initramfs, make_nested_initramfs(host, options, person));

    NestedConsole console(options);
    SerialChannel report([&](std::string_view text) { console.read_report(text); });
    SerialChannel log([&](std::string_view text) { console.read_log(text); });
    MachineOptions machine = machine_for(options, host, initramfs, std::filesystem::file_size(initramfs));
    add_channel(machine, report, "1");
    add_channel(machine, log, "2");
    machine.beside_guest = NestedConsole::begins_within + reports_within;
    const MachineEnd end = run_machine(options, machine, &console);
    return judge(options, console, end);
}

PlaceFinding probe_nested_kvm() {
    const std::string qemu = read_qemu_version();
    return {.found = qemu + "; " + locate_nested_host(),
            .isolation = isolation_by_qemu() + "; the guest's kernel keeps itself from its programs"};
}

} // namespace previrt
