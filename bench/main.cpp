// SPDX-License-Identifier: BSD-2-Clause
// previrt-bench: `previrt bench ...`.
#include "bench/files/bench.hpp"
#include "bench/idle/bench.hpp"
#include "bench/kvm_exits.hpp"
#include "bench/linux_kvm.hpp"
#include "bench/linux_padding.hpp"
#include "bench/linux_process.hpp"
#include "bench/linux_xen.hpp"
#include "bench/network/bench.hpp"
#include "bench/processors/bench.hpp"
#include "bench/programs/bench.hpp"
#include "bench/results/plot_results.hpp"
#include "bench/results/save_result.hpp"
#include "cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <memory>

namespace previrt {

namespace {

void add_bench_options(CLI::App& command, BenchOptions& options) {
    command.add_option("--version", options.version, "6.1 or 6.12 (6.1)")
        ->check(CLI::IsMember({"6.1", "6.12"}));
    command
        .add_option("--config", options.configuration,
                    "small, rich or container (" + options.configuration + ")")
        ->check(CLI::IsMember({"small", "rich", "container"}));
    command.add_option("--compiler", options.compiler, "gcc or clang (gcc)")
        ->check(CLI::IsMember({"gcc", "clang"}));
    command.add_option("--json", options.json, "Write the figures to this file too");
}

void add_plot_option(CLI::App& command, std::string& plot) {
    command.add_option("--plot", plot, "Draw the table as a chart, into this SVG file");
}

void add_columns_option(CLI::App& command, std::vector<std::string>& columns) {
    command
        .add_option("--columns", columns,
                    "Only these columns, by their names in the table, separated by commas (all)")
        ->delimiter(',');
}

void add_rows_option(CLI::App& command, std::vector<std::string>& rows, const std::vector<std::string>& all) {
    command.add_option("--rows", rows, "Only these, separated by commas (all)")
        ->delimiter(',')
        ->check(CLI::IsMember(all));
}

void add_runs_option(CLI::App& command, unsigned& runs) {
    command
        .add_option("--runs", runs,
                    "Number of runs; each starts and measures every place (" + std::to_string(runs) + ")")
        ->check(CLI::Range(1, 1000));
}

// Files that cannot be written are refused before the bench begins.
template <typename Options>
void set_action(CLI::App& command, Action& action, const std::shared_ptr<Options>& options,
                BenchOptions& files, void (*measure)(const Options& options)) {
    command.callback([&action, options, &files, measure] {
        action = [options, &files, measure] {
            check_result_files(files);
            measure(*options);
            return 0;
        };
    });
}

void add_bench_of(CLI::App& bench, Action& action, const char* name, const char* description,
                  void (*measure)(const BenchOptions& options)) {
    auto* const command = bench.add_subcommand(name, description);
    const auto options = std::make_shared<BenchOptions>();
    add_bench_options(*command, *options);
    add_plot_option(*command, options->plot);
    set_action(*command, action, options, *options, measure);
}

void add_bench_of_places(CLI::App& bench, Action& action, const char* name, const char* description,
                         void (*measure)(const PlaceBenchOptions& options)) {
    auto* const command = bench.add_subcommand(name, description);
    const auto options = std::make_shared<PlaceBenchOptions>();
    add_bench_options(*command, options->kernel);
    add_plot_option(*command, options->kernel.plot);
    add_columns_option(*command, options->columns);
    add_runs_option(*command, options->runs);
    command
        ->add_option("--sample", options->effort.sample_microseconds,
                     "Least microseconds of a sample; a run takes three samples of each operation (10000)")
        ->check(CLI::Range(1, 10000000));
    command->add_option("--cpu", options->processor, "The processor to run on (the last)");
    set_action(*command, action, options, options->kernel, measure);
}

void add_bench_idle(CLI::App& bench, Action& action) {
    auto* const command =
        bench.add_subcommand("idle", "Processor time and memory of many sleeping guests together");
    const auto options = std::make_shared<IdleBenchOptions>();
    add_bench_options(*command, options->kernel);
    command->add_option("--on", options->on, "process or kvm (process)")
        ->check(CLI::IsMember({"process", "kvm"}));
    command->add_option("--guests", options->guests, "Number of guests at once (100)")
        ->check(CLI::Range(1, 10000));
    command->add_option("--seconds", options->seconds, "Seconds of measurement (20)")
        ->check(CLI::Range(1, 3600));
    command->add_flag("--net", options->network,
                      "Connect all guests to one switch, and ping each once at the end");
    set_action(*command, action, options, options->kernel, bench_idle_guests);
}

void add_bench_net(CLI::App& bench, Action& action) {
    auto* const command = bench.add_subcommand(
        "net", "Time and processor time of sending and receiving, beside the cards of UML and QEMU, "
               "or Xen's own network driver");
    const auto options = std::make_shared<NetworkBenchOptions>();
    add_bench_options(*command, options->kernel);
    add_plot_option(*command, options->kernel.plot);
    command
        ->add_option(
            "--on", options->on,
            "host: with this machine by a tap device, as root; xen: with dom0, counting instructions (host)")
        ->check(CLI::IsMember({"host", "xen"}));
    command->add_option("--columns", options->columns, "Only these, separated by commas (all)")
        ->delimiter(',');
    command->add_option("--transfers", options->traffic.transfers, "Only these, separated by commas (all)")
        ->delimiter(',')
        ->check(CLI::IsMember(network_transfers()));
    command
        ->add_option("--mtu", options->traffic.mtu,
                     "MTU of both ends (1500; at most 6000, for Linux's ns83820)")
        ->check(CLI::Range(576, 6000));
    command
        ->add_option(
            "--runs", options->runs,
            "Number of runs; each starts and measures every place (5; 1 on xen, where all runs are equal)")
        ->check(CLI::Range(1, 1000));
    command->add_option("--mebibytes", options->mebibytes, "Mebibytes of each stream (100; 16 on xen)")
        ->check(CLI::Range(1, 100000));
    set_action(*command, action, options, options->kernel, bench_network);
}

void add_bench_programs(CLI::App& bench, Action& action) {
    auto* const command =
        bench.add_subcommand("programs", "Time of Debian's programs from start to end, beside a chroot, User "
                                         "Mode Linux and gVisor; as root");
    const auto options = std::make_shared<ProgramsBenchOptions>();
    add_bench_options(*command, options->kernel);
    add_plot_option(*command, options->kernel.plot);
    add_columns_option(*command, options->columns);
    command->add_option("--programs", options->programs, "Only these, separated by commas (all)")
        ->delimiter(',')
        ->check(CLI::IsMember(measured_programs()));
    add_runs_option(*command, options->runs);
    set_action(*command, action, options, options->kernel, bench_programs);
}

void add_bench_files(CLI::App& bench, Action& action) {
    auto* const command = bench.add_subcommand(
        "files", "Time of accesses to disks and folders, beside this machine's own, User "
                 "Mode Linux, QEMU's virtio and gVisor; as root");
    const auto options = std::make_shared<FilesBenchOptions>();
    options->kernel.configuration = "container"; // fio needs its asynchronous I/O
    add_bench_options(*command, options->kernel);
    add_plot_option(*command, options->kernel.plot);
    add_columns_option(*command, options->columns);
    add_rows_option(*command, options->rows, measured_file_rows());
    add_runs_option(*command, options->runs);
    command->add_option("--seconds", options->seconds, "Seconds of each row of a disk (3)")
        ->check(CLI::Range(1, 3600));
    command->add_option("--mebibytes", options->disk_mebibytes, "Size of a disk (256)")
        ->check(CLI::Range(16, 1 << 20));
    command->add_option("--source", options->source, "A tree of files in the place of Linux's source")
        ->check(CLI::ExistingDirectory);
    set_action(*command, action, options, options->kernel, bench_files);
}

void add_bench_processors(CLI::App& bench, Action& action) {
    auto* const command =
        bench.add_subcommand("processors", "What several processors give and cost, beside this machine's "
                                           "own, User Mode Linux and gVisor");
    const auto options = std::make_shared<ProcessorsBenchOptions>();
    options->kernel.configuration = "container"; // the others are for one processor
    add_bench_options(*command, options->kernel);
    add_plot_option(*command, options->kernel.plot);
    add_columns_option(*command, options->columns);
    add_rows_option(*command, options->rows, measured_processor_rows());
    add_runs_option(*command, options->runs);
    command->add_option("--seconds", options->seconds, "Seconds of each row that is not a whole program (3)")
        ->check(CLI::Range(1, 3600));
    command->add_option("--cpus", options->processors, "Processors of the columns with a number (2)")
        ->check(CLI::Range(2, 64));
    set_action(*command, action, options, options->kernel, bench_processors);
}

void add_plot_of_results(CLI::App& bench, Action& action) {
    auto* const command = bench.add_subcommand("plot", "Draw results that --json has saved");
    const auto options = std::make_shared<PlotOptions>();
    command
        ->add_option("RESULT", options->results,
                     "Files with figures; times of several become one chart, each a ratio to its own native")
        ->required();
    command
        ->add_option("--columns", options->columns,
                     "Only these columns of a table of times, by their names, separated by commas (all)")
        ->delimiter(',');
    add_plot_option(*command, options->plot);
    command->get_option("--plot")->required();
    command->callback([&action, options] {
        action = [options] {
            plot_results(*options);
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
                 "What Xen costs Linux: instructions an operation, ours and XenoLinux of the same source",
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
    add_bench_files(*command, action);
    add_bench_processors(*command, action);
    add_plot_of_results(*command, action);
}

} // namespace

} // namespace previrt

int main(int argc, char** argv) {
    CLI::App app("Measures; `previrt` calls it.", "previrt");
    app.require_subcommand(1);
    previrt::Action action;
    previrt::add_bench(app, action);
    return previrt::run_command_line(app, argc, argv, action);
}
