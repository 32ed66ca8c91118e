// SPDX-License-Identifier: BSD-2-Clause
#include "bench/network/bench.hpp"

#include "bench/left_out.hpp"
#include "bench/measured_places.hpp"
#include "bench/network/guest.hpp"
#include "bench/network/namespace.hpp"
#include "bench/network/tap_transfers.hpp"
#include "bench/network/xen_bench.hpp"
#include "bench/operations.hpp"
#include "bench/peers/debian_linux.hpp"
#include "bench/peers/user_mode_linux.hpp"
#include "bench/results/save_result.hpp"
#include "bench/results/time_table.hpp"
#include "bench/turns.hpp"
#include "host/program_file.hpp"
#include "host/temporary_directory.hpp"
#include "monitor/network/tap.hpp"
#include "monitor/qemu/qemu.hpp"

#include <cstdio>
#include <iostream>

namespace previrt {

namespace {

constexpr const char* tap = "previrt-bench";
constexpr const char* virtio_name = "QEMU virtio";

Program of(std::vector<std::string> arguments) {
    return {.arguments = std::move(arguments), .directory = {}, .environment = {}};
}

class NetworkBench {
public:
    explicit NetworkBench(const NetworkBenchOptions& options)
        : options_(options), runs_(options.runs.value_or(5)), mebibytes_(options.mebibytes.value_or(100)),
          kernel_(build_measured_kernel(options.kernel)), initrd_(network_initrd("net", {})),
          settings_(network_settings(mebibytes_, options.traffic)) {}

    void run() {
        // Downloads missing files first: the network namespace has no way out.
        for (const std::string& name : names()) {
            try_place(name, [&] {
                places_.push_back({.name = name,
                                   .program = find(name),
                                   .inherits_tap = name == virtio_name,
                                   .transfers = {}});
            });
        }
        enter_network_namespace(tap, network_peer, options_.traffic.mtu);
        take_turns(places_, runs_,
                   [&](Place& place) { return try_place(place.name, [&] { measure(place); }); });
        print();
        save_result(options_.kernel, json());
    }

private:
    struct Place {
        std::string name;
        Program program;
        bool inherits_tap;                      // it may not open the tap itself
        std::vector<NetworkTransfer> transfers; // of all runs
    };

    [[nodiscard]] static const std::vector<std::string>& all_names() {
        static const std::vector<std::string> all = {"process", "kvm", "UML", "QEMU e1000", virtio_name};
        return all;
    }

    [[nodiscard]] std::vector<std::string> names() const {
        return choose_columns(all_names(), options_.columns);
    }

    [[nodiscard]] Program find(const std::string& name) {
        if (name == "UML") {
            std::vector<std::string> words = words_for(settings_);
            words.push_back("vec0:transport=tap,ifname=" + std::string(tap) + ",depth=128,gro=1");
            return user_mode_linux(find_user_mode_linux(), initrd_, words, directory_.path());
        }
        if (name == virtio_name) {
            return virtio();
        }
        const std::string on = name == "QEMU e1000" ? "bare" : name;
        return previrt_run(kernel_, initrd_, {"--on", on, "--net", "tap=" + std::string(tap)}, settings_);
    }

    [[nodiscard]] Program virtio() {
        const DebianLinux linux = find_debian_linux();
        const Rights rights = qemu_rights().rights;
        handed_on_.clear();
        for (const std::string& file : {linux.vmlinux, network_initrd("net-virtio", linux.modules)}) {
            handed_on_.push_back(open_for_program(file, rights));
        }
        std::vector<std::string> words = words_for(settings_);
        words.insert(words.end(), {"console=ttyS0", "panic=-1", "nokaslr", "mitigations=off"});
        Program program = of({qemu_program,
                              "-sandbox",
                              qemu_sandbox,
                              "-accel",
                              "tcg",
                              "-m",
                              "256",
                              "-display",
                              "none",
                              "-serial",
                              "stdio",
                              "-no-reboot",
                              "-nodefaults",
                              "-kernel",
                              name_of_inherited(handed_on_[0]),
                              "-initrd",
                              name_of_inherited(handed_on_[1]),
                              "-append",
                              command_line(words),
                              "-device",
                              "virtio-net-pci,netdev=net"});
        program.rights = rights;
        program.inherited = {handed_on_[0].number(), handed_on_[1].number()};
        return program;
    }

    static void hand_on_tap(Program& program, const Descriptor& end) {
        program.arguments.insert(program.arguments.end(),
                                 {"-netdev", "tap,id=net,fd=" + std::to_string(end.number())});
        program.inherited.push_back(end.number());
    }

    template <typename Step>
    bool try_place(const std::string& name, const Step& step) {
        return left_out_.try_step(name, name != all_names().front(), step);
    }

    void measure(Place& place) const {
        Program program = place.program;
        Descriptor end; // only one process may have it open
        if (place.inherits_tap) {
            end = open_tap(tap);
            hand_on_tap(program, end);
        }
        for (const NetworkTransfer& transfer : measure_transfers(
                 program, of({PREVIRT_TRAFFIC, "serve", network_peer}), options_.traffic.transfers.size())) {
            place.transfers.push_back(transfer);
        }
    }

    [[nodiscard]] TimeTable table() const {
        TimeTable table;
        for (const Place& place : places_) {
            add_transfers(table, place.name, place.transfers);
        }
        return table;
    }

    void print() const {
        left_out_.print(12);
        std::printf("%u runs, %u MiB a stream, MTU %u, by a tap device\n\n", runs_, mebibytes_,
                    options_.traffic.mtu);
        table().print();
    }

    [[nodiscard]] nlohmann::ordered_json json() const {
        return {{"title", "What a network costs Linux"},
                {"unit", "nanoseconds"},
                {"runs", runs_},
                {"mebibytes", mebibytes_},
                {"mtu", options_.traffic.mtu},
                {"left_out", left_out_.reasons()},
                {"times", table().json()}};
    }

    const NetworkBenchOptions& options_;
    unsigned runs_;
    unsigned mebibytes_;
    TemporaryDirectory directory_;
    std::string kernel_;
    std::string initrd_;
    Settings settings_;
    std::vector<Place> places_;
    std::vector<Descriptor> handed_on_; // to QEMU
    LeftOut left_out_;
};

} // namespace

void bench_network(const NetworkBenchOptions& options) {
    if (options.on == "xen") {
        bench_xen_network(options);
        return;
    }
    check_network_namespace(); // fails before anything is built or downloaded
    NetworkBench(options).run();
}

} // namespace previrt
