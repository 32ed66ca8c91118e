// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/bench_options.hpp"

#include <nlohmann/json.hpp>

namespace previrt {

// Throws InputError if a file of these options cannot be written: before the bench, which may take hours.
void check_result_files(const BenchOptions& options);

// Writes the files of these options. The bench has printed its table by now, so that a failure loses nothing.
// Throws InputError.
void save_result(const BenchOptions& options, const nlohmann::ordered_json& figures);

} // namespace previrt
