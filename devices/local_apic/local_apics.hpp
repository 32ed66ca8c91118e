// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/local_apic/interrupt_message.hpp"
#include "devices/local_apic/local_apic.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

namespace previrt {

// The local APICs of all processors, by the processors' numbers, and the bus between them. The first
// processor is the boot processor.
struct LocalApics {
    static constexpr unsigned most = 64;

    std::array<LocalApic, most> apics{};
    std::uint32_t count = 0;    // 0: there are none
    std::uint64_t notified = 0; // a bit for each processor that got a message, until the VMM takes it

    void start(unsigned processors);

    [[nodiscard]] LocalApic& of(unsigned processor) { return apics[processor % most]; }
    [[nodiscard]] const LocalApic& of(unsigned processor) const { return apics[processor % most]; }
    [[nodiscard]] std::span<const LocalApic> all() const { return {apics.data(), count}; }

    // False: not modelled. `ended`: the vector of a level-triggered interrupt whose end the I/O APICs must
    // hear of.
    struct Written {
        bool is_modelled;
        std::optional<std::uint8_t> ended;
    };
    Written write(unsigned processor, std::uint64_t offset, std::uint32_t value, std::uint64_t now);

    // A message of an I/O APIC, or of this processor's local APIC. False: not modelled.
    bool deliver(const InterruptMessage& message, unsigned sender = most);

private:
    bool deliver_to(unsigned processor, const InterruptMessage& message);
    bool deliver_to_lowest(const InterruptMessage& message);
};

static_assert(std::is_trivially_copyable_v<LocalApics>);

} // namespace previrt
