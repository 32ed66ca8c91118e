// SPDX-License-Identifier: BSD-2-Clause
// The command line: `previrt COMMAND ...`. Exit status: 0 done, 1 the answer is no, 2 bad arguments or files.
#include "bench/idle_guests.hpp"
#include "bench/kvm_exits.hpp"
#include "bench/linux_kvm.hpp"
#include "bench/linux_padding.hpp"
#include "bench/linux_process.hpp"
#include "bench/linux_xen.hpp"
#include "bench/network_bench.hpp"
#include "bench/programs_bench.hpp"
#include "toolchain/audit/audit.hpp"
#include "toolchain/audit/sites.hpp"
#include "toolchain/doctor/doctor.hpp"
#include "toolchain/image/file.hpp"
#include "toolchain/image/input_error.hpp"
#include "toolchain/image/kernel_file.hpp"
#include "toolchain/image/site_table.hpp"
#include "toolchain/linux/build_linux.hpp"
#include "toolchain/net/switch_command.hpp"
#include "toolchain/pack/pack.hpp"
#include "toolchain/run/ending_signals.hpp"
#include "toolchain/run/run.hpp"
#include "toolchain/run/supervisor.hpp"

#include <CLI/CLI.hpp>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <string>

namespace previrt {

namespace {

constexpr int answer_is_no = 1;
constexpr int bad_input = 2;

// What the command that was given does; its result is the exit status.
using Action = std::function<int()>;

// ---- audit, sites, sort-sites

struct AuditOptions {
    std::string file;
    std::string exceptions;
    std::string symbols;
    bool json = false;
};

// What build-linux leaves in the directory of a kernel; empty where it is not.
std::string beside(const std::string& file, const std::string& name) {
    const auto path = std::filesystem::path(file).replace_filename(name);
    return std::filesystem::exists(path) ? path.string() : "";
}

std::optional<KernelFile> find_symbols(const KernelFile& file, const std::string& given) {
    const std::string path = given.empty() && file.packed ? beside(file.path, "vmlinux") : given;
    if (path.empty()) {
        return std::nullopt;
    }
    KernelFile symbols = load_kernel_file(path);
    if (!have_same_code(file.elf, symbols.elf)) {
        throw InputError(path + ": not the kernel that is in " + file.path + ", its code differs");
    }
    return symbols;
}

int run_audit(const AuditOptions& options) {
    const KernelFile file = load_kernel_file(options.file);
    const std::string list =
        options.exceptions.empty() ? beside(options.file, "exceptions") : options.exceptions;
    ExceptionList exceptions;
    if (!list.empty()) {
        exceptions = ExceptionList(list, read_text(list));
    }
    const std::optional<KernelFile> symbols = find_symbols(file, options.symbols);
    const AuditReport report = audit(file, exceptions, symbols ? &symbols->elf : nullptr);
    if (options.json) {
        print_json(std::cout, report);
    } else {
        print_text(std::cout, report, exceptions);
    }
    return report.complete() ? 0 : answer_is_no;
}

void add_audit(CLI::App& app, Action& action) {
    auto* const command =
        app.add_subcommand("audit", "Prove that no sensitive instruction is unrecorded (exit 1: one is)");
    const auto options = std::make_shared<AuditOptions>();
    command->add_option("FILE", options->file, "An .o, .ko, vmlinux or bzImage")->required();
    command->add_flag("--json", options->json, "Print the report as JSON");
    command->add_option("--exceptions", options->exceptions,
                        "File of instructions that may stay unrecorded: PLACE KIND REASON, one a line "
                        "(`exceptions` beside FILE, if there is one)");
    command->add_option("--symbols", options->symbols,
                        "Take the symbols of this file, unstripped (`vmlinux` beside a bzImage)");
    command->callback([&action, options] { action = [options] { return run_audit(*options); }; });
}

void add_sites(CLI::App& app, Action& action) {
    auto* const command = app.add_subcommand("sites", "Print the records by kind");
    const auto options = std::make_shared<AuditOptions>();
    command->add_option("FILE", options->file, "An .o, .ko, vmlinux or bzImage")->required();
    command->add_flag("--json", options->json, "Print every record as JSON");
    command->callback([&action, options] {
        action = [options] {
            const KernelFile file = load_kernel_file(options->file);
            (options->json ? print_sites_json : print_sites_text)(std::cout, file);
            return 0;
        };
    });
}

void add_sort_sites(CLI::App& app, Action& action) {
    auto* const command =
        app.add_subcommand("sort-sites", "Put the records of a linked file in order of address, in place");
    const auto file = std::make_shared<std::string>();
    command->add_option("FILE", *file, "A linked ELF file (vmlinux)")->required();
    command->callback([&action, file] {
        action = [file] {
            write_file(*file, sort_site_table(load_kernel_file(*file)));
            return 0;
        };
    });
}

// ---- kernels

void add_build_linux(CLI::App& app, Action& action) {
    auto* const command = app.add_subcommand(
        "build-linux", "Build a pre-virtualized Linux (exit 1: built, but the audit found gaps)");
    const auto options = std::make_shared<BuildLinuxOptions>();
    command->add_option("--output", options->output, "Directory for bzImage, vmlinux, modules/, previrt.json")
        ->required();
    auto* const source =
        command->add_option("--source", options->source, "A kernel source of your own; it is not changed");
    command
        ->add_option("--version", options->version,
                     "Debian's linux-source-VERSION, downloaded on first use (6.1)")
        ->check(CLI::IsMember({"6.1", "6.12"}))
        ->excludes(source);
    command->add_option("--config", options->configuration,
                        "small, rich, or a file of CONFIG_ lines; what it leaves out is off (small)");
    command->add_option("--compiler", options->compiler, "gcc or clang (gcc)")
        ->check(CLI::IsMember({"gcc", "clang"}));
    auto* const without = command->add_option(
        "--without", options->without, "A patch of linux-patches/optional to leave out, as ns83820-repairs");
    command
        ->add_flag("--plain", options->plain, "The same kernel without macros and patches, to compare with")
        ->excludes(without);
    command->add_option("--jobs", options->jobs, "Compilers at once (as many as processors)");
    command->callback(
        [&action, options] { action = [options] { return build_linux(*options) ? 0 : answer_is_no; }; });
}

void add_run(CLI::App& app, Action& action) {
    auto* const command = app.add_subcommand(
        "run", "Run a kernel (exit 0: it powered off or rebooted, 1: it failed, 124: it took too long)");
    const auto options = std::make_shared<RunOptions>();
    command->add_option("KERNEL", options->kernel, "A bzImage, or an ELF executable")->required();
    command
        ->add_option("--on", options->on,
                     "auto, process, kvm, kvm-nested, xen, xen-domu, bare (auto: the best that works here)")
        ->check(CLI::IsMember({"auto", "process", "kvm", "kvm-nested", "xen", "xen-domu", "bare"}));
    command->add_option("--initrd", options->initrd, "Its initial RAM disk");
    command->add_option("--append", options->append, "Its command line, behind console=ttyS0 panic=-1");
    command
        ->add_option("--memory", options->memory,
                     "Its RAM (256M); what a guest in a process may take of this machine beside it stands in "
                     "docs/process.md")
        ->transform(CLI::AsSizeValue(false));
    command->add_option("--cpus", options->cpus, "Its processors (1)")->check(CLI::Range(1, 64));
    command->add_option(
        "--net", options->net,
        "user[,host-loopback][,tcp=HOSTPORT:GUESTPORT][,mtu=BYTES], tap=NAME, switch=SOCKET, each with "
        "[,mac=ADDRESS], or none (none)");
    command->add_option("--stats", options->stats, "Write the VMM's counters to this file");
    command->add_flag(
        "--isolate", options->isolate,
        "In a process and under KVM, keep the guest's programs from its kernel's memory (on Xen that is "
        "always so)");
    command->add_flag("--require-isolation", options->require_isolation,
                      "In a process and under KVM, refuse to run (exit 2) where this machine gives less than "
                      "all layers between guest and host; else a warning names those that are missing");
    command->add_flag(
        "!--no-rewrite", options->rewrite,
        "Under KVM with a processor that virtualizes, leave the kernel's instructions as they are: "
        "to see what the in-place VMM saves");
    command->add_flag(
        "!--no-syscall-rewrite", options->rewrite_system_calls,
        "In a process and under KVM, let every system call of the guest's programs pass the host, "
        "and their code be as it was");
    command->add_flag(
        "--quiet", options->quiet,
        "Say nothing at the start: neither which kernel runs where, nor whether its programs can "
        "reach it");
    command->add_flag(
        "--strict", options->strict,
        "End the guest where it uses a port or memory that nobody answers; else it reads all ones");
    command->add_flag("--verbose", options->verbose,
                      "Show what the hypervisor says and counts, on standard error");
    command->add_option("--timeout", options->timeout, "Seconds until it is ended, with status 124")
        ->check(CLI::PositiveNumber);
    command->callback([&action, options] {
        action = [options] {
            options->is_own_process = true;
            return run_supervised([&] { return run_guest_of_command(*options); });
        };
    });
}

void add_switch(CLI::App& app, Action& action) {
    auto* const command = app.add_subcommand(
        "switch",
        "Connect guests by an Ethernet of their own, until a signal ends it: run --net switch=SOCKET");
    const auto path = std::make_shared<std::string>();
    command->add_option("SOCKET", *path, "Where it listens: a path of at most 107 characters")->required();
    command->callback([&action, path] {
        action = [path] {
            run_switch(*path, hold_ending_signals());
            return 0;
        };
    });
}

void add_pack(CLI::App& app, Action& action) {
    auto* const command = app.add_subcommand("pack", "Make the files a hypervisor boots");
    const auto options = std::make_shared<PackOptions>();
    command->add_option("--for", "The hypervisor: xen")->required()->check(CLI::IsMember({"xen"}));
    command->add_option("KERNEL", options->kernel, "A bzImage, or an ELF executable")->required();
    command->add_option("--initrd", options->initrd, "Its initial RAM disk");
    command->add_option("--append", options->append, "Its command line, behind console=ttyS0 panic=-1");
    command->add_option("--memory", options->memory, "Its RAM (256M)")->transform(CLI::AsSizeValue(false));
    command->add_flag(
        "--strict", options->strict,
        "End the guest where it uses a port or memory that nobody answers; else it reads all ones");
    command->add_option("--output", options->output, "Directory for previrt-xen, guest, guest.cfg")
        ->required();
    command->callback([&action, options] {
        action = [options] {
            const PackedGuest packed = pack_for_xen(*options);
            std::cout << "kernel sha256: " << packed.kernel_sha256 << "\nstart it: xl create -c "
                      << packed.configuration << '\n';
            return 0;
        };
    });
}

void add_bench_options(CLI::App& command, BenchOptions& options) {
    command.add_option("--version", options.version, "6.1 or 6.12 (6.1)")
        ->check(CLI::IsMember({"6.1", "6.12"}));
    command.add_option("--config", options.configuration, "small or rich (small)")
        ->check(CLI::IsMember({"small", "rich"}));
    command.add_option("--compiler", options.compiler, "gcc or clang (gcc)")
        ->check(CLI::IsMember({"gcc", "clang"}));
    command.add_option("--json", options.json, "Write the figures to this file too");
}

void add_bench_of(CLI::App& bench, Action& action, const char* name, const char* description,
                  void (*measure)(const BenchOptions& options)) {
    auto* const command = bench.add_subcommand(name, description);
    const auto options = std::make_shared<BenchOptions>();
    add_bench_options(*command, *options);
    command->callback([&action, options, measure] {
        action = [options, measure] {
            measure(*options);
            return 0;
        };
    });
}

void add_bench_of_places(CLI::App& bench, Action& action, const char* name, const char* description,
                         void (*measure)(const PlaceBenchOptions& options)) {
    auto* const command = bench.add_subcommand(name, description);
    const auto options = std::make_shared<PlaceBenchOptions>();
    add_bench_options(*command, options->kernel);
    command
        ->add_option("--columns", options->columns,
                     "Only these, by the names they have in the table, with commas between (all)")
        ->delimiter(',');
    command->add_option("--runs", options->runs, "How often each place is started and measured (10)")
        ->check(CLI::Range(1, 1000));
    command
        ->add_option("--sample", options->effort.sample_microseconds,
                     "Microseconds that a sample of an operation takes at least; a run has three (10000)")
        ->check(CLI::Range(1, 10000000));
    command->add_option("--cpu", options->processor, "The processor to run on (the last)");
    command->callback([&action, options, measure] {
        action = [options, measure] {
            measure(*options);
            return 0;
        };
    });
}

void add_bench_idle(CLI::App& bench, Action& action) {
    auto* const command =
        bench.add_subcommand("idle", "What many guests that sleep use together: processor time, and memory");
    const auto options = std::make_shared<IdleBenchOptions>();
    add_bench_options(*command, options->kernel);
    command->add_option("--on", options->on, "process or kvm (process)")
        ->check(CLI::IsMember({"process", "kvm"}));
    command->add_option("--guests", options->guests, "How many at once (100)")->check(CLI::Range(1, 10000));
    command->add_option("--seconds", options->seconds, "How long they are watched (20)")
        ->check(CLI::Range(1, 3600));
    command->callback([&action, options] {
        action = [options] {
            bench_idle_guests(*options);
            return 0;
        };
    });
}

void add_bench_net(CLI::App& bench, Action& action) {
    auto* const command = bench.add_subcommand(
        "net", "What sending and receiving takes: time and processor time, beside the cards of UML and QEMU, "
               "or Xen's own network driver");
    const auto options = std::make_shared<NetworkBenchOptions>();
    add_bench_options(*command, options->kernel);
    command
        ->add_option("--on", options->on,
                     "host: by a tap device of it, as root; xen: with dom0, counting instructions (host)")
        ->check(CLI::IsMember({"host", "xen"}));
    command->add_option("--columns", options->columns, "Only these, with commas between (all)")
        ->delimiter(',');
    command->add_option("--transfers", options->traffic.transfers, "Only these, with commas between (all)")
        ->delimiter(',')
        ->check(CLI::IsMember(network_transfers()));
    command->add_option("--mtu", options->traffic.mtu, "Of both ends (1500; Linux's ns83820 takes 6000)")
        ->check(CLI::Range(576, 6000));
    command
        ->add_option("--runs", options->runs,
                     "How often each place is started and measured (5; 1 on xen, where all are alike)")
        ->check(CLI::Range(1, 1000));
    command->add_option("--mebibytes", options->mebibytes, "Of each stream (100; 16 on xen)")
        ->check(CLI::Range(1, 100000));
    command->callback([&action, options] {
        action = [options] {
            bench_network(*options);
            return 0;
        };
    });
}

void add_bench_programs(CLI::App& bench, Action& action) {
    auto* const command =
        bench.add_subcommand("programs", "What Debian's programs take from start to end: time, as root, and "
                                         "that of a chroot, User Mode Linux and gVisor");
    const auto options = std::make_shared<ProgramsBenchOptions>();
    add_bench_options(*command, options->kernel);
    command
        ->add_option("--columns", options->columns,
                     "Only these, by the names they have in the table, with commas between (all)")
        ->delimiter(',');
    command->add_option("--programs", options->programs, "Only these, with commas between (all)")
        ->delimiter(',')
        ->check(CLI::IsMember(measured_programs()));
    command->add_option("--runs", options->runs, "How often each place is started and measured (1)")
        ->check(CLI::Range(1, 1000));
    command->callback([&action, options] {
        action = [options] {
            bench_programs(*options);
            return 0;
        };
    });
}

void add_bench(CLI::App& app, Action& action) {
    auto* const command = app.add_subcommand("bench", "Measure beside the peers");
    command->require_subcommand(1);
    add_bench_of(*command, action, "padding",
                 "What padding costs Linux on bare metal: instructions an operation, plain and padded",
                 bench_linux_padding);
    add_bench_of(*command, action, "xen",
                 "What Xen costs Linux: instructions an operation, ours and Debian's XenoLinux",
                 bench_linux_xen);
    add_bench_of(*command, action, "exits",
                 "How often KVM leaves a guest in privileged mode: exits an operation, with the in-place VMM "
                 "and without",
                 bench_kvm_exits);
    add_bench_of_places(
        *command, action, "kvm",
        "What KVM costs Linux: time an operation, and the host's, User Mode Linux's and QEMU's",
        bench_linux_kvm);
    add_bench_of_places(
        *command, action, "process",
        "What a process costs Linux: time an operation, and the host's, User Mode Linux's and gVisor's",
        bench_linux_process);
    add_bench_idle(*command, action);
    add_bench_net(*command, action);
    add_bench_programs(*command, action);
}

void add_doctor(CLI::App& app, Action& action) {
    auto* const command = app.add_subcommand(
        "doctor", "Say what works on this machine, and why not (exit 1: no guest can run here)");
    const auto json = std::make_shared<bool>(false);
    command->add_flag("--json", *json, "Print it as JSON");
    command->callback([&action, json] {
        action = [json] {
            const MachineReport report = examine_machine();
            if (*json) {
                print_json(std::cout, report);
            } else {
                print_text(std::cout, report);
            }
            return report.can_run_guests() ? 0 : answer_is_no;
        };
    });
}

// ---- what is to come

void add_planned(CLI::App& app, Action& action) {
    for (const auto& [name, purpose] : {std::pair("profile", "show where a guest spends its time")}) {
        auto* const command = app.add_subcommand(name, std::string("Planned: ") + purpose)->allow_extras();
        command->callback([&action, command] {
            action = [command] {
                std::cerr << "previrt " << command->get_name()
                          << ": not built yet; `previrt --help` lists what works\n";
                return bad_input;
            };
        });
    }
}

int main(int argc, char** argv) {
    CLI::App app("Pre-virtualized kernels: one binary for bare metal and for every hypervisor.", "previrt");
    app.require_subcommand(1);
    app.set_help_all_flag("--help-all", "Help for every command");
    Action action;
    add_audit(app, action);
    add_sites(app, action);
    add_sort_sites(app, action);
    add_build_linux(app, action);
    add_pack(app, action);
    add_run(app, action);
    add_switch(app, action);
    add_bench(app, action);
    add_doctor(app, action);
    add_planned(app, action);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : bad_input;
    }
    return action();
}

} // namespace

} // namespace previrt

int main(int argc, char** argv) {
    try {
        return previrt::main(argc, argv);
    } catch (const previrt::InputError& error) {
        std::cerr << "previrt: " << error.what() << '\n';
    } catch (const std::bad_alloc&) {
        std::cerr << "previrt: this machine has not the memory for it\n";
    } catch (const std::exception& error) {
        std::cerr << "previrt: internal error: " << error.what() << '\n';
    }
    return previrt::bad_input;
}
