// SPDX-License-Identifier: BSD-2-Clause
// The controller's registers and their bits, by the names of the specification.
#pragma once

#include <cstdint>

namespace previrt::nvme {

// Offsets in BAR 0.
namespace at {
inline constexpr std::uint32_t cap = 0x00; // 64 bits
inline constexpr std::uint32_t vs = 0x08;
inline constexpr std::uint32_t intms = 0x0c;
inline constexpr std::uint32_t intmc = 0x10;
inline constexpr std::uint32_t cc = 0x14;
inline constexpr std::uint32_t csts = 0x1c;
inline constexpr std::uint32_t aqa = 0x24;
inline constexpr std::uint32_t asq = 0x28; // 64 bits
inline constexpr std::uint32_t acq = 0x30; // 64 bits
inline constexpr std::uint32_t doorbells = 0x1000;
} // namespace at
inline constexpr std::uint32_t doorbell_bytes = 4; // CAP.DSTRD is 0

inline constexpr std::uint32_t version_1_4 = 0x1'0400;

inline constexpr std::uint16_t most_entries = 1024; // of a queue for I/O
inline constexpr std::uint64_t cap_mqes = most_entries - 1;
inline constexpr std::uint64_t cap_cqr = 1U << 16U;               // queues are contiguous
inline constexpr std::uint64_t cap_to = std::uint64_t{60} << 24U; // 30 s, in units of 500 ms
inline constexpr std::uint64_t cap_css_nvm = std::uint64_t{1} << 37U;

inline constexpr std::uint32_t cc_en = 1;
inline constexpr std::uint32_t cc_css = 7U << 4U;
inline constexpr std::uint32_t cc_mps = 0xfU << 7U;
inline constexpr std::uint32_t cc_ams = 7U << 11U;
inline constexpr std::uint32_t cc_shn = 3U << 14U;
inline constexpr std::uint32_t cc_writable = 0x00ff'fff1;
constexpr std::uint32_t cc_iosqes(std::uint32_t cc) {
    return (cc >> 16U) & 0xfU;
}
constexpr std::uint32_t cc_iocqes(std::uint32_t cc) {
    return (cc >> 20U) & 0xfU;
}

inline constexpr std::uint32_t csts_rdy = 1;
inline constexpr std::uint32_t csts_cfs = 2;
inline constexpr std::uint32_t csts_shst_processing = 1U << 2U;
inline constexpr std::uint32_t csts_shst_complete = 2U << 2U;

inline constexpr std::uint32_t aqa_writable = 0x0fff'0fff;

// MPS is 0.
inline constexpr std::uint64_t page_bytes = 4096;

} // namespace previrt::nvme
