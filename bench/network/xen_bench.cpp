// SPDX-License-Identifier: BSD-2-Clause
#include "bench/network/xen_bench.hpp"

#include "bench/left_out.hpp"
#include "bench/measured_places.hpp"
#include "bench/network/domain_transfers.hpp"
#include "bench/network/guest.hpp"
#include "bench/operations.hpp"
#include "bench/results/save_result.hpp"
#include "host/file.hpp"
#include "host/temporary_directory.hpp"
#include "monitor/xen/place.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>

namespace previrt {

namespace {

constexpr const char* ours = "xen-domu";
constexpr const char* xenolinux = "XenoLinux";
constexpr const char* without_segmentation = "XenoLinux without TSO";
constexpr int name_width = 21;
// Without this, Linux doubts the counter and counts ticks, when dom0 has kept enough ticks from it.
constexpr const char* no_watchdog = " tsc=reliable";
constexpr const char* vif = "mac=52:54:00:12:34:56,script=vif-guest";

class XenNetworkBench {
public:
    explicit XenNetworkBench(const NetworkBenchOptions& options)
        : options_(options), runs_(options.runs.value_or(1)), mebibytes_(options.mebibytes.value_or(16)) {}

    void run() {
        const std::vector<std::string> all = {ours, xenolinux, without_segmentation};
        for (const std::string& name : choose_columns(all, options_.columns)) {
            left_out_.try_step(name, name != ours, [&] { domains_.push_back(prepare(name)); });
        }
        for (unsigned run = 1; run <= runs_; ++run) {
            std::erase_if(domains_, [&](Domain& domain) {
                return !left_out_.try_step(domain.name, domain.name != ours, [&] { measure(domain, run); });
            });
        }
        print();
        save_result(options_.kernel, json());
    }

private:
    struct Domain {
        std::string name;
        RunOptions options;
        DomainBesideDom0 beside;
        std::vector<NetworkTransfer> transfers; // of all runs
    };

    [[nodiscard]] Domain prepare(const std::string& name) const {
        return name == ours ? prepare_ours() : prepare_xenolinux(name);
    }

    [[nodiscard]] RunOptions counted_network_run(const std::string& kernel, const std::string& initrd) const {
        RunOptions options = counted_run(kernel, initrd);
        options.append += no_watchdog;
        options.append += " " + command_line(words_for(network_settings(mebibytes_, options_.traffic))) +
                          " " + dom0_network_words;
        return options;
    }

    [[nodiscard]] Domain prepare_ours() const {
        Domain domain{
            .name = ours,
            .options = counted_network_run(build_measured_kernel(options_.kernel), network_initrd("net", {})),
            .beside = {},
            .transfers = {}};
        domain.options.stats = counters_file();
        domain.beside = pack_beside_dom0(domain.options, vif);
        add(domain, dom0_network_files());
        return domain;
    }

    // Both run dom0's kernel.
    [[nodiscard]] Domain prepare_xenolinux(const std::string& name) const {
        const Dom0 dom0 = prepare_dom0();
        const bool segments = name == xenolinux;
        std::vector<std::pair<std::string, std::string>> files = {
            {"/modules/xen-netfront.ko", dom0.netfront}};
        if (!segments) {
            files.emplace_back("/bin/no-segmentation", PREVIRT_NO_SEGMENTATION);
        }
        Domain domain{.name = name,
                      .options = counted_network_run(
                          dom0.kernel, network_initrd(segments ? "net-xen" : "net-xen-segments", files)),
                      .beside = {},
                      .transfers = {}};
        domain.beside.domain = {.name = "guest",
                                .kernel = "/guest/vmlinux",
                                .module = "/guest/initrd",
                                .command_line = "console=hvc0 panic=-1 " + domain.options.append,
                                .memory = domain.options.memory,
                                .at_end = kept_at_end,
                                .vif = vif,
                                .disks = {}};
        add(domain, {{.name = "vmlinux", .contents = read_file(domain.options.kernel)},
                     {.name = "initrd", .contents = read_file(domain.options.initrd)}});
        add(domain, dom0_network_files());
        if (!segments) {
            add(domain, {{.name = "no-segmentation",
                          .contents = read_file(PREVIRT_NO_SEGMENTATION),
                          .executable = true}});
        }
        return domain;
    }

    static void add(Domain& domain, const std::vector<Dom0File>& files) {
        domain.beside.files.insert(domain.beside.files.end(), files.begin(), files.end());
    }

    void measure(Domain& domain, unsigned run) const {
        std::cerr << "previrt: run " << run << " of " << runs_ << ": " << domain.name << '\n';
        for (const NetworkTransfer& transfer :
             measure_domain(domain.options, domain.beside, options_.traffic.transfers.size())) {
            domain.transfers.push_back(transfer);
        }
    }

    [[nodiscard]] TimeTable table() const {
        TimeTable table;
        for (const Domain& domain : domains_) {
            add_transfers(table, domain.name, domain.transfers);
        }
        return table;
    }

    void print() const {
        left_out_.print(name_width + 1);
        std::printf("%u %s, %u MiB a stream, MTU %u, with dom0; 1 ns is one instruction\n\n", runs_,
                    runs_ == 1 ? "run" : "runs", mebibytes_, options_.traffic.mtu);
        table().print();
    }

    [[nodiscard]] nlohmann::ordered_json json() const {
        return {{"title", "What a network costs Linux on Xen"},
                {"unit", "instructions"},
                {"runs", runs_},
                {"mebibytes", mebibytes_},
                {"mtu", options_.traffic.mtu},
                {"left_out", left_out_.reasons()},
                {"counters",
                 nlohmann::json::parse(read_text(counters_file()))}, // of the in-place VMM, in the last run
                {"times", table().json()}};
    }

    [[nodiscard]] std::string counters_file() const { return directory_.path() + "/counters.json"; }

    const NetworkBenchOptions& options_;
    TemporaryDirectory directory_;
    unsigned runs_;
    unsigned mebibytes_;
    std::vector<Domain> domains_;
    LeftOut left_out_;
};

} // namespace

void bench_xen_network(const NetworkBenchOptions& options) {
    XenNetworkBench(options).run();
}

} // namespace previrt
