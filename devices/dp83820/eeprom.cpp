// SPDX-License-Identifier: BSD-2-Clause
#include "devices/dp83820/eeprom.hpp"

#include "devices/dp83820/registers.hpp"

namespace previrt::dp83820 {

using namespace ethernet;

namespace {

constexpr std::uint16_t national_semiconductor = 0x100b;
constexpr std::uint16_t reference_card = 0xf022;
constexpr std::uint16_t latency = 0x340b; // MaxLat, MinGnt

constexpr std::uint32_t configuration_word = 5;
constexpr std::uint32_t address_word = 0xa; // to 0xc, the last bytes first
constexpr std::uint16_t strap_m64 = 1U << 1U;
constexpr std::uint16_t strap_data64 = 1U << 2U;
constexpr std::uint16_t strap_t64 = 1U << 3U;
constexpr std::uint16_t strap_mode_1000 = 1U << 7U;
constexpr std::uint16_t strap_tbi = 1U << 9U;

constexpr std::uint8_t command_bits = 8; // two of operation, six of address
constexpr std::uint16_t operation_read = 2;
constexpr std::uint8_t data_bits = 16;

} // namespace

void Eeprom::fill(const MacAddress& address, Transceiver transceiver) {
    words = {};
    words[0] = reference_card;
    words[1] = national_semiconductor;
    words[2] = latency;
    words[configuration_word] = transceiver == Transceiver::fibre ? strap_tbi | strap_mode_1000 : 0;
    for (std::size_t i = 0; i < 3; ++i) {
        words[address_word + i] =
            static_cast<std::uint16_t>((address[5 - (2 * i)] << 8U) | address[4 - (2 * i)]);
    }
    words[checksum_word] = checksum();
}

std::uint16_t Eeprom::checksum() const {
    std::uint32_t sum = 0x55;
    for (std::uint32_t i = 0; i < checksum_word; ++i) {
        sum += (words[i] & 0xffU) + (words[i] >> 8U);
    }
    return static_cast<std::uint16_t>((0U - sum) << 8U);
}

MacAddress Eeprom::address() const {
    MacAddress result{};
    for (std::size_t i = 0; i < 3; ++i) {
        const std::uint16_t word = words[address_word + 2 - i];
        result[2 * i] = static_cast<std::uint8_t>(word);
        result[(2 * i) + 1] = static_cast<std::uint8_t>(word >> 8U);
    }
    return result;
}

std::uint32_t Eeprom::cfg() const {
    const std::uint16_t word = words[configuration_word];
    const auto strap = [word](std::uint16_t bit, std::uint32_t meaning) {
        return (word & bit) != 0 ? meaning : 0;
    };
    return strap(strap_m64, cfg_m64addr) | strap(strap_data64, cfg_data64_en) |
           strap(strap_t64, cfg_t64addr) | strap(strap_mode_1000, cfg_mode_1000) |
           strap(strap_tbi, cfg_tbi_en);
}

void Eeprom::drive(bool select, bool clock_level, bool input) {
    if (!select) {
        output = true;
    } else if (!selected) {
        phase = Phase::start;
        output = true;
    } else if (clock_level && !clock) {
        clock_in(input);
    }
    selected = select;
    clock = clock_level;
}

void Eeprom::clock_in(bool input) {
    switch (phase) {
    case Phase::start:
        if (input) {
            phase = Phase::command;
            shifted = 0;
            count = 0;
        }
        break;
    case Phase::command:
        shifted = static_cast<std::uint16_t>((shifted * 2U) + (input ? 1U : 0U));
        ++count;
        if (count == command_bits) {
            const bool reads = (shifted >> 6U) == operation_read;
            phase = reads ? Phase::data : Phase::ignored;
            shifted = words[shifted & 63U];
            count = 0;
            output = !reads; // a 0 goes before the word
        }
        break;
    case Phase::data:
        output = (shifted & 0x8000U) != 0;
        shifted = static_cast<std::uint16_t>(shifted << 1U);
        ++count;
        if (count > data_bits) {
            phase = Phase::ignored;
            output = false;
        }
        break;
    case Phase::ignored:
        break;
    }
}

} // namespace previrt::dp83820
