// SPDX-License-Identifier: BSD-2-Clause
#include "devices/dp83820/mii.hpp"

namespace previrt::dp83820 {

namespace {

constexpr std::uint8_t command_bits = 12; // two of operation, five of the PHY, five of the register
constexpr std::uint8_t turnaround_bits = 2;
constexpr std::uint8_t access_bits = turnaround_bits + 16;
constexpr std::uint16_t operation_write = 1;
constexpr std::uint16_t operation_read = 2;

} // namespace

void Mii::drive(bool clock_level, bool input, Phy& phy) {
    if (clock_level && !clock) {
        clock_in(input, phy);
    }
    clock = clock_level;
}

void Mii::start_access(Phy& phy) {
    const auto operation = static_cast<std::uint16_t>((shifted >> 10U) & 3U);
    const bool addressed = ((shifted >> 5U) & 31U) == Phy::address;
    index = shifted & 31U;
    count = 0;
    if (operation != operation_read && operation != operation_write) {
        phase = Phase::idle;
    } else if (!addressed) {
        phase = Phase::skipping;
    } else if (operation == operation_read) {
        phase = Phase::reading;
        shifted = phy.read(index);
    } else {
        phase = Phase::writing;
    }
}

void Mii::clock_in(bool input, Phy& phy) {
    ++count;
    switch (phase) {
    case Phase::idle:
        phase = input ? Phase::idle : Phase::start;
        break;
    case Phase::start:
        if (input) {
            phase = Phase::command;
            count = 0;
            shifted = 0;
        }
        break;
    case Phase::command:
        shifted = static_cast<std::uint16_t>((shifted * 2U) + (input ? 1U : 0U));
        if (count == command_bits) {
            start_access(phy);
        }
        break;
    case Phase::reading: // a bit is valid from one clock to the next, and the MAC takes it before that
        if (count == 1) {
            output = false; // the second bit of turnaround
        } else if (count < access_bits) {
            output = (shifted & 0x8000U) != 0;
            shifted = static_cast<std::uint16_t>(shifted << 1U);
        } else {
            output = true;
            phase = Phase::idle;
        }
        break;
    case Phase::writing:
        shifted = static_cast<std::uint16_t>((shifted * 2U) + (input ? 1U : 0U));
        if (count == access_bits) {
            phase = Phase::idle;
            phy.write(index, shifted);
        }
        break;
    case Phase::skipping:
        phase = count == access_bits ? Phase::idle : Phase::skipping;
        break;
    }
}

} // namespace previrt::dp83820
