// SPDX-License-Identifier: BSD-2-Clause
#include "bench/chart/panels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace previrt {

namespace {

constexpr const char* times_sign = "\u00d7";

std::vector<double> positive(std::vector<double> values) {
    std::erase_if(values, [](double value) { return value <= 0; });
    return values;
}

std::vector<std::string> texts_of(const Axis& axis, const Texts& text) {
    std::vector<std::string> texts;
    for (const double mark : axis.marks()) {
        texts.push_back(text(mark));
    }
    return texts;
}

std::string ratio_mark(double ratio) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%g", ratio);
    return ratio == 1 ? "1" : text.data() + std::string(times_sign);
}

} // namespace

bool need_logarithm(const std::vector<double>& values) {
    constexpr double decades_of_linear_axis = 1.5;
    const bool has_zero = std::ranges::any_of(values, [](double value) { return value <= 0; });
    return !has_zero && !values.empty() &&
           std::log10(std::ranges::max(values) / std::ranges::min(values)) > decades_of_linear_axis;
}

std::vector<double> values_of(const std::vector<BarGroup>& groups) {
    std::vector<double> values;
    for (const BarGroup& group : groups) {
        for (const std::optional<Bar>& bar : group.bars) {
            if (bar) {
                values.push_back(bar->value);
            }
        }
    }
    return values;
}

Panel panel_of_amounts(const std::string& title, std::vector<Series> series, std::vector<BarGroup> groups,
                       const Texts& mark_text) {
    std::vector<double> values = values_of(groups);
    const bool logarithmic = need_logarithm(values);
    values.push_back(values.empty() ? 1 : values.front());
    const double least = std::ranges::min(values);
    const double most = std::ranges::max(values);
    const Axis axis = logarithmic ? Axis::logarithmic(least, most) : Axis::linear(least, most);
    return {.axis = axis,
            .marks = texts_of(axis, mark_text),
            .axis_title = title + (logarithmic ? ", on a logarithmic axis" : ""),
            .below = {},
            .above = {},
            .series = std::move(series),
            .groups = std::move(groups)};
}

Bar ratio_bar(double ratio) {
    std::array<char, 32> text{};
    const int behind_the_point = (ratio < 0.995 ? 1 : 0) + (ratio < 9.95 ? 1 : 0);
    const double tens = ratio < 100 ? 1 : std::pow(10.0, std::floor(std::log10(ratio)) - 1);
    std::snprintf(text.data(), text.size(), "%.*f", behind_the_point,
                  tens > 1 ? std::round(ratio / tens) * tens : ratio);
    return {.value = ratio, .text = text.data() + std::string(times_sign)};
}

Panel panel_of_ratios(const std::string& title, Sides sides, std::vector<Series> series,
                      std::vector<BarGroup> groups) {
    std::vector<double> values = positive(values_of(groups));
    values.push_back(1);
    const Axis axis = Axis::of_ratios(std::ranges::min(values), std::ranges::max(values));
    return {.axis = axis,
            .marks = texts_of(axis, ratio_mark),
            .axis_title = title + ", on a logarithmic axis",
            .below = std::move(sides.below),
            .above = std::move(sides.above),
            .series = std::move(series),
            .groups = std::move(groups)};
}

} // namespace previrt
