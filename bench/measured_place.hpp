// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/host/program.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace previrt {

using Settings = std::vector<std::pair<std::string, std::string>>;

// Where the operations are measured.
struct MeasuredPlace {
    std::string name;
    // What runs bench/guest/time.c there, with these in its environment.
    std::function<Program(const Settings& settings)> measure;
    // What boots until bench/guest/launch.c; empty: there is nothing to boot.
    std::function<Program()> launch;
};

struct Samples {
    std::string operation;
    std::vector<double> nanoseconds; // for one
};

struct PlaceTimes {
    std::string kernel;        // in its own words
    double ticks_a_second;     // of the time stamp counter, by our clock
    double clock_against_ours; // what it says of one second of ours
    std::vector<Samples> operations;
};

struct Effort {
    unsigned runs = 10;
    unsigned sample_microseconds = 20000; // at least
};

// Throws InputError with the reason where that does not work.
PlaceTimes measure_place(const MeasuredPlace& place, const Effort& effort);
// Throws InputError where the two time stamp counters do not run alike by our clock.
void check_ticks(const PlaceTimes& times, const PlaceTimes& reference);
// From the start of the program to the first words of the first process, in nanoseconds.
double measure_launch(const MeasuredPlace& place);

} // namespace previrt
