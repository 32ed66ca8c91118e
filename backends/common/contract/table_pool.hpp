// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

// The VMM's memory: the VMM divides it, and its monitor provides it.
namespace previrt::table_pool {

// The page-table pool: one table for 32 frames of RAM, which lets each be mapped 16 times, and some for a
// small guest.
constexpr std::uint32_t table_count(std::uint64_t guest_frames) {
    return static_cast<std::uint32_t>(guest_frames / 32) + 512;
}

// The VMM's needs beside its package: the tables and their descriptions, a record for each frame, and the
// list of sites. None of it takes memory of the host before the VMM uses it.
constexpr std::uint64_t arena_bytes(std::uint64_t guest_frames) {
    constexpr std::uint64_t table_bytes = 4096;
    constexpr std::uint64_t most_of_a_table_description = 512;
    constexpr std::uint64_t most_of_a_frame_record = 64;
    constexpr std::uint64_t list_of_sites = std::uint64_t{16} << 20U;
    return (table_count(guest_frames) * (table_bytes + most_of_a_table_description)) +
           (guest_frames * most_of_a_frame_record) + list_of_sites;
}

} // namespace previrt::table_pool
