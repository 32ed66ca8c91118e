// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/bench_options.hpp"
#include "monitor/run.hpp"

#include <functional>
#include <string>
#include <vector>

namespace previrt {

// One of bench/guest/operations.c, as a guest measured it.
struct Operation {
    std::string name;
    double instructions; // for one
};

struct Measurement {
    std::string kernel; // in its own words
    std::vector<Operation> operations;
    double again = 0; // how often more one of them ran, without being measured
};

// Builds the kernel where it is not up to date, and gives its bzImage. Throws InputError.
std::string build_measured_kernel(const BenchOptions& options, bool plain);

// The userland that measures.
std::string make_operations_initrd();

constexpr const char* no_operation = "none";

// A run in which QEMU counts instructions, and addresses, stacks and mitigations are the same for each
// kernel. `again` is the operation that runs as often again at the end, without being measured.
RunOptions counted_run(const std::string& kernel, const std::string& initrd,
                       const std::string& again = no_operation);

// Runs a guest to its end and reads what it measured. `run` is run_guest or takes its place. Throws
// InputError.
using Runner = std::function<RunStatus(const RunOptions& options)>;
Measurement measure_operations(RunOptions options, const Runner& run = run_guest);

// Throws InputError where these are not the same operations.
void check_same_operations(const Measurement& first, const Measurement& second);

} // namespace previrt
