// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/paging/page_walk.hpp"
#include "frontends/x86/paging/physical_memory.hpp"

#include <cstddef>
#include <cstdint>

namespace previrt {

// Through the guest's page tables, as the processor would for it. False when that faults: the exception is
// then raised for the guest (exceptions.hpp) and nothing was written. What is no RAM is a device's.
[[nodiscard]] bool read_guest(std::uint64_t address, void* to, std::size_t bytes,
                              Privilege privilege = Privilege::supervisor);
[[nodiscard]] bool write_guest(std::uint64_t address, const void* from, std::size_t bytes,
                               Privilege privilege = Privilege::supervisor);
// The accesses of a supervisor are cached, as in a TLB: what flushes that calls this.
void forget_translations();

// Raises what write_guest would, and writes nothing.
[[nodiscard]] bool may_write_guest(std::uint64_t address, std::size_t bytes, Privilege privilege);

template <typename Value>
[[nodiscard]] bool read_guest(std::uint64_t address, Value& value) {
    return read_guest(address, &value, sizeof(value));
}
template <typename Value>
[[nodiscard]] bool write_guest(std::uint64_t address, const Value& value) {
    return write_guest(address, &value, sizeof(value));
}

} // namespace previrt
