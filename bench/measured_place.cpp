// SPDX-License-Identifier: BSD-2-Clause
#include "bench/measured_place.hpp"

#include "bench/timed_program.hpp"
#include "host/input_error.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

namespace previrt {

namespace {

using namespace std::chrono_literals;
using Nanoseconds = std::chrono::nanoseconds;

constexpr auto measures_within = 900s;
constexpr auto launches_within = 120s;
constexpr double ticks_may_differ_by = 0.05;

// Reads the output of bench/guest/time.c.
class TimesReader {
public:
    void read(std::string_view line, Nanoseconds now) {
        std::istringstream words{std::string(line)};
        std::string word;
        words >> word >> std::ws;
        if (word == "kernel") {
            std::getline(words, times_.kernel);
        } else if (word == "clock") {
            read_clock(words, now);
        } else if (word == "sample") {
            read_sample(words);
        }
    }

    [[nodiscard]] bool is_complete(unsigned count) const {
        return times_.ticks > 0 && !times_.operations.empty() &&
               std::ranges::all_of(times_.operations,
                                   [&](const Samples& samples) { return samples.values.size() == count; });
    }
    [[nodiscard]] const PlaceTimes& times() const { return times_; }

private:
    void read_clock(std::istream& words, Nanoseconds now) {
        std::string word;
        words >> word;
        if (word == "begins") {
            begin_ = now;
            return;
        }
        double nanoseconds = 0;
        double ticks = 0;
        if (begin_ && words >> nanoseconds >> ticks) {
            times_.ticks = ticks;
            times_.nanoseconds = nanoseconds;
            times_.our_nanoseconds = static_cast<double>((now - *begin_).count());
        }
    }

    void read_sample(std::istream& words) {
        std::string name;
        double ticks = 0;
        if (!(words >> name >> ticks) || ticks <= 0) {
            return;
        }
        auto samples = std::ranges::find(times_.operations, name, &Samples::operation);
        if (samples == times_.operations.end()) {
            samples = times_.operations.insert(samples, {.operation = name, .values = {}});
        }
        samples->values.push_back(ticks);
    }

    PlaceTimes times_{};
    std::optional<Nanoseconds> begin_;
};

[[noreturn]] void fail(const TimedEnd& end) {
    std::string lines = end.last_lines;
    if (lines.ends_with('\n')) {
        lines.pop_back();
    }
    throw InputError("it " +
                     (end.timed_out ? "took too long" : "ended with status " + std::to_string(end.status)) +
                     "; its last lines:\n" + lines);
}

} // namespace

PlaceTimes measure_place(const MeasuredPlace& place, const Effort& effort) {
    TimesReader reader;
    const Program program =
        place.measure({{"times_samples", std::to_string(effort.samples)},
                       {"times_microseconds", std::to_string(effort.sample_microseconds)}});
    const TimedEnd end = run_timed(program, measures_within,
                                   [&](std::string_view line, Nanoseconds now) { reader.read(line, now); });
    if (!reader.is_complete(effort.samples)) { // a complete UML may still abort after it has halted
        fail(end);
    }
    return reader.times();
}

void check_ticks(const PlaceTimes& times, const PlaceTimes& host) {
    const double ratio = (times.ticks / times.our_nanoseconds) / (host.ticks / host.nanoseconds);
    if (std::abs(ratio - 1) > ticks_may_differ_by) {
        throw InputError("its time stamp counter runs at " + std::to_string(ratio) +
                         " of the host's: no time by it is to be believed");
    }
}

double measure_launch(const MeasuredPlace& place) {
    std::optional<Nanoseconds> launched;
    const TimedEnd end =
        run_timed(place.launch(), launches_within, [&](std::string_view line, Nanoseconds now) {
            if (line == "launched" && !launched) {
                launched = now;
            }
        });
    if (!launched) {
        fail(end);
    }
    return static_cast<double>(launched->count());
}

} // namespace previrt
