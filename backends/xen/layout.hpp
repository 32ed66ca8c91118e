// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

// The VMM's part of the address space.
namespace previrt::xen {

// Xen first maps the image here; it is linked for the last 2 MiB. See image.lds.
constexpr std::uint64_t boot_address = 0xffffffff80000000;
constexpr std::uint64_t image_address = 0xffffffffffe00000;

// In the table of the last 2 MiB, behind the image.
constexpr unsigned grant_table_index = 500;
constexpr unsigned grant_table_frames = 8; // 4096 grants
constexpr unsigned window_index = 508;
constexpr unsigned shared_info_index = 509;
constexpr std::uint64_t window_address = image_address + (std::uint64_t{window_index} << 12U);
constexpr std::uint64_t shared_info_address = image_address + (std::uint64_t{shared_info_index} << 12U);

// All pages of the domain, by number, in a slot that Linux documents as an unused hole with 4-level paging.
constexpr unsigned map_root_index = 509;
constexpr std::uint64_t map_address = 0xfffffe8000000000;

constexpr unsigned page_shift = 12;
constexpr std::uint64_t page_size = 4096;
constexpr unsigned table_entries = 512;

} // namespace previrt::xen
