// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/backend/page_tables.hpp"

#include <cstdint>

// The guest's address spaces, as far as host processes have mappings of them. One has a host process for each
// processor that has been in it.
namespace previrt::process {

struct Host;

constexpr backend::TableNumber no_root = ~backend::TableNumber{0};

// A change that mappings have to follow.
struct Change {
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint32_t protection; // 0: unmap
};

// The last changes, which each of several host processes follows before it continues.
template <unsigned most>
struct Changes {
    Change last[most];
    std::uint64_t count; // in total
    std::uint64_t seen;  // by the process that has seen most

    // Neighbours become one, unless a process has seen the first of them.
    void append(const Change& change) {
        Change& before = last[(count - 1) % most];
        const bool continues = count > seen && before.address + before.bytes == change.address &&
                               before.protection == change.protection;
        if (continues) {
            before.bytes += change.bytes;
        } else {
            last[count++ % most] = change;
        }
    }
    // No process can follow them one by one.
    void overflow() { count += most + 1; }
};

constexpr unsigned most_user_changes = 128;
constexpr unsigned most_isolated_changes = 64;

struct AddressSpace {
    backend::TableNumber root;                       // or none: nobody has this space
    std::uint64_t number;                            // no other space has had it
    unsigned hosts;                                  // that have it
    Changes<most_user_changes> changes;              // in the user's part
    Changes<most_isolated_changes> isolated_changes; // with --isolate: in user processes, beside those
};

void start_address_spaces();
// The space with this root; it is made if there is none.
AddressSpace& address_space_of(backend::TableNumber root);
// nullptr: there is none.
AddressSpace* find_address_space(backend::TableNumber root);
// No process that has it has this root any more.
void forget_address_space(AddressSpace& space);

} // namespace previrt::process
