// SPDX-License-Identifier: BSD-2-Clause
#include "devices/pit8254/counter.hpp"

#include <algorithm>

namespace previrt {

namespace {

constexpr unsigned access_low = 1;
constexpr unsigned access_high = 2;
constexpr unsigned access_both = 3;

constexpr std::uint32_t from_decimal(std::uint16_t digits) {
    return (((digits >> 12U) & 15U) * 1000U) + (((digits >> 8U) & 15U) * 100U) +
           (((digits >> 4U) & 15U) * 10U) + (digits & 15U);
}

constexpr std::uint16_t to_decimal(std::uint32_t value) {
    return static_cast<std::uint16_t>(((value / 1000U % 10U) << 12U) | ((value / 100U % 10U) << 8U) |
                                      ((value / 10U % 10U) << 4U) | (value % 10U));
}

constexpr std::uint8_t low_byte(std::uint16_t value) {
    return static_cast<std::uint8_t>(value & 0xffU);
}

constexpr std::uint8_t high_byte(std::uint16_t value) {
    return static_cast<std::uint8_t>(value >> 8U);
}

constexpr bool starts_by_trigger(std::uint8_t mode) {
    return mode == 1 || mode == 5;
}

constexpr bool is_periodic(std::uint8_t mode) {
    return mode == 2 || mode == 3;
}

} // namespace

std::uint8_t Counter::mode() const {
    const auto written = static_cast<std::uint8_t>((control_word >> 1U) & 7U);
    return written > 5 ? static_cast<std::uint8_t>(written - 4) : written;
}

std::uint32_t Counter::modulus() const {
    return decimal() ? 10'000 : 0x1'0000;
}

std::uint16_t Counter::visible_count(std::uint64_t pulse) const {
    const Course& in_force = loading && pulse >= next_course.start ? next_course : course;
    const std::uint32_t value = in_force.value(pulse);
    return decimal() ? to_decimal(value) : static_cast<std::uint16_t>(value);
}

bool Counter::output(std::uint64_t pulse) const {
    return (loading && pulse >= next_course.start ? next_course : course).output(pulse);
}

void Counter::settle(std::uint64_t pulse) {
    if (loading && pulse >= next_course.start) {
        course = next_course;
        loading = false;
        null_count = false;
    }
}

// Loads the count register into the counting element at `pulse`.
void Counter::load(std::uint64_t pulse) {
    const std::uint32_t written = decimal() ? from_decimal(count_register) : count_register;
    next_course = {
        .start = pulse,
        .count = written == 0 ? modulus() : written,
        .modulus = modulus(),
        .mode = mode(),
        .counting = true,
        .idle_out = mode() != 0,
    };
    if (!gate && !starts_by_trigger(mode())) {
        next_course = next_course.stopped(pulse, mode() != 0);
    }
    loading = true;
}

void Counter::write_control_word(std::uint8_t value, std::uint64_t pulse) {
    settle(pulse);
    const std::uint16_t held = visible_count(pulse);
    control_word = value & 0x3fU;
    course = {
        .start = pulse,
        .count = decimal() ? from_decimal(held) : held,
        .modulus = modulus(),
        .mode = mode(),
        .idle_out = mode() != 0,
    };
    loading = false;
    armed = false;
    null_count = true;
    count_register = 0;
    writing_high = false;
    reading_high = false;
    count_latched = false;
    status_latched = false;
}

void Counter::write(std::uint8_t value, std::uint64_t pulse) {
    settle(pulse);
    const auto high = static_cast<std::uint16_t>(value << 8U);
    if (access() == access_low) {
        count_register = value;
    } else if (access() == access_high) {
        count_register = high;
    } else if (!writing_high) {
        low_written = value;
        writing_high = true;
        if (mode() == 0) { // it stops until the second byte
            course = course.stopped(pulse, false);
            loading = false;
            armed = false;
        }
        return;
    } else {
        count_register = static_cast<std::uint16_t>(low_written | high);
        writing_high = false;
    }
    finish_count(pulse);
}

void Counter::finish_count(std::uint64_t pulse) {
    const bool first = !armed;
    armed = true;
    null_count = true;
    if (mode() == 0) {
        course = course.stopped(pulse, false);
    }
    if (is_periodic(mode()) && course.counting) {
        const bool high_half_ends = mode() == 3 && course.output(course.next_reload(pulse) - 1);
        load(course.next_reload(pulse));
        if (high_half_ends) {
            next_course.phase = ((next_course.count + 1) / 2) % next_course.count;
        }
    } else if (mode() == 0 || mode() == 4 || loading || (is_periodic(mode()) && first)) {
        load(pulse + 1);
    } // else it waits for a trigger
}

void Counter::set_gate(bool level, std::uint64_t pulse) {
    if (gate == level) {
        return;
    }
    settle(pulse);
    gate = level;
    if (starts_by_trigger(mode())) {
        if (level && armed) {
            load(pulse + 1);
        }
    } else if (is_periodic(mode())) {
        if (level) {
            if (armed) {
                load(pulse + 1);
            }
        } else {
            // A first count is still loaded; one that waits for the end of a period waits for the next
            // trigger.
            loading = loading && !course.counting;
            next_course = next_course.stopped(next_course.start, true);
            course = course.stopped(pulse, true);
        }
    } else if (loading) {
        next_course.counting = level;
    } else if (armed) {
        course = level ? course.resumed(pulse) : course.stopped(pulse, course.output(pulse));
    }
}

void Counter::latch_count(std::uint64_t pulse) {
    if (!count_latched) {
        latched_count = visible_count(pulse);
        count_latched = true;
    }
}

void Counter::latch_status(std::uint64_t pulse) {
    settle(pulse);
    if (!status_latched) {
        latched_status = static_cast<std::uint8_t>((output(pulse) ? 0x80U : 0U) | (null_count ? 0x40U : 0U) |
                                                   control_word);
        status_latched = true;
    }
}

std::uint8_t Counter::read(std::uint64_t pulse) {
    if (status_latched) {
        status_latched = false;
        return latched_status;
    }
    const std::uint16_t count = count_latched ? latched_count : visible_count(pulse);
    const bool both = access() == access_both;
    const bool high = both ? reading_high : access() == access_high;
    reading_high = both && !reading_high;
    if (!reading_high) {
        count_latched = false;
    }
    return high ? high_byte(count) : low_byte(count);
}

// Only while loading.
bool Counter::raised_by_load() const {
    return !course.output(next_course.start - 1) && next_course.output(next_course.start);
}

std::uint64_t Counter::rising_edges(std::uint64_t since, std::uint64_t until) const {
    if (!loading || until < next_course.start) {
        return course.rising_edges(since, until);
    }
    const std::uint64_t load = next_course.start;
    const std::uint64_t at_load = since < load && raised_by_load() ? 1 : 0;
    return course.rising_edges(since, load - 1) + at_load +
           next_course.rising_edges(std::max(since, load), until);
}

std::optional<std::uint64_t> Counter::next_rising_edge(std::uint64_t pulse) const {
    if (!loading) {
        return course.next_rising_edge(pulse);
    }
    const std::uint64_t load = next_course.start;
    if (pulse >= load) {
        return next_course.next_rising_edge(pulse);
    }
    const std::optional<std::uint64_t> before = course.next_rising_edge(pulse);
    if (before && *before < load) {
        return before;
    }
    return raised_by_load() ? load : next_course.next_rising_edge(load);
}

} // namespace previrt
