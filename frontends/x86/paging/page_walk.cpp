// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/paging/page_walk.hpp"

#include "frontends/x86/machine_state.hpp"
#include "frontends/x86/paging/physical_memory.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <cstring>

namespace previrt {

namespace {

constexpr KernelPlacement& kernel = machine_state.kernel;

// Of every entry.
std::uint64_t always_reserved_bits() {
    constexpr std::uint64_t above_frames = ~frame_mask & ((std::uint64_t{1} << 52U) - 1) & ~(page_bytes - 1);
    return above_frames | ((vcpu.efer & efer_nxe) == 0 ? std::uint64_t{page_no_execute} : 0);
}

std::uint64_t reserved_bits(unsigned level, std::uint64_t entry) {
    std::uint64_t reserved = always_reserved_bits();
    if ((entry & page_large) != 0) {
        if (level >= 3) { // no 1 GiB pages: CPUID does not offer them
            reserved |= page_large;
        } else if (level == 2) {
            reserved |= (large_page_bytes - 1) & ~((std::uint64_t{1} << 13U) - 1);
        }
    }
    return reserved;
}

std::uint64_t* table_entry(std::uint64_t guest_physical) {
    std::uint8_t* const bytes = physical_memory(guest_physical, sizeof(std::uint64_t));
    if (bytes == nullptr) {
        stop_guest("a page table lies outside RAM, at", guest_physical);
    }
    return reinterpret_cast<std::uint64_t*>(bytes);
}

} // namespace

bool has_reserved_bits(unsigned level, std::uint64_t entry) {
    return (entry & reserved_bits(level, entry)) != 0;
}

bool is_reserved_for_kernel(std::uint64_t address) {
    return address - kernel.reserved.first < kernel.reserved.bytes;
}

void set_kernel_root(std::uint64_t root) {
    kernel.root = root;
}

std::optional<std::uint64_t> unfound_kernel_address() {
    return kernel.reserved.bytes != 0 && kernel.root == 0 ? std::optional(kernel.reserved.first)
                                                          : std::nullopt;
}

std::uint64_t root_of(std::uint64_t address) {
    return kernel.root != 0 && is_reserved_for_kernel(address) ? kernel.root : vcpu.cr3 & frame_mask;
}

PageWalk walk_page(std::uint64_t address, Access access) {
    if (address - kernel.fixed.address >= kernel.fixed.bytes) {
        return walk_page_from(root_of(address), address, access);
    }
    PageWalk walk{};
    walk.leaf_level = root_level + 1;
    walk.physical = kernel.fixed.physical + (address - kernel.fixed.address);
    walk.faults = access.user;
    walk.error_code = fault_present | fault_user | (access.write ? fault_write : 0U);
    return walk;
}

namespace {

struct Descent {
    std::uint64_t table;
    std::uint64_t allowed; // by all entries; the highest bit stands for execution
    std::uint64_t may_be_reserved;
    const std::uint8_t* ram;
    std::uint64_t ram_bytes;
};

// False: the walk ends at this level, which is a constant: every fault takes this way.
[[gnu::always_inline]] inline bool descend(PageWalk& walk, Descent& descent, std::uint64_t address,
                                           unsigned level) {
    const std::uint64_t offset = std::uint64_t{table_index(address, level)} * sizeof(std::uint64_t);
    if (descent.table >= descent.ram_bytes || is_hidden_frame(frame_of(descent.table))) {
        stop_guest("a page table lies outside RAM, at", descent.table);
    }
    std::uint64_t entry = 0;
    __builtin_memcpy(&entry, descent.ram + descent.table + offset, sizeof(entry));
    walk.entry_address[level] = descent.table + offset;
    walk.entry[level] = entry;
    walk.leaf_level = level;
    if ((entry & page_present) == 0) {
        walk.faults = true;
        return false;
    }
    if ((entry & descent.may_be_reserved) != 0 && has_reserved_bits(level, entry)) {
        walk.faults = true;
        walk.error_code |= fault_present | fault_reserved;
        return false;
    }
    descent.allowed &= entry ^ page_no_execute;
    descent.table = entry & frame_mask;
    return level > 1 && (entry & page_large) == 0;
}

} // namespace

PageWalk walk_page_from(std::uint64_t root, std::uint64_t address, Access access) {
    PageWalk walk{};
    walk.error_code = (access.write ? fault_write : 0U) | (access.user ? fault_user : 0U) |
                      (access.fetch && (vcpu.efer & efer_nxe) != 0 ? fault_fetch : 0U);
    Descent descent{.table = root,
                    .allowed = ~std::uint64_t{0},
                    .may_be_reserved = always_reserved_bits() | page_large,
                    .ram = backend::guest_ram(),
                    .ram_bytes = backend::guest_ram_bytes()};
    (void)(descend(walk, descent, address, 4) && descend(walk, descent, address, 3) &&
           descend(walk, descent, address, 2) && descend(walk, descent, address, 1));
    static_assert(root_level == 4);
    if (walk.faults) {
        return walk;
    }
    const unsigned level = walk.leaf_level;
    const std::uint64_t allowed = descent.allowed;
    const std::uint64_t offset_mask = level == 2 ? large_page_bytes - 1 : page_bytes - 1;
    walk.physical = (walk.entry[level] & frame_mask & ~offset_mask) | (address & offset_mask);
    walk.user = (allowed & page_user) != 0;
    const bool writable = (allowed & page_writable) != 0 || (!access.user && (vcpu.cr0 & cr0_wp) == 0);
    const bool executable = (allowed & page_no_execute) != 0;
    if ((access.user && !walk.user) || (access.write && !writable) || (access.fetch && !executable)) {
        walk.faults = true;
        walk.error_code |= fault_present;
    }
    return walk;
}

bool mark_accessed(PageWalk& walk, bool write) {
    for (unsigned level = root_level; level >= walk.leaf_level; --level) {
        const std::uint64_t wanted =
            page_accessed | (write && level == walk.leaf_level ? std::uint64_t{page_dirty} : 0);
        std::uint64_t& entry = walk.entry[level];
        if ((entry & wanted) == wanted) {
            continue;
        }
        if (!__atomic_compare_exchange_n(table_entry(walk.entry_address[level]), &entry, entry | wanted,
                                         false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            return false;
        }
        entry |= wanted;
    }
    return true;
}

std::size_t peek_guest(std::uint64_t address, std::uint8_t* to, std::size_t bytes, Privilege privilege) {
    std::size_t done = 0;
    while (done < bytes && is_canonical(address + done)) {
        const PageWalk walk = walk_page(address + done, {.user = privilege == Privilege::user});
        const std::size_t part = bytes_in_page(address + done, bytes - done);
        const std::uint8_t* const memory = walk.faults ? nullptr : physical_memory(walk.physical, part);
        if (memory == nullptr) {
            break;
        }
        std::memcpy(to + done, memory, part);
        done += part;
    }
    return done;
}

} // namespace previrt
