// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/platform/oscillator.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace previrt {

// Motorola MC146818 with the CMOS RAM of a PC: ports 0x70 and 0x71.
struct Rtc {
    using Clock = Oscillator<32768>;

    std::uint8_t address = 0;            // port 0x70; bit 7 masks the NMI
    std::array<std::uint8_t, 128> ram{}; // with the registers, as of `settled`
    std::uint64_t settled = 0;           // cycle
    std::uint64_t next_update = 0;       // cycle after `settled`; the divider's phase

    static constexpr bool decodes(std::uint16_t port) { return (port & ~1U) == 0x70; }

    // The state that firmware leaves: running, 24 hours, BCD. At `now`, `since_1970` nanoseconds have passed
    // since 1970-01-01.
    void start(std::uint64_t since_1970, std::uint64_t now);
    // Firmware's CMOS bytes about memory and equipment, and their checksum.
    void set_memory_size(std::uint64_t bytes);

    std::uint8_t read(std::uint16_t port, std::uint64_t now);
    void write(std::uint16_t port, std::uint8_t value, std::uint64_t now);

    [[nodiscard]] bool nmi_masked() const { return (address & 0x80U) != 0; }

    // IRQ8.
    bool line(std::uint64_t now);
    // The time at which the line rises by itself; only a read of register C lowers it.
    [[nodiscard]] std::optional<std::uint64_t> next_event(std::uint64_t now) const;

private:
    void settle(std::uint64_t now);
    void update(std::uint64_t seconds);
    void write_register_a(std::uint8_t value);
    void write_register_b(std::uint8_t value);
    void store_date(std::uint64_t days);
    [[nodiscard]] bool counting() const;
    [[nodiscard]] bool updating() const;
    [[nodiscard]] bool may_interrupt() const;
    [[nodiscard]] bool interrupting() const;
    [[nodiscard]] std::uint64_t period() const;
    [[nodiscard]] std::optional<std::uint64_t> next_periodic() const;
    [[nodiscard]] std::optional<std::uint64_t> seconds_to_alarm() const;
    [[nodiscard]] std::uint32_t time_of_day() const;
    void store_time_of_day(std::uint32_t seconds);
    [[nodiscard]] std::uint8_t encode(unsigned value) const;
    [[nodiscard]] unsigned decode(std::uint8_t value) const;
    [[nodiscard]] std::uint8_t encode_hour(unsigned hour) const;
    [[nodiscard]] unsigned decode_hour(std::uint8_t value) const;
};

static_assert(std::is_trivially_copyable_v<Rtc>);

} // namespace previrt
