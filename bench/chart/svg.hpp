// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/chart/chart.hpp"

#include <string>

namespace previrt {

// A picture of horizontal bars, as an SVG document.
std::string draw_svg(const Chart& chart);

} // namespace previrt
