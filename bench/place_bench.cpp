// SPDX-License-Identifier: BSD-2-Clause
#include "bench/linux_kvm.hpp"

#include "bench/measured_places.hpp"
#include "bench/measuring_processor.hpp"
#include "bench/operations.hpp"
#include "bench/spread.hpp"
#include "bench/time_table.hpp"
#include "toolchain/image/file.hpp"
#include "toolchain/image/input_error.hpp"
#include "toolchain/run/temporary_directory.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>

namespace previrt {

namespace {

void say(const std::string& what) {
    std::cerr << "previrt: " << what << '\n';
}

class KvmBench {
public:
    explicit KvmBench(const KvmBenchOptions& options)
        : options_(options), processor_(options.processor.value_or(last_processor())),
          files_(make_measured_files(build_measured_kernel(options.kernel, false), directory_.path())) {}

    void run() {
        find_places();
        move_to_processor(processor_);
        for (unsigned run = 1; run <= options_.runs; ++run) {
            std::erase_if(places_, [&](const Wanted& wanted) {
                return !try_place(wanted, [&] { measure(wanted.place, run); });
            });
        }
        for (const Wanted& wanted : places_) {
            enter(wanted.place.name);
        }
        print();
        if (!options_.kernel.json.empty()) {
            write_text(options_.kernel.json, json().dump(2) + "\n");
        }
    }

private:
    struct Wanted {
        MeasuredPlace place;
        bool is_peer;
    };

    void find_places() {
        const std::vector<std::string> kvm = {"--on", "kvm"};
        const std::vector<std::string> isolated = {"--on", "kvm", "--isolate"};
        places_ = {{.place = native_place(), .is_peer = false},
                   {.place = previrt_place(files_, "kvm", kvm), .is_peer = false},
                   {.place = previrt_place(files_, "kvm --isolate", isolated), .is_peer = false}};
        try {
            places_.push_back({.place = user_mode_linux_place(files_), .is_peer = true});
        } catch (const InputError& error) {
            leave_out("UML", error);
        }
        places_.push_back({.place = previrt_place(files_, "QEMU TCG", {"--on", "bare"}), .is_peer = true});
    }

    // False: it is a peer that does not work.
    template <typename Step>
    bool try_place(const Wanted& wanted, const Step& step) {
        try {
            step();
            return true;
        } catch (const InputError& error) {
            if (!wanted.is_peer) {
                throw;
            }
            leave_out(wanted.place.name, error);
            return false;
        }
    }

    void leave_out(const std::string& name, const InputError& error) {
        left_out_[name] = error.what();
        say(name + " is left out: " + error.what());
    }

    // Places take turns, so that what else the machine does meets all of them.
    void measure(const MeasuredPlace& place, unsigned run) {
        say("run " + std::to_string(run) + " of " + std::to_string(options_.runs) + ": " + place.name);
        const PlaceTimes times = measure_place(place, options_.effort);
        times_[place.name] = times;
        const PlaceTimes& host = times_.at(native_place().name);
        check_ticks(times, host);
        if (place.launch) {
            launches_[place.name].push_back(measure_launch(place));
        }
        for (const Samples& samples : times.operations) {
            add(place.name, samples.operation,
                spread_of(samples.values).median / host.ticks * host.nanoseconds);
        }
    }

    void add(const std::string& place, const std::string& operation, double nanoseconds) {
        std::vector<Samples>& operations = operations_[place];
        auto known = std::ranges::find(operations, operation, &Samples::operation);
        if (known == operations.end()) {
            known = operations.insert(known, {.operation = operation, .values = {}});
        }
        known->values.push_back(nanoseconds);
    }

    void enter(const std::string& place) {
        table_.add("launch", place, launches_[place]);
        for (const Samples& samples : operations_[place]) {
            table_.add(samples.operation, place, samples.values);
        }
    }

    void print() const {
        for (const Wanted& wanted : places_) {
            const PlaceTimes& times = times_.at(wanted.place.name);
            std::printf("%-14s %s; a second by its clock: %.4f s\n", wanted.place.name.c_str(),
                        times.kernel.c_str(), times.our_nanoseconds / times.nanoseconds);
        }
        for (const auto& [name, reason] : left_out_) {
            std::printf("%-14s left out: %s\n", name.c_str(), reason.c_str());
        }
        std::printf("%u runs, processor %u\n\n", options_.runs, processor_);
        table_.print();
    }

    [[nodiscard]] nlohmann::json json() const {
        nlohmann::json json{{"unit", "nanoseconds"},
                            {"processor", processor_},
                            {"runs", options_.runs},
                            {"left_out", left_out_},
                            {"times", table_.json()}};
        for (const Wanted& wanted : places_) {
            const PlaceTimes& times = times_.at(wanted.place.name);
            json["places"][wanted.place.name] = {{"kernel", times.kernel},
                                                 {"ticks", times.ticks},
                                                 {"nanoseconds", times.nanoseconds},
                                                 {"our_nanoseconds", times.our_nanoseconds}};
        }
        return json;
    }

    const KvmBenchOptions& options_;
    TemporaryDirectory directory_;
    unsigned processor_;
    MeasuredFiles files_;
    std::vector<Wanted> places_;
    std::map<std::string, std::string> left_out_;
    std::map<std::string, PlaceTimes> times_;                // of the last run
    std::map<std::string, std::vector<Samples>> operations_; // in nanoseconds, one a run
    std::map<std::string, std::vector<double>> launches_;
    TimeTable table_;
};

} // namespace

void bench_linux_kvm(const KvmBenchOptions& options) {
    KvmBench(options).run();
}

} // namespace previrt
