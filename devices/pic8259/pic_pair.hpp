// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/pic8259/pic8259.hpp"

#include <cstdint>
#include <type_traits>

namespace previrt {

// The two 8259As of a PC: the slave's INT is the master's IR2.
struct PicPair {
    Pic8259 master{.is_master = true};
    Pic8259 slave{};

    static constexpr bool decodes(std::uint16_t port) {
        return (port & ~0x81U) == 0x20 || (port & ~1U) == 0x4d0;
    }

    std::uint8_t read(std::uint16_t port);
    void write(std::uint16_t port, std::uint8_t value);

    // IRQ0 to 15. IRQ2 has no pin.
    void set_line(unsigned irq, bool asserted);

    // INTR.
    [[nodiscard]] bool interrupt_requested() const { return master.highest_request().has_value(); }
    // INTA: the vector. If the request has gone, it is that of IRQ7 or IRQ15, without an ISR bit of its own.
    std::uint8_t acknowledge();

    // IRR has a request: a further edge would be lost.
    [[nodiscard]] bool pending(unsigned irq) const;
    // Its mask lets it pass, and for the slave also that of IRQ2.
    [[nodiscard]] bool enabled(unsigned irq) const;

private:
    void update_cascade();
    void restart_cascade();
};

static_assert(std::is_trivially_copyable_v<PicPair>);

} // namespace previrt
