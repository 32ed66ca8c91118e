// SPDX-License-Identifier: BSD-2-Clause
#include "bench/results/spread.hpp"

#include <algorithm>
#include <cmath>

namespace previrt {

namespace {

// Interpolates between the two nearest samples.
double quantile(const std::vector<double>& sorted, double part) {
    const double place = part * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

} // namespace

Spread spread_of(std::vector<double> samples) {
    std::ranges::sort(samples);
    return {.median = quantile(samples, 0.5),
            .lower_quartile = quantile(samples, 0.25),
            .upper_quartile = quantile(samples, 0.75),
            .least = samples.front(),
            .most = samples.back()};
}

} // namespace previrt
