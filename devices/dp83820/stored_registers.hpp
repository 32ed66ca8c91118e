// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/dp83820/registers.hpp"

#include <array>
#include <cstdint>

namespace previrt::dp83820 {

struct StoredRegister {
    std::uint32_t offset;
    std::uint32_t reset;
    std::uint32_t writable;
};

// Registers that only hold the value written.
inline constexpr std::array<StoredRegister, 20> stored_registers{{
    {at::txcfg, 0x120, 0xf0f8'ffff},
    {at::gpior, 0, 0x3ff},
    {at::rxcfg, 4, 0xfc70'003e},
    {at::pqcr, 0, 0}, // priority queues are not modelled
    {at::wcsr, 0, 0x7ff},
    {at::pcr, 0, 0xe3fc'ffff},
    {at::srr, 0x103, 0},
    {at::txdp1, 0, 0xffff'fff8},
    {at::txdp1 + 4, 0, 0xffff'fff8},
    {at::txdp1 + 8, 0, 0xffff'fff8},
    {at::rxdp1, 0, 0xffff'fff8},
    {at::rxdp1 + 4, 0, 0xffff'fff8},
    {at::rxdp1 + 8, 0, 0xffff'fff8},
    {at::vrcr, 0, 0xff},
    {at::vtcr, 0, 0xf},
    {at::vdr, 0x81, 0xffff'ffff},
    {at::ccsr, 0, ccsr_clkrun | ccsr_pmeen},
    {at::tbicr, 0, tbicr_loop | tbicr_an_en},
    {at::tanar, 0, 0xffff},
    {at::tesr, 0xc000, 0},
}};

struct StoredRegisters {
    std::array<std::uint32_t, 64> values{};

    static constexpr const StoredRegister* find(std::uint32_t offset) {
        for (const StoredRegister& stored : stored_registers) {
            if (stored.offset == offset) {
                return &stored;
            }
        }
        return nullptr;
    }

    [[nodiscard]] constexpr std::uint32_t operator[](std::uint32_t offset) const {
        return values[(offset / 4) % 64];
    }
    constexpr void write(const StoredRegister& stored, std::uint32_t value) {
        std::uint32_t& held = values[(stored.offset / 4) % 64];
        held = (held & ~stored.writable) | (value & stored.writable);
    }
    constexpr void reset() {
        for (const StoredRegister& stored : stored_registers) {
            values[(stored.offset / 4) % 64] = stored.reset;
        }
    }
};

} // namespace previrt::dp83820
