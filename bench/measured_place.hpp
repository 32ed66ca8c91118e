// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace previrt {

using Settings = std::vector<std::pair<std::string, std::string>>;

// A place in which operations are measured.
struct MeasuredPlace {
    // Runs bench/guest/time.c there, with these settings in its environment.
    std::function<Program(const Settings& settings)> measure;
    // Boots as far as bench/guest/launch.c; empty: nothing to boot.
    std::function<Program()> launch;
};

struct Samples {
    std::string operation;
    std::vector<double> values; // for one operation
};

struct PlaceTimes {
    std::string kernel;              // its own name for itself
    double ticks;                    // of the time-stamp counter, in a period
    double nanoseconds;              // the same period by the kernel's clock
    double our_nanoseconds;          // the same period by this program's clock
    std::vector<Samples> operations; // in ticks
};

struct Effort {
    unsigned samples = 3;                 // of each operation
    unsigned sample_microseconds = 10000; // at least
};

// Each throws InputError with the reason if that fails.
PlaceTimes measure_place(const MeasuredPlace& place, const Effort& effort);
// Checks the rate of the place's time-stamp counter, by this program's clock, against the host's.
void check_ticks(const PlaceTimes& times, const PlaceTimes& host);
// From the start of the program to the first output of the first process, in nanoseconds.
double measure_launch(const MeasuredPlace& place);

} // namespace previrt
