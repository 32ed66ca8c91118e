// SPDX-License-Identifier: BSD-2-Clause
#include "devices/pic8259/pic8259.hpp"

#include <bit>

namespace previrt {

namespace {

constexpr unsigned spurious_level = 7;

constexpr std::uint8_t icw1_select = 0x10;
constexpr std::uint8_t icw1_level_triggered = 0x08;
constexpr std::uint8_t icw1_interval_of_4 = 0x04;
constexpr std::uint8_t icw1_single = 0x02;
constexpr std::uint8_t icw1_icw4_needed = 0x01;
constexpr std::uint8_t icw4_special_fully_nested = 0x10;
constexpr std::uint8_t icw4_automatic_eoi = 0x02;
constexpr std::uint8_t icw4_8086 = 0x01;
constexpr std::uint8_t ocw3_select = 0x08;

constexpr std::uint8_t bit(unsigned level) {
    return static_cast<std::uint8_t>(1U << level);
}

constexpr std::uint8_t without(std::uint8_t levels, std::uint8_t removed) {
    return static_cast<std::uint8_t>(levels & ~removed);
}

} // namespace

std::uint8_t Pic8259::level_triggered() const {
    return (icw1 & icw1_level_triggered) != 0 ? 0xff : elcr;
}

unsigned Pic8259::priority(unsigned level) const {
    return (level - lowest_priority - 1U) & 7U;
}

unsigned Pic8259::highest(std::uint8_t levels) const {
    const unsigned first = (lowest_priority + 1U) & 7U;
    return (first + static_cast<unsigned>(std::countr_zero(std::rotr(levels, static_cast<int>(first))))) & 7U;
}

// The levels in service that block others.
std::uint8_t Pic8259::inhibiting() const {
    return special_mask_mode ? without(isr, imr) : isr;
}

std::optional<unsigned> Pic8259::highest_unmasked() const {
    const unsigned request = highest(without(irr, imr));
    if (inhibiting() == 0) {
        return request;
    }
    const unsigned in_service = highest(inhibiting());
    // A slave with one request in service may pass one of higher priority.
    const bool nested_in_slave = (icw4 & icw4_special_fully_nested) != 0 && is_master &&
                                 request == in_service && (icw3 & bit(request)) != 0;
    if (nested_in_slave || priority(request) < priority(in_service)) {
        return request;
    }
    return std::nullopt;
}

unsigned Pic8259::acknowledge() {
    const std::optional<unsigned> request = highest_request();
    if (!request) {
        return spurious_level;
    }
    irr = without(irr, without(bit(*request), level_triggered()));
    if ((icw4 & icw4_automatic_eoi) == 0) {
        isr |= bit(*request);
    } else if (rotate_in_automatic_eoi) {
        lowest_priority = static_cast<std::uint8_t>(*request);
    }
    return *request;
}

// In MCS-80/85 mode this is the second byte of a CALL: a processor that reads one byte would get it.
std::uint8_t Pic8259::vector(unsigned level) const {
    if ((icw4 & icw4_8086) != 0) {
        return static_cast<std::uint8_t>((icw2 & 0xf8U) | level);
    }
    if ((icw1 & icw1_interval_of_4) != 0) {
        return static_cast<std::uint8_t>((icw1 & 0xe0U) | (level << 2U));
    }
    return static_cast<std::uint8_t>((icw1 & 0xc0U) | (level << 3U));
}

void Pic8259::set_line(unsigned level, bool asserted) {
    const std::uint8_t line = bit(level & 7U);
    if (!asserted) {
        // Edge triggered requests, too, last only as long as the input is high.
        lines = without(lines, line);
        irr = without(irr, line);
        return;
    }
    if ((level_triggered() & line) != 0 || (lines & line) == 0) {
        irr |= line;
    }
    lines |= line;
}

void Pic8259::write_elcr(std::uint8_t value) {
    elcr = value;
    irr = static_cast<std::uint8_t>(irr | (lines & level_triggered()));
}

std::uint8_t Pic8259::read(bool a0) {
    if (poll) {
        poll = false;
        if (!highest_request()) {
            return 0;
        }
        return static_cast<std::uint8_t>(0x80U | acknowledge());
    }
    if (a0) {
        return imr;
    }
    return read_isr ? isr : irr;
}

void Pic8259::write(bool a0, std::uint8_t value) {
    if (!a0) {
        if ((value & icw1_select) != 0) {
            write_icw1(value);
        } else if ((value & ocw3_select) != 0) {
            write_ocw3(value);
        } else {
            write_ocw2(value);
        }
    } else if (expected_icw != 0) {
        write_expected_icw(value);
    } else {
        imr = value;
    }
}

void Pic8259::write_icw1(std::uint8_t value) {
    icw1 = value;
    irr = lines & level_triggered(); // an edge must come again
    isr = 0;
    imr = 0;
    icw3 = is_master ? 0 : 7;
    icw4 = 0;
    lowest_priority = 7;
    rotate_in_automatic_eoi = false;
    special_mask_mode = false;
    read_isr = false;
    poll = false;
    expected_icw = 2;
}

void Pic8259::write_expected_icw(std::uint8_t value) {
    const std::uint8_t after_icw3 = (icw1 & icw1_icw4_needed) != 0 ? 4 : 0;
    switch (expected_icw) {
    case 2:
        icw2 = value;
        expected_icw = (icw1 & icw1_single) != 0 ? after_icw3 : 3;
        break;
    case 3:
        icw3 = value;
        expected_icw = after_icw3;
        break;
    default:
        icw4 = value;
        expected_icw = 0;
        break;
    }
}

void Pic8259::write_ocw2(std::uint8_t value) {
    const bool rotate = (value & 0x80U) != 0;
    const bool specific = (value & 0x40U) != 0;
    const bool end_of_interrupt = (value & 0x20U) != 0;
    unsigned level = value & 7U;
    if (end_of_interrupt) {
        if (!specific) {
            if (inhibiting() == 0) {
                return;
            }
            level = highest(inhibiting());
        }
        isr = without(isr, bit(level));
    } else if (!specific) {
        rotate_in_automatic_eoi = rotate;
        return;
    }
    if (rotate) {
        lowest_priority = static_cast<std::uint8_t>(level);
    }
}

void Pic8259::write_ocw3(std::uint8_t value) {
    if ((value & 0x40U) != 0) {
        special_mask_mode = (value & 0x20U) != 0;
    }
    poll = (value & 0x04U) != 0;
    if (!poll && (value & 0x02U) != 0) {
        read_isr = (value & 0x01U) != 0;
    }
}

} // namespace previrt
