// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace previrt {

using Settings = std::vector<std::pair<std::string, std::string>>;

// Where the operations are measured.
struct MeasuredPlace {
    // What runs bench/guest/time.c there, with these in its environment.
    std::function<Program(const Settings& settings)> measure;
    // What boots until bench/guest/launch.c; empty: there is nothing to boot.
    std::function<Program()> launch;
};

struct Samples {
    std::string operation;
    std::vector<double> values; // for one
};

struct PlaceTimes {
    std::string kernel;              // in its own words
    double ticks;                    // of the time stamp counter, in a while
    double nanoseconds;              // that the kernel's clock saw in it
    double our_nanoseconds;          // that ours did, up to when we heard of it
    std::vector<Samples> operations; // in ticks
};

struct Effort {
    unsigned samples = 3;                 // of each operation
    unsigned sample_microseconds = 10000; // at least
};

// Each throws InputError with the reason where that does not work.
PlaceTimes measure_place(const MeasuredPlace& place, const Effort& effort);
// The time stamp counter, by our clock, has to run as the host's.
void check_ticks(const PlaceTimes& times, const PlaceTimes& host);
// From the start of the program to the first words of the first process, in nanoseconds.
double measure_launch(const MeasuredPlace& place);

} // namespace previrt
