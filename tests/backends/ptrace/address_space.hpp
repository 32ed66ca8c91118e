// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

// The child's mappings are to the shadow tables what a TLB is to page tables: filled by page faults, and
// emptied as a whole when an entry has changed, another root is loaded, or the privilege level has changed.
namespace previrt::traced {

void start_page_tables();
// Before the child goes on: it forgets what the tables do not hold any more.
void empty_outdated_address_space();
// Maps the page that the child wants, if the shadow tables allow the access. False: they do not.
bool map_page(std::uint64_t address, std::uint32_t error_code);

} // namespace previrt::traced
