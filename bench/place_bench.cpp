// SPDX-License-Identifier: BSD-2-Clause
#include "bench/place_bench.hpp"

#include "bench/left_out.hpp"
#include "bench/measured_places.hpp"
#include "bench/measuring_processor.hpp"
#include "bench/operations.hpp"
#include "bench/results/save_result.hpp"
#include "bench/results/spread.hpp"
#include "bench/results/time_table.hpp"
#include "host/input_error.hpp"
#include "host/temporary_directory.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>

namespace previrt {

namespace {

void say(const std::string& what) {
    std::cerr << "previrt: " << what << '\n';
}

std::vector<Column> choose(std::span<const Column> columns, const std::vector<std::string>& names) {
    std::vector<std::string> all;
    for (const Column& column : columns) {
        all.push_back(column.name);
    }
    std::vector<Column> chosen;
    for (const std::string& name : choose_columns(all, names)) {
        chosen.push_back(*std::ranges::find(columns, name, &Column::name));
    }
    return chosen;
}

// The measurements of a column.
struct Measured {
    Column column;
    MeasuredPlace place;
    PlaceTimes times; // of the last run
    std::vector<double> launches;
    std::vector<Samples> operations; // in nanoseconds, one a run

    void add(const std::string& operation, double nanoseconds) {
        auto known = std::ranges::find(operations, operation, &Samples::operation);
        if (known == operations.end()) {
            known = operations.insert(known, {.operation = operation, .values = {}});
        }
        known->values.push_back(nanoseconds);
    }
};

class PlaceBench {
public:
    PlaceBench(std::string title, const PlaceBenchOptions& options, std::span<const Column> columns)
        : title_(std::move(title)), options_(options), columns_(choose(columns, options.columns)),
          processor_(options.processor.value_or(last_processor())),
          files_(make_measured_files(build_measured_kernel(options.kernel), directory_.path())) {}

    void run() {
        for (const Column& column : columns_) {
            try_column(column, [&] {
                measured_.push_back({.column = column,
                                     .place = column.find(files_),
                                     .times = {},
                                     .launches = {},
                                     .operations = {}});
            });
        }
        move_to_processor(processor_);
        for (unsigned run = 1; run <= options_.runs; ++run) {
            for (auto measured = measured_.begin(); measured != measured_.end();) {
                const bool works = try_column(measured->column, [&] { measure(*measured, run); });
                measured = works ? measured + 1 : measured_.erase(measured);
            }
        }
        fill_table();
        print();
        save_result(options_.kernel, json());
    }

private:
    template <typename Step>
    bool try_column(const Column& column, const Step& step) {
        return left_out_.try_step(column.name, column.is_peer, step);
    }

    // Places take turns, so that other load on the machine affects all of them.
    void measure(Measured& measured, unsigned run) {
        say("run " + std::to_string(run) + " of " + std::to_string(options_.runs) + ": " +
            measured.column.name);
        measured.times = measure_place(measured.place, options_.effort);
        const PlaceTimes& host = measured_.front().times;
        check_ticks(measured.times, host);
        if (measured.place.launch) {
            measured.launches.push_back(measure_launch(measured.place));
        }
        for (const Samples& samples : measured.times.operations) {
            measured.add(samples.operation, spread_of(samples.values).median / host.ticks * host.nanoseconds);
        }
    }

    void fill_table() {
        for (const Measured& measured : measured_) {
            table_.add("launch", measured.column.name, measured.launches);
            for (const Samples& samples : measured.operations) {
                table_.add(samples.operation, measured.column.name, samples.values);
            }
        }
    }

    [[nodiscard]] int longest_name() const {
        std::size_t longest = 0;
        for (const Column& column : columns_) {
            longest = std::max(longest, column.name.size());
        }
        return static_cast<int>(longest);
    }

    void print() const {
        const int width = longest_name() + 1;
        for (const Measured& measured : measured_) {
            const PlaceTimes& times = measured.times;
            std::printf("%-*s %s; a second by its clock: %.4f s\n", width, measured.column.name.c_str(),
                        times.kernel.c_str(), times.our_nanoseconds / times.nanoseconds);
        }
        left_out_.print(width);
        std::printf("%u runs, processor %u\n\n", options_.runs, processor_);
        table_.print();
    }

    [[nodiscard]] nlohmann::ordered_json json() const {
        nlohmann::ordered_json json{
            {"title", title_},       {"unit", "nanoseconds"},           {"processor", processor_},
            {"runs", options_.runs}, {"left_out", left_out_.reasons()}, {"times", table_.json()}};
        for (const Measured& measured : measured_) {
            const PlaceTimes& times = measured.times;
            json["places"][measured.column.name] = {{"kernel", times.kernel},
                                                    {"ticks", times.ticks},
                                                    {"nanoseconds", times.nanoseconds},
                                                    {"our_nanoseconds", times.our_nanoseconds}};
        }
        return json;
    }

    std::string title_;
    const PlaceBenchOptions& options_;
    std::vector<Column> columns_;
    TemporaryDirectory directory_;
    unsigned processor_;
    MeasuredFiles files_;
    std::vector<Measured> measured_; // the host first
    LeftOut left_out_;
    TimeTable table_;
};

} // namespace

void bench_places(const std::string& title, const PlaceBenchOptions& options,
                  std::span<const Column> columns) {
    PlaceBench(title, options, columns).run();
}

} // namespace previrt
