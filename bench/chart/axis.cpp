// SPDX-License-Identifier: BSD-2-Clause
#include "bench/chart/axis.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

namespace previrt {

namespace {

constexpr std::array<double, 3> round_digits = {1, 2, 5};
constexpr std::array<double, 6> more_digits = {1, 1.5, 2, 3, 5, 7};
constexpr double nearly = 1e-9; // for differences that only rounding makes
// Beyond that many decades, the labels of 2 and 5 would touch those of powers of ten.
constexpr double decades_with_round_digits = 2.4;
constexpr double decades_with_more_digits = 0.9;
constexpr double steps = 5; // of a linear axis, roughly

// These digits times powers of ten between two powers.
std::vector<double> round_values(int first_power, int last_power,
                                 std::span<const double> digits = round_digits) {
    std::vector<double> values;
    for (int power = first_power; power <= last_power; ++power) {
        for (const double digit : digits) {
            values.push_back(digit * std::pow(10.0, power));
        }
    }
    return values;
}

int power_of(double value) {
    return static_cast<int>(std::floor(std::log10(value)));
}

double round_up(double value) {
    const std::vector<double> values = round_values(power_of(value) - 1, power_of(value) + 1);
    return *std::ranges::find_if(values, [&](double round) { return round >= value * (1 - nearly); });
}

double round_down(double value) {
    std::vector<double> values = round_values(power_of(value) - 1, power_of(value) + 1);
    std::ranges::reverse(values);
    return *std::ranges::find_if(values, [&](double round) { return round <= value * (1 + nearly); });
}

std::vector<double> logarithmic_marks(double least, double most) {
    const double decades = std::log10(most / least);
    const bool all = decades <= decades_with_round_digits;
    const std::span<const double> digits =
        decades <= decades_with_more_digits ? std::span<const double>(more_digits) : round_digits;
    std::vector<double> marks;
    for (const double value : round_values(power_of(least), power_of(most) + 1, digits)) {
        const bool is_power = std::abs(std::log10(value) - std::round(std::log10(value))) < nearly;
        const bool is_within = value >= least * (1 - nearly) && value <= most * (1 + nearly);
        if (is_within && (all || is_power)) {
            marks.push_back(value);
        }
    }
    return marks;
}

} // namespace

Axis::Axis(bool logarithmic, double least, double most, double base, std::vector<double> marks)
    : logarithmic_(logarithmic), least_(least), most_(most), base_(base), marks_(std::move(marks)) {}

Axis Axis::linear(double least, double most) {
    const double low = std::min(least, 0.0);
    const double high = most > low ? std::max(most, 0.0) : low + 1;
    const double step = round_up((high - low) / steps);
    const double first = std::ceil((low / step) - nearly);
    const double last = std::floor((high / step) + nearly);
    std::vector<double> marks;
    for (int mark = 0; mark <= static_cast<int>(last - first); ++mark) {
        marks.push_back((first + mark) * step);
    }
    return {false, low, high, 0, std::move(marks)};
}

Axis Axis::logarithmic(double least, double most) {
    // A bar of the least value is still to be seen.
    constexpr double room = 0.8;
    const double low = round_down(least * room);
    const double high = round_up(most);
    return {true, low, high, low, logarithmic_marks(low, high)};
}

Axis Axis::of_ratios(double least, double most) {
    constexpr double least_reach = 1.5; // so that a small difference looks small
    const double low = std::min(least, 1.0);
    const double high = std::max(most, least_reach);
    return {true, low, high, 1, logarithmic_marks(low, high)};
}

double Axis::place(double value) const {
    if (!logarithmic_) {
        return (value - least_) / (most_ - least_);
    }
    return value <= least_ ? 0 : std::log(value / least_) / std::log(most_ / least_);
}

} // namespace previrt
