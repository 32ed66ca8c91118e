// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/bench_options.hpp"
#include "monitor/run.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace previrt {

// An operation of bench/guest/operations.c, as a guest measured it.
struct Operation {
    std::string name;
    double instructions; // for one operation
};

struct Measurement {
    std::string kernel; // its own name for itself
    std::vector<Operation> operations;
    double again = 0; // additional unmeasured repetitions of one operation
};

// Of the same source, configuration and compiler.
enum class KernelVariant : std::uint8_t {
    ours,
    plain,     // neither macros nor patches
    xenolinux, // plain, with Linux's own port to Xen
};
// Builds the kernel if it is not up to date, and returns its bzImage. Throws InputError.
std::string build_measured_kernel(const BenchOptions& options, KernelVariant variant = KernelVariant::ours);

// The userland that measures.
std::string make_operations_initrd();

constexpr const char* no_operation = "none";

// A run in which QEMU counts instructions, and in which addresses, stacks and mitigations are the same for
// each kernel. `again` is the operation that runs as often again at the end, unmeasured.
RunOptions counted_run(const std::string& kernel, const std::string& initrd,
                       const std::string& again = no_operation);

// Runs a guest to its end and reads its measurements. `run` is run_guest or a replacement. Throws InputError.
using Runner = std::function<RunStatus(const RunOptions& options)>;
Measurement measure_operations(RunOptions options, const Runner& run = run_guest);

// Throws InputError if the operations differ.
void check_same_operations(const Measurement& first, const Measurement& second);

} // namespace previrt
