// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/chart/chart.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace previrt {

// The figures that a bench has written.
struct BenchResult {
    std::string name; // of its file, for messages
    nlohmann::ordered_json figures;
};

// Times that lie close together are drawn as they are. Others become ratios to the reference: to the column
// `native`, or to the first. Several results with times become one chart; each counts by its own reference.
// `columns` by name; empty: all. Throws InputError.
Chart chart_of(const std::vector<BenchResult>& results, const std::vector<std::string>& columns);

} // namespace previrt
