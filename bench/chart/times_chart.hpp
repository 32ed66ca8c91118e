// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/chart/chart.hpp"
#include "bench/chart/result_table.hpp"

#include <string>
#include <vector>

namespace previrt {

// Panels of tables with times, each with ratios to its own reference. Throws InputError if the references
// differ, or if two tables have one figure of another column.
void add_times(Chart& chart, const std::vector<ResultTable>& tables, const std::vector<std::string>& columns);

} // namespace previrt
