// SPDX-License-Identifier: BSD-2-Clause
#include "bench/network_bench.hpp"

#include "bench/debian_linux.hpp"
#include "bench/left_out.hpp"
#include "bench/measured_places.hpp"
#include "bench/network_namespace.hpp"
#include "bench/network_transfers.hpp"
#include "bench/operations.hpp"
#include "bench/time_table.hpp"
#include "bench/user_mode_linux.hpp"
#include "toolchain/host/tree.hpp"
#include "toolchain/image/file.hpp"
#include "toolchain/image/input_error.hpp"
#include "toolchain/run/qemu.hpp"
#include "toolchain/run/temporary_directory.hpp"
#include "toolchain/userland/initrd.hpp"

#include <cstdio>
#include <iostream>
#include <map>

namespace previrt {

namespace {

constexpr const char* tap = "previrt-bench";
constexpr const char* host_address = "10.82.86.1";
constexpr const char* guest_address = "10.82.86.2";
constexpr double mebibyte = 1U << 20U;
constexpr unsigned datagrams_a_mebibyte = 10000; // a transfer of each takes about as long

using Files = std::vector<std::pair<std::string, std::string>>;

std::string network_initrd(const std::string& name, Files more) {
    more.emplace_back("/run-me", in_source_tree("bench/guest/net.sh"));
    more.emplace_back("/bin/traffic", PREVIRT_TRAFFIC);
    return make_initrd(name, more);
}

Program of(std::vector<std::string> arguments) {
    return {.arguments = std::move(arguments), .directory = {}, .environment = {}};
}

class NetworkBench {
public:
    explicit NetworkBench(const NetworkBenchOptions& options)
        : options_(options), kernel_(build_measured_kernel(options.kernel, false)),
          initrd_(network_initrd("net", {})),
          settings_({{"net_own", guest_address},
                     {"net_peer", host_address},
                     {"net_bytes", std::to_string(std::uint64_t{options.mebibytes} << 20U)},
                     {"net_datagrams", std::to_string(options.mebibytes * datagrams_a_mebibyte)}}) {}

    void run() {
        // What is not there is downloaded, which the network of our own does not allow.
        for (const std::string& name : names()) {
            try_place(name,
                      [&] { places_.push_back({.name = name, .program = find(name), .transfers = {}}); });
        }
        enter_network_namespace(tap, host_address);
        for (unsigned run = 1; run <= options_.runs; ++run) {
            for (auto place = places_.begin(); place != places_.end();) {
                const bool works = try_place(place->name, [&] { measure(*place, run); });
                place = works ? place + 1 : places_.erase(place);
            }
        }
        print();
        if (!options_.kernel.json.empty()) {
            write_text(options_.kernel.json, json().dump(2) + "\n");
        }
    }

private:
    struct Place {
        std::string name;
        Program program;
        std::vector<NetworkTransfer> transfers; // of all runs
    };

    [[nodiscard]] static const std::vector<std::string>& all_names() {
        static const std::vector<std::string> all = {"process", "kvm", "UML", "QEMU e1000", "QEMU virtio"};
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
        if (name == "QEMU virtio") {
            return virtio();
        }
        const std::string on = name == "QEMU e1000" ? "bare" : name;
        return previrt_run(kernel_, initrd_, {"--on", on, "--net", "tap=" + std::string(tap)}, settings_);
    }

    [[nodiscard]] Program virtio() const {
        const DebianLinux linux = find_debian_linux();
        std::vector<std::string> words = words_for(settings_);
        words.insert(words.end(), {"console=ttyS0", "panic=-1", "nokaslr", "mitigations=off"});
        return of({qemu_program,
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
                   linux.vmlinux,
                   "-initrd",
                   network_initrd("net-virtio", linux.modules),
                   "-append",
                   command_line(words),
                   "-netdev",
                   "tap,id=net,script=no,downscript=no,ifname=" + std::string(tap),
                   "-device",
                   "virtio-net-pci,netdev=net"});
    }

    template <typename Step>
    bool try_place(const std::string& name, const Step& step) {
        return left_out_.try_step(name, name != all_names().front(), step);
    }

    // Places take turns, so that what else the machine does meets all of them.
    void measure(Place& place, unsigned run) const {
        std::cerr << "previrt: run " << run << " of " << options_.runs << ": " << place.name << '\n';
        for (const NetworkTransfer& transfer :
             measure_transfers(place.program, of({PREVIRT_TRAFFIC, "serve", host_address}))) {
            place.transfers.push_back(transfer);
        }
    }

    [[nodiscard]] TimeTable table() const {
        TimeTable table;
        for (const Place& place : places_) {
            std::map<std::string, std::vector<double>> took;
            std::map<std::string, std::vector<double>> used;
            for (const NetworkTransfer& transfer : place.transfers) {
                const bool is_stream = transfer.name.find("datagram") == std::string::npos;
                const std::string unit = transfer.name + (is_stream ? "_1_MiB" : "");
                const double nanoseconds = 1e9 / transfer.amount * (is_stream ? mebibyte : 1);
                took[unit].push_back(transfer.seconds * nanoseconds);
                used[unit + "_cpu"].push_back(transfer.processor_seconds * nanoseconds);
            }
            for (const auto* const rows : {&took, &used}) {
                for (const auto& [row, samples] : *rows) {
                    table.add(row, place.name, samples);
                }
            }
        }
        return table;
    }

    void print() const {
        left_out_.print(12);
        std::printf("%u runs, %u MiB a stream, by a tap device\n\n", options_.runs, options_.mebibytes);
        table().print();
    }

    [[nodiscard]] nlohmann::json json() const {
        return {{"unit", "nanoseconds"},
                {"runs", options_.runs},
                {"mebibytes", options_.mebibytes},
                {"left_out", left_out_.reasons()},
                {"times", table().json()}};
    }

    const NetworkBenchOptions& options_;
    TemporaryDirectory directory_;
    std::string kernel_;
    std::string initrd_;
    Settings settings_;
    std::vector<Place> places_;
    LeftOut left_out_;
};

} // namespace

void bench_network(const NetworkBenchOptions& options) {
    check_network_namespace(); // before anything is built or downloaded
    NetworkBench(options).run();
}

} // namespace previrt
