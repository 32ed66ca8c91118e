// SPDX-License-Identifier: BSD-2-Clause
#include "bench/linux_xen.hpp"

#include "bench/event_counts.hpp"
#include "bench/operations.hpp"
#include "bench/peers/xenolinux.hpp"
#include "bench/results/save_result.hpp"
#include "host/input_error.hpp"
#include "host/temporary_directory.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <iostream>

namespace previrt {

namespace {

// A kernel without and with a hypervisor.
struct Pair {
    Measurement bare;
    Measurement xen;
};

// Of one operation.
struct Cost {
    double bare;
    double xen;
    [[nodiscard]] double ratio() const { return xen / bare; }
    [[nodiscard]] double added() const { return xen - bare; }
};

Cost cost(const Pair& pair, std::size_t operation) {
    return {.bare = pair.bare.operations[operation].instructions,
            .xen = pair.xen.operations[operation].instructions};
}

// What Xen adds to ours over what it adds to the peer. Nothing if it adds nothing to the peer.
std::string overhead(const Cost& ours, const Cost& peer) {
    constexpr double least = 0.01; // of the peer's own instructions: less is noise
    if (peer.added() < least * peer.bare) {
        return "";
    }
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.2f", ours.added() / peer.added());
    return text.data();
}

void say(const std::string& what) {
    std::cerr << "previrt: counting " << what << '\n';
}

// Digits beyond this one differ between runs by other work.
double rounded(double events) {
    return (std::round(events * 10) / 10) + 0.0; // turns a negative zero into 0
}

class XenBench {
public:
    explicit XenBench(const BenchOptions& options)
        : options_(options), kernel_(build_measured_kernel(options)), initrd_(make_operations_initrd()),
          peer_kernel_(build_measured_kernel(options, KernelVariant::xenolinux)) {}

    void run() {
        measure();
        count_events();
        print_instructions();
        print_events();
        save_result(options_, json());
    }

private:
    void measure() {
        say("instructions: ours, bare");
        ours_.bare = measure_operations(counted_run(kernel_, initrd_));
        say("instructions: ours, Xen");
        ours_.xen = measure_operations(on_xen(no_operation));
        counters_ = read_counters(counters_file());
        say("instructions: XenoLinux, bare");
        peer_.bare = measure_operations(counted_run(peer_kernel_, initrd_));
        say("instructions: XenoLinux, Xen");
        peer_.xen = measure_operations(counted_run(peer_kernel_, initrd_), run_xenolinux);
        check_same_operations(ours_.bare, ours_.xen);
        check_same_operations(ours_.bare, peer_.bare);
        check_same_operations(ours_.bare, peer_.xen);
    }

    // The VMM prints its counters once, at the end: each operation needs one more boot.
    void count_events() {
        for (const Operation& operation : ours_.xen.operations) {
            say("events: " + operation.name);
            const double times = measure_operations(on_xen(operation.name)).again;
            if (times == 0) {
                throw InputError("the guest did not run " + operation.name + " again");
            }
            counts_.push_back(counts_of_one(counters_, read_counters(counters_file()), times));
        }
    }

    [[nodiscard]] RunOptions on_xen(const std::string& again) const {
        RunOptions options = counted_run(kernel_, initrd_, again);
        options.on = "xen";
        options.stats = counters_file();
        return options;
    }

    void print_instructions() const {
        std::printf("ours: %s\npeer: %s\n\n", ours_.xen.kernel.c_str(), peer_.xen.kernel.c_str());
        std::printf("%-18s %12s %12s %6s %12s %12s %6s %8s\n", "instructions", "ours, bare", "ours, Xen",
                    "ratio", "peer, bare", "XenoLinux", "ratio", "overhead");
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            const Cost ours = cost(ours_, i);
            const Cost peer = cost(peer_, i);
            std::printf("%-18s %12.1f %12.1f %6.2f %12.1f %12.1f %6.2f %8s\n", name(i), ours.bare, ours.xen,
                        ours.ratio(), peer.bare, peer.xen, peer.ratio(), overhead(ours, peer).c_str());
        }
    }

    void print_events() const {
        std::printf("\n%-18s %7s %7s %6s %6s %6s %6s %6s %6s\n", "events: ours, Xen", "system", "user",
                    "hyper-", "page", "hidden", "other", "site", "shadow");
        std::printf("%-18s %7s %7s %6s %6s %6s %6s %6s %6s\n", "", "calls", "returns", "calls", "faults",
                    "ones", "traps", "calls", "writes");
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            const EventCounts events = sum_up(counts_[i]);
            std::printf("%-18s %7.1f %7.1f %6.1f %6.1f %6.1f %6.1f %6.1f %6.1f\n", name(i),
                        rounded(events.system_calls), rounded(events.user_returns),
                        rounded(events.hypercalls), rounded(events.page_faults),
                        rounded(events.hidden_faults), rounded(events.other_exceptions),
                        rounded(events.site_calls), rounded(events.shadow_entries));
        }
    }

    [[nodiscard]] nlohmann::ordered_json json() const {
        nlohmann::ordered_json json{{"title", "What Xen costs Linux"},
                                    {"version", options_.version},
                                    {"configuration", options_.configuration},
                                    {"compiler", options_.compiler},
                                    {"kernel", ours_.xen.kernel},
                                    {"peer", peer_.xen.kernel},
                                    {"unit", "instructions"}};
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            const Cost ours = cost(ours_, i);
            const Cost peer = cost(peer_, i);
            json["operations"][name(i)] = {{"bare", ours.bare},
                                           {"xen", ours.xen},
                                           {"peer_bare", peer.bare},
                                           {"peer_xen", peer.xen},
                                           {"events", counts_[i]}};
        }
        return json;
    }

    [[nodiscard]] const char* name(std::size_t operation) const {
        return ours_.xen.operations[operation].name.c_str();
    }
    [[nodiscard]] std::string counters_file() const { return directory_.path() + "/counters.json"; }

    const BenchOptions& options_;
    TemporaryDirectory directory_;
    std::string kernel_;
    std::string initrd_;
    std::string peer_kernel_;
    Pair ours_;
    Pair peer_;
    nlohmann::json counters_;            // of a whole run
    std::vector<nlohmann::json> counts_; // of one operation each
};

} // namespace

void bench_linux_xen(const BenchOptions& options) {
    XenBench(options).run();
}

} // namespace previrt
