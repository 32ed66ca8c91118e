// SPDX-License-Identifier: BSD-2-Clause
#include "bench/results/time_text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace previrt {

TimeUnit unit_of(double nanoseconds) {
    constexpr std::array<TimeUnit, 4> units = {{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
    const auto* const larger = std::ranges::find_if(
        units, [&](const TimeUnit& unit) { return nanoseconds < unit.nanoseconds * 999.5; });
    return larger == units.end() ? units.back() : *larger;
}

std::string three_digits(double value) {
    std::array<char, 32> text{};
    const int behind_the_point = (value < 9.995 ? 1 : 0) + (value < 99.95 ? 1 : 0);
    std::snprintf(text.data(), text.size(), "%.*f", behind_the_point, value);
    return text.data();
}

std::string time_text(double nanoseconds) {
    const TimeUnit unit = unit_of(nanoseconds);
    return three_digits(nanoseconds / unit.nanoseconds) + " " + unit.name;
}

} // namespace previrt
