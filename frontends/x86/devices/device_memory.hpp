// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace previrt {

// Accesses to guest-physical addresses outside RAM. An address that no device claims is the floating bus; an
// access that the claiming device does not model stops the guest.
void read_device(std::uint64_t physical, void* to, std::size_t bytes);
void write_device(std::uint64_t physical, const void* from, std::size_t bytes);

} // namespace previrt
