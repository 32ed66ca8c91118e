// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/pci/guest_memory.hpp"

#include <cstdint>
#include <optional>

namespace previrt::dp83820 {

inline constexpr std::uint32_t cmdsts_own = 1U << 31U;
inline constexpr std::uint32_t cmdsts_more = 1U << 30U;
inline constexpr std::uint32_t cmdsts_intr = 1U << 29U;
inline constexpr std::uint32_t cmdsts_crc = 1U << 28U; // INCCRC when receiving, SUPCRC when sending
inline constexpr std::uint32_t cmdsts_ok = 1U << 27U;
inline constexpr std::uint32_t cmdsts_size = 0xffff;
inline constexpr std::uint32_t cmdsts_tx_fifo_underrun = 1U << 25U;
inline constexpr std::uint32_t cmdsts_rx_destination_shift = 23;
inline constexpr std::uint32_t cmdsts_rx_long = 1U << 22U;
inline constexpr std::uint32_t cmdsts_rx_irl = 1U << 16U;

inline constexpr std::uint32_t extsts_tci = 0xffff; // in network byte order
inline constexpr std::uint32_t extsts_vpkt = 1U << 16U;
inline constexpr std::uint32_t extsts_ippkt = 1U << 17U;
inline constexpr std::uint32_t extsts_iperr = 1U << 18U;
inline constexpr std::uint32_t extsts_tcppkt = 1U << 19U;
inline constexpr std::uint32_t extsts_tcperr = 1U << 20U;
inline constexpr std::uint32_t extsts_udppkt = 1U << 21U;
inline constexpr std::uint32_t extsts_udperr = 1U << 22U;
inline constexpr std::uint32_t extsts_checksums = extsts_ippkt | extsts_tcppkt | extsts_udppkt;

inline constexpr std::uint64_t descriptor_alignment = 8;

// A copy: the guest may change its own at any time.
struct Descriptor {
    std::uint64_t link; // aligned; 0: there is no next one
    std::uint64_t buffer;
    std::uint32_t cmdsts;
    std::uint32_t extsts; // 0 if the format has none
};

// The descriptor format that CFG selects. Addresses of descriptors are aligned to `descriptor_alignment`.
struct DescriptorFormat {
    bool wide;     // M64ADDR
    bool extended; // EXTSTS_EN

    static DescriptorFormat of(std::uint32_t cfg);

    // nullopt, false: not all of it is RAM.
    [[nodiscard]] std::optional<Descriptor> read(const GuestMemory& memory, std::uint64_t address) const;
    [[nodiscard]] std::optional<std::uint64_t> read_link(const GuestMemory& memory,
                                                         std::uint64_t address) const;
    // Writes cmdsts last.
    [[nodiscard]] bool write_back(const GuestMemory& memory, std::uint64_t address, std::uint32_t cmdsts,
                                  std::optional<std::uint32_t> extsts) const;

private:
    [[nodiscard]] std::uint64_t buffer_offset() const { return wide ? 8 : 4; }
    [[nodiscard]] std::uint64_t cmdsts_offset() const { return wide ? 16 : 8; }
    [[nodiscard]] std::uint64_t extsts_offset() const { return cmdsts_offset() + 4; }
    [[nodiscard]] std::uint64_t size() const { return extsts_offset() + (extended ? 4 : 0); }
    [[nodiscard]] std::uint64_t pointer_at(const std::uint8_t* place) const;
    [[nodiscard]] std::uint64_t link_at(const std::uint8_t* place) const;
};

} // namespace previrt::dp83820
