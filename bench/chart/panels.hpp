// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/chart/chart.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace previrt {

using Texts = std::function<std::string(double value)>;

// Whether the values lie so far apart that a linear axis would not show the small ones. A
// logarithmic axis has no 0: values with a 0 do not need it.
bool need_logarithm(const std::vector<double>& values);

// Values of the groups' bars.
std::vector<double> values_of(const std::vector<BarGroup>& groups);

// From 0, or on a logarithmic axis, which its title then says.
Panel panel_of_amounts(const std::string& title, std::vector<Series> series, std::vector<BarGroup> groups,
                       const Texts& mark_text);

// The meaning of a bar to the left of 1, and of one to the right.
struct Sides {
    std::string below;
    std::string above;
};

// On a logarithmic axis, which its title then says.
Panel panel_of_ratios(const std::string& title, Sides sides, std::vector<Series> series,
                      std::vector<BarGroup> groups);
// With two digits: the tables have three.
Bar ratio_bar(double ratio);

} // namespace previrt
