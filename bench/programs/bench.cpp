// SPDX-License-Identifier: BSD-2-Clause
#include "bench/programs/bench.hpp"

#include "bench/left_out.hpp"
#include "bench/measured_places.hpp"
#include "bench/measuring_processor.hpp"
#include "bench/operations.hpp"
#include "bench/peers/debian_tree.hpp"
#include "bench/peers/gvisor.hpp"
#include "bench/peers/user_mode_linux.hpp"
#include "bench/programs/times.hpp"
#include "bench/results/save_result.hpp"
#include "bench/results/time_table.hpp"
#include "bench/timed_program.hpp"
#include "bench/turns.hpp"
#include "host/input_error.hpp"
#include "host/temporary_directory.hpp"
#include "host/tree.hpp"
#include "toolchain/linux/source.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>

namespace previrt {

namespace {

using namespace std::chrono_literals;

constexpr auto ends_within = 7200s;
constexpr const char* guest_memory = "4G";
constexpr const char* native = "native";

// The same environment as in a guest: its own process numbers, an empty network, a root in memory. The tree
// itself stays unchanged.
constexpr const char* in_chroot =
    "mount -t tmpfs none \"$1\" && cp -a \"$0/.\" \"$1\" && mount -t proc none \"$1/proc\" && "
    "mount -t tmpfs none \"$1/tmp\" && mount --bind /dev \"$1/dev\" && exec chroot \"$1\" /init";

class ProgramsBench {
public:
    explicit ProgramsBench(const ProgramsBenchOptions& options)
        : options_(options), programs_(options.programs.empty() ? measured_programs() : options.programs),
          kernel_(build_measured_kernel(options.kernel)), processor_(last_processor()),
          tree_(std::ranges::find(programs_, "kernel") == programs_.end()
                    ? std::string()
                    : fetch_linux_source("6.1").directory) {}

    void run() {
        const std::vector<std::string> all = {native, "process", "kvm", "UML", "gVisor"};
        for (const std::string& name : choose_columns(all, options_.columns)) {
            try_place(name, [&] { places_.push_back({.name = name, .program = find(name), .times = {}}); });
        }
        move_to_processor(processor_);
        take_turns(places_, options_.runs,
                   [&](Place& place) { return try_place(place.name, [&] { measure(place); }); });
        print();
        save_result(options_.kernel, json());
    }

private:
    struct Place {
        std::string name;
        std::function<Program()> program;
        std::vector<ProgramTime> times; // of all runs
    };

    [[nodiscard]] Settings settings(const char* place) const {
        return {{"programs", listed(programs_)}, {"place", place}};
    }

    [[nodiscard]] std::function<Program()> find(const std::string& name) {
        if (name == native) {
            const std::string root = directory_.path() + "/root";
            make_directories(root);
            return [this, root] {
                return Program{.arguments = {"unshare", "--mount", "--net", "--pid", "--ipc", "--uts",
                                             "--fork", "--kill-child", "--propagation", "private", "sh", "-c",
                                             in_chroot, tree_.root(), root},
                               .directory = {},
                               .environment = settings("chroot")};
            };
        }
        if (name == "UML") {
            return [this, linux = find_user_mode_linux()] {
                return user_mode_linux(linux, tree_.initrd(), words_for(settings("guest")), directory_.path(),
                                       guest_memory);
            };
        }
        if (name == "gVisor") {
            return [this, runsc = find_gvisor()] {
                return gvisor_tree(runsc, tree_.root(), "/init", settings("gvisor"), directory_.path());
            };
        }
        return [this, name] {
            return previrt_run(kernel_, tree_.initrd(), {"--on", name, "--memory", guest_memory},
                               settings("guest"));
        };
    }

    template <typename Step>
    bool try_place(const std::string& name, const Step& step) {
        return left_out_.try_step(name, name == "UML" || name == "gVisor", step);
    }

    void measure(Place& place) const {
        ProgramTimesReader reader;
        const TimedEnd end =
            run_timed(place.program(), ends_within, [&](std::string_view line, std::chrono::nanoseconds now) {
                reader.read_line(line, now);
            });
        const auto& times = reader.require(programs_, end.last_lines);
        place.times.insert(place.times.end(), times.begin(), times.end());
    }

    [[nodiscard]] TimeTable table() const {
        TimeTable table;
        for (const Place& place : places_) {
            for (const std::string& program : programs_) {
                std::vector<double> samples;
                for (const ProgramTime& time : place.times) {
                    if (time.name == program) {
                        samples.push_back(static_cast<double>(time.took.count()));
                    }
                }
                table.add(program, place.name, samples);
            }
        }
        return table;
    }

    void print() const {
        left_out_.print(8);
        std::printf("%u %s, processor %u, %s of memory\n\n", options_.runs,
                    options_.runs == 1 ? "run" : "runs", processor_, guest_memory);
        table().print();
    }

    [[nodiscard]] nlohmann::ordered_json json() const {
        return {{"title", "What whole programs cost"},
                {"unit", "nanoseconds"},
                {"processor", processor_},
                {"runs", options_.runs},
                {"left_out", left_out_.reasons()},
                {"times", table().json()}};
    }

    const ProgramsBenchOptions& options_;
    std::vector<std::string> programs_;
    TemporaryDirectory directory_;
    std::string kernel_;
    unsigned processor_;
    DebianTree tree_;
    std::vector<Place> places_;
    LeftOut left_out_;
};

} // namespace

const std::vector<std::string>& measured_programs() {
    static const std::vector<std::string> all = {"compile", "sqlite", "git", "redis", "kernel"};
    return all;
}

void bench_programs(const ProgramsBenchOptions& options) {
    ProgramsBench(options).run();
}

} // namespace previrt
