// SPDX-License-Identifier: BSD-2-Clause
#include "bench/processors/bench.hpp"

#include "bench/failed_rows.hpp"
#include "bench/left_out.hpp"
#include "bench/measured_places.hpp"
#include "bench/measuring_processor.hpp"
#include "bench/operations.hpp"
#include "bench/peers/gvisor.hpp"
#include "bench/peers/user_mode_linux.hpp"
#include "bench/processors/rows.hpp"
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
#include <map>

namespace previrt {

namespace {

using namespace std::chrono_literals;

constexpr auto ends_within = 7200s;
constexpr const char* guest_memory = "2G";
constexpr const char* native = "native";
constexpr const char* process = "process";
constexpr const char* hackbench = "hackbench";
constexpr const char* kernel = "kernel";

class ProcessorsBench {
public:
    explicit ProcessorsBench(const ProcessorsBenchOptions& options)
        : options_(options), rows_(options.rows.empty() ? measured_processor_rows() : options.rows),
          kernel_(build_measured_kernel(options.kernel)) {
        require_programs({"gcc", "make"});
        if (is_measured(hackbench) &&
            !left_out_.try_step(hackbench, options.rows.empty(), [] { require_programs({hackbench}); })) {
            std::erase(rows_, hackbench);
        }
        if (is_measured(kernel)) {
            source_ = fetch_linux_source("6.1").directory;
        }
    }

    void run() {
        for (const Place& place : chosen_places()) {
            try_place(place, [&] {
                places_.push_back(place);
                places_.back().program = find(place);
            });
        }
        take_turns(places_, options_.runs,
                   [&](Place& place) { return try_place(place, [&] { measure(place); }); });
        print();
        save_result(options_.kernel, json());
    }

private:
    struct Place {
        std::string name;
        std::string kind;
        unsigned processors;
        std::function<Program()> program;
        std::map<std::string, std::vector<double>> nanoseconds; // of all runs, by row
    };

    [[nodiscard]] bool is_measured(const char* row) const {
        return std::ranges::find(rows_, row) != rows_.end();
    }

    [[nodiscard]] std::vector<Place> chosen_places() const {
        std::vector<Place> places;
        std::vector<std::string> names;
        const auto add = [&](const std::string& kind, unsigned processors, const std::string& name) {
            places.push_back(
                {.name = name, .kind = kind, .processors = processors, .program = {}, .nanoseconds = {}});
            names.push_back(name);
        };
        for (const std::string kind : {native, process, "kvm", "UML", "gVisor"}) {
            add(kind, 1, kind);
            if (has_several(kind)) {
                add(kind, options_.processors, kind + " " + std::to_string(options_.processors));
            }
        }
        const std::vector<std::string> chosen = choose_columns(names, options_.columns);
        std::erase_if(places, [&](const Place& place) {
            return std::ranges::find(chosen, place.name) == chosen.end();
        });
        return places;
    }

    static bool has_several(const std::string& kind) { return kind != "UML"; }

    [[nodiscard]] Settings settings(const std::string& place) const {
        return {{"processors_rows", listed(rows_)},
                {"processors_place", place},
                {"processors_program", PREVIRT_PROCESSORS},
                {"processors_source", source_},
                {"processors_seconds", std::to_string(options_.seconds)}};
    }

    [[nodiscard]] static std::string script() { return in_source_tree("bench/guest/processors.sh"); }

    [[nodiscard]] std::function<Program()> find(const Place& place) const {
        if (place.kind == native) {
            const Program program{.arguments = {script()}, .directory = {}, .environment = settings("host")};
            return [limited = limited_to(place.processors, program)] { return limited; };
        }
        if (place.kind == "UML") {
            Settings all = settings("machine");
            all.emplace_back("init", script());
            return [this, linux = find_user_mode_linux(), words = words_for(all)] {
                return user_mode_linux_on_root(linux, {}, words, directory_.path(), guest_memory);
            };
        }
        if (place.kind == "gVisor") {
            // It has as many processors as its own program.
            return [this, runsc = find_gvisor(), processors = place.processors] {
                return limited_to(processors,
                                  gvisor_on_root(runsc, script(), settings("gvisor"), {}, directory_.path()));
            };
        }
        return [this, place] {
            return command_on_root(
                kernel_,
                {"--on", place.kind, "--memory", guest_memory, "--cpus", std::to_string(place.processors)},
                settings("command"), script());
        };
    }

    // A machine may have too few processors, no KVM, and none of the peers.
    template <typename Step>
    bool try_place(const Place& place, const Step& step) {
        return left_out_.try_step(place.name, place.name != native && place.kind != process, step);
    }

    void measure(Place& place) const {
        ProcessorRowsReader reader;
        const TimedEnd end =
            run_timed(place.program(), ends_within,
                      [&](std::string_view line, std::chrono::nanoseconds) { reader.read_line(line); });
        reader.require(rows_, place.processors, end.last_lines);
        report_failed_rows(reader.failed(), place.name, place.kind == "UML" || place.kind == "gVisor",
                           end.last_lines);
        for (const auto& [row, nanoseconds] : reader.done()) {
            place.nanoseconds[row].push_back(nanoseconds);
        }
    }

    [[nodiscard]] TimeTable table() const {
        TimeTable table;
        for (const Place& place : places_) {
            for (const std::string& row : rows_) {
                const auto found = place.nanoseconds.find(row);
                table.add(row, place.name,
                          found == place.nanoseconds.end() ? std::vector<double>() : found->second);
            }
        }
        return table;
    }

    void print() const {
        left_out_.print(10);
        std::printf("%u %s, %u s a row, %s of memory\n\n", options_.runs, options_.runs == 1 ? "run" : "runs",
                    options_.seconds, guest_memory);
        table().print();
    }

    [[nodiscard]] nlohmann::ordered_json json() const {
        return {{"title", "What several processors give and cost"},
                {"unit", "nanoseconds"},
                {"runs", options_.runs},
                {"seconds", options_.seconds},
                {"processors", options_.processors},
                {"left_out", left_out_.reasons()},
                {"times", table().json()}};
    }

    const ProcessorsBenchOptions& options_;
    std::vector<std::string> rows_;
    TemporaryDirectory directory_;
    std::string kernel_;
    std::string source_;
    std::vector<Place> places_;
    LeftOut left_out_;
};

} // namespace

const std::vector<std::string>& measured_processor_rows() {
    static const std::vector<std::string> all = {
        "compute",    "page_faults",   "fork_exec", "pipe_across", "futex_across",
        "membarrier", "tlb_shootdown", "hackbench", "compile",     "kernel"};
    return all;
}

void bench_processors(const ProcessorsBenchOptions& options) {
    ProcessorsBench(options).run();
}

} // namespace previrt
