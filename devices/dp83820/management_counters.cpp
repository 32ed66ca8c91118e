// SPDX-License-Identifier: BSD-2-Clause
#include "devices/dp83820/management_counters.hpp"

namespace previrt::dp83820 {

namespace {

constexpr std::uint16_t most(std::uint32_t index) {
    return index == static_cast<std::uint32_t>(Counter::signal_quality) ? 0xff : 0xffff;
}

} // namespace

bool ManagementCounters::increase(std::uint32_t index) {
    std::uint16_t& value = values[index];
    if (value < most(index)) {
        ++value;
    }
    const bool half_full = value > most(index) / 2;
    const bool rises = half_full && !warning;
    warning = warning || half_full;
    return rises;
}

bool ManagementCounters::count(Counter counter) {
    return !frozen && increase(static_cast<std::uint32_t>(counter));
}

bool ManagementCounters::write_control(std::uint32_t value) {
    frozen = (value & mibc_frz) != 0;
    if ((value & mibc_aclr) != 0) {
        values = {};
        warning = false;
    }
    bool due = false;
    if ((value & mibc_mibs) != 0) {
        for (std::uint32_t index = 0; index < number; ++index) {
            due = increase(index) || due;
        }
    }
    return due;
}

std::uint32_t ManagementCounters::read(std::uint32_t offset) {
    std::uint16_t& counter = values[((offset - at::first_counter) / 4) % number];
    const std::uint16_t value = counter;
    counter = 0;
    warning = false;
    for (std::uint32_t index = 0; index < number; ++index) {
        warning = warning || values[index] > most(index) / 2;
    }
    return value;
}

} // namespace previrt::dp83820
