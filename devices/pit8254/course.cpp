// SPDX-License-Identifier: BSD-2-Clause
#include "devices/pit8254/course.hpp"

#include <algorithm>

namespace previrt {

namespace {

constexpr bool is_periodic(std::uint8_t mode) {
    return mode == 2 || mode == 3;
}

} // namespace

// Pulses since the start of the period.
std::uint32_t Course::position(std::uint64_t pulse) const {
    return static_cast<std::uint32_t>((elapsed(pulse) + phase) % count);
}

std::uint32_t Course::value(std::uint64_t pulse) const {
    if (!counting) {
        return count % modulus;
    }
    if (mode == 2) {
        return (count - position(pulse)) % modulus;
    }
    if (mode == 3) {
        const std::uint32_t in_period = position(pulse);
        const std::uint32_t in_half = in_period < high_half() ? in_period : in_period - high_half();
        return ((count & ~1U) - (2 * in_half)) % modulus;
    }
    // After zero it wraps around and continues.
    return (count + modulus - static_cast<std::uint32_t>(elapsed(pulse) % modulus)) % modulus;
}

bool Course::output(std::uint64_t pulse) const {
    if (!counting) {
        return idle_out || (mode >= 4 && pulse > start); // a strobe that a change of GATE meets still ends
    }
    switch (mode) {
    case 0:
    case 1:
        return expired || elapsed(pulse) >= count;
    case 2:
        return count == 1 || position(pulse) != count - 1; // 1 is no legal count
    case 3:
        return position(pulse) < high_half();
    default:
        return expired || elapsed(pulse) != count;
    }
}

std::optional<Course::Edges> Course::rises() const {
    if (!counting) {
        return mode >= 4 && !idle_out ? std::optional<Edges>({start + 1, 0}) : std::nullopt;
    }
    if (is_periodic(mode)) {
        return count == 1 ? std::nullopt : std::optional<Edges>({start + count - phase, count});
    }
    if (expired) {
        return std::nullopt;
    }
    const bool strobe = mode >= 4; // one pulse long
    return Edges{start + count + (strobe ? 1 : 0), 0};
}

std::uint64_t Course::rising_edges(std::uint64_t since, std::uint64_t until) const {
    const std::optional<Edges> edges = rises();
    if (!edges || until < edges->first || until <= since) {
        return 0;
    }
    if (edges->period == 0) {
        return since < edges->first ? 1 : 0;
    }
    const auto count_to = [&](std::uint64_t pulse) {
        return pulse < edges->first ? 0 : ((pulse - edges->first) / edges->period) + 1;
    };
    return count_to(until) - count_to(since);
}

std::optional<std::uint64_t> Course::next_rising_edge(std::uint64_t pulse) const {
    const std::optional<Edges> edges = rises();
    if (!edges || (edges->period == 0 && pulse >= edges->first)) {
        return std::nullopt;
    }
    if (pulse < edges->first) {
        return edges->first;
    }
    return pulse + edges->period - ((pulse - edges->first) % edges->period);
}

std::uint64_t Course::next_reload(std::uint64_t pulse) const {
    const std::uint32_t in_period = position(pulse);
    const std::uint32_t end = mode == 3 && in_period < high_half() ? high_half() : count;
    return std::max(pulse, start) + end - in_period;
}

Course Course::stopped(std::uint64_t pulse, bool out) const {
    Course course = *this;
    course.start = pulse;
    course.phase = 0;
    course.counting = false;
    course.idle_out = out;
    if (!counting) {
        return course;
    }
    const std::uint64_t passed = elapsed(pulse);
    if (is_periodic(mode) || passed >= count) {
        const bool in_strobe = mode >= 4 && passed == count;
        course.expired = expired || !in_strobe;
        course.count = value(pulse);
    } else {
        course.count = count - static_cast<std::uint32_t>(passed);
    }
    return course;
}

Course Course::resumed(std::uint64_t pulse) const {
    Course course = *this;
    if (!counting) {
        course.expired = expired || (count == 0 && pulse > start);
        course.start = pulse;
        course.counting = true;
    }
    return course;
}

} // namespace previrt
