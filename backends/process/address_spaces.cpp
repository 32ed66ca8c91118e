// SPDX-License-Identifier: BSD-2-Clause
#include "backends/process/address_spaces.hpp"

#include "backends/process/address_space_processes.hpp"
#include "backends/process/contract/layout.hpp"
#include "inplace-vmm/stop.hpp"

#include <span>

namespace previrt::process {

namespace {

// Each has a host process, and one is being left for another.
AddressSpace spaces[most_hosts + 1];
unsigned space_count;
std::uint64_t last_number;

AddressSpace& free_space() {
    for (AddressSpace& space : std::span(spaces, space_count)) {
        if (space.root == no_root && space.hosts == 0) {
            return space;
        }
    }
    if (space_count == most_hosts + 1) {
        stop_guest("more address spaces than host processes:", space_count);
    }
    return spaces[space_count++];
}

} // namespace

void start_address_spaces() {
    space_count = 0;
}

AddressSpace* find_address_space(backend::TableNumber root) {
    for (AddressSpace& space : std::span(spaces, space_count)) {
        if (space.root == root) {
            return &space;
        }
    }
    return nullptr;
}

AddressSpace& address_space_of(backend::TableNumber root) {
    if (AddressSpace* const space = find_address_space(root)) {
        return *space;
    }
    AddressSpace& space = free_space();
    space.root = root;
    space.hosts = 0;
    space.number = ++last_number;
    space.changes.count = 0;
    space.changes.seen = 0;
    space.isolated_changes.count = 0;
    space.isolated_changes.seen = 0;
    return space;
}

void forget_address_space(AddressSpace& space) {
    space.root = no_root;
    space.number = ++last_number;
}

} // namespace previrt::process
