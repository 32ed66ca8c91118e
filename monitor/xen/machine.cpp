// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/xen/machine.hpp"

#include "host/input_error.hpp"
#include "monitor/guest/vmm_end.hpp"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

namespace previrt {

namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

// Measured: 32 MiB suffice with 2 GiB of domains, 64 MiB with 6 GiB.
constexpr std::uint64_t memory_for_xen(std::uint64_t domains) {
    return (96 * mib) + (domains / 64);
}

// Xen's input ring holds 128 bytes, and Xen drops the overflow.
constexpr std::size_t keys_at_once = 32;
constexpr std::chrono::milliseconds keys_every{20};

std::string xen_command_line(FirstDomainSize first_domain, bool several_processors) {
    const std::string memory = std::to_string(first_domain.memory / mib) + "M";
    return "console=com1 com1=115200,8n1 loglvl=info guest_loglvl=all"
           // No key leads to Xen; otherwise one does when it is pressed three times.
           " conswitch=`"
           // Under emulation a mitigation only costs time; but QEMU's XSAVE ignores CR0.TS, on which Xen's
           // lazy exchange of FPU contexts relies: the domain would save another's registers as its own.
           " spec-ctrl=no,eager-fpu dom0_max_vcpus=" +
           std::to_string(first_domain.processors) +
           // Seen with the usual scheduler, credit2, under emulation: a domain's processor stayed in its
           // queue while all of the machine's were idle.
           (several_processors ? " sched=credit" : "") + " dom0_mem=" + memory + ",max:" + memory;
}

RunStatus judge_vmm(const XenConsole& console, const MachineEnd& end) {
    // For a domain beside dom0: Xen's reason for its shutdown (public/sched.h).
    const std::string power_off = "0";
    const std::string reboot = "1";
    const std::string crash = "3";
    const std::string domain_end = console.domain_end().value_or("");
    const bool domain_ended_well = domain_end.empty() || domain_end == power_off || domain_end == reboot;

    if (guest_ended_itself(console.vmm()) && domain_ended_well) {
        return guest_ended;
    }
    if (say_why_vmm_ended_guest(console.vmm())) {
        return guest_failed;
    }
    if (console.log().found_no_stack()) {
        std::cerr
            << "previrt: Xen ended the guest: its kernel had no stack for the frame of a trap (RSP unmapped "
               "or read-only)\n";
    } else if (domain_end == crash) {
        std::cerr << "previrt: the guest's domain crashed\n";
    } else if (!domain_end.empty()) {
        std::cerr << "previrt: the guest's domain ended (" << domain_end << ") without a report of the VMM\n";
    } else {
        std::cerr << "previrt: Xen ended the guest, or the VMM ended without a report (QEMU: "
                  << (end.shutdown_reason.empty() ? "stopped" : end.shutdown_reason) << ")\n";
    }
    return guest_failed;
}

} // namespace

MachineOptions xen_machine(const XenMachineFiles& files, FirstDomainSize first_domain, std::uint64_t others,
                           unsigned of_guest) {
    MachineOptions machine;
    machine.processors = std::clamp(std::thread::hardware_concurrency(), 1U, of_guest);
    machine.processor = "max,-smap";
    machine.memory = first_domain.memory + others + memory_for_xen(first_domain.memory + others);
    machine.keys_at_once = keys_at_once;
    machine.keys_every = keys_every;
    // QEMU's list of modules: a space precedes an argument, a comma the next module.
    const std::string kernel = machine.hand_on_file(files.kernel);
    const std::string modules = kernel + (files.command_line.empty() ? "" : " " + files.command_line) + "," +
                                machine.hand_on_file(files.initrd);
    machine.qemu = {"-kernel", machine.hand_on_file(files.xen),
                    "-append", xen_command_line(first_domain, of_guest != 1),
                    "-initrd", modules};
    return machine;
}

RunStatus judge_xen(const RunOptions& options, const XenConsole& console, const MachineEnd& end) {
    if (!console.log().begun() && end.shutdown_reason.empty() && end.ended_by.empty() && !end.timed_out) {
        throw InputError("QEMU ended with status " + std::to_string(end.status) + " before Xen began");
    }
    const std::optional<RunStatus> decided = judge_guest(options, end);
    const RunStatus status = write_counters(
        options, console.vmm(), decided ? *decided : judge_vmm(console, end), nlohmann::json::object());
    if (status != guest_ended && end.ended_by.empty() && !options.verbose) {
        console.log().print_end(std::cerr);
    }
    return status;
}

} // namespace previrt
