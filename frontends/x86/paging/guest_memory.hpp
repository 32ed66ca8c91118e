// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/paging/page_walk.hpp"
#include "frontends/x86/paging/physical_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace previrt {

// Accesses through the guest's page tables, as the processor would make them. False: the access faults. Then
// the exception is raised for the guest (exceptions.hpp) and nothing was written. An address outside RAM
// belongs to a device.
[[nodiscard]] bool read_guest(std::uint64_t address, void* to, std::size_t bytes,
                              Privilege privilege = Privilege::supervisor);
[[nodiscard]] bool write_guest(std::uint64_t address, const void* from, std::size_t bytes,
                               Privilege privilege = Privilege::supervisor);
// A supervisor writes a page-table entry at this aligned address. Gives the entry's guest-physical address,
// and sets the dirty bit of its page. nullopt: the exception is raised.
[[nodiscard]] std::optional<std::uint64_t> find_table_entry(std::uint64_t address);

// The same without a walk. nullptr: the address is not in the cache.
struct KnownTableEntry {
    std::uint64_t physical;
    std::uint64_t* entry;
};
[[nodiscard]] KnownTableEntry known_table_entry(std::uint64_t address);

// Memory that a supervisor may read, without a walk. nullptr: it is not in the cache, or not in one page of
// RAM.
[[nodiscard]] const std::uint8_t* known_memory(std::uint64_t address, std::size_t bytes);
// The same for a write, which follows.
[[nodiscard]] std::uint8_t* known_written_memory(std::uint64_t address, std::size_t bytes);

// Supervisor translations are cached, as in a TLB. A flush of all calls the first, a load of CR3 the second,
// which leaves global pages, and invlpg the third.
void forget_translations();
void forget_translations_of_root();
void forget_translation(std::uint64_t address);
// The guest has changed an entry of the table at this guest-physical address. No translation stays whose walk
// went through that table.
void forget_translations_through(std::uint64_t table);

// Raises the exceptions of write_guest, and writes nothing.
[[nodiscard]] bool may_write_guest(std::uint64_t address, std::size_t bytes, Privilege privilege);

template <typename Value>
[[nodiscard]] bool read_guest(std::uint64_t address, Value& value) {
    if (const std::uint8_t* const memory = known_memory(address, sizeof(value))) {
        __builtin_memcpy(&value, memory, sizeof(value));
        return true;
    }
    return read_guest(address, &value, sizeof(value));
}
template <typename Value>
[[nodiscard]] bool write_guest(std::uint64_t address, const Value& value) {
    if (std::uint8_t* const memory = known_written_memory(address, sizeof(value))) {
        __builtin_memcpy(memory, &value, sizeof(value));
        return true;
    }
    return write_guest(address, &value, sizeof(value));
}

} // namespace previrt
