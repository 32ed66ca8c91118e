// SPDX-License-Identifier: BSD-2-Clause
#include "backends/process/local_table.hpp"

#include "backends/process/address_space_processes.hpp"
#include "backends/process/domain.hpp"
#include "backends/process/processors.hpp"
#include "backends/process/system_call.hpp"
#include "backends/process/user_mode/process.hpp"
#include "frontends/x86/processor/descriptors.hpp"
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/backend/processors.hpp"

#include <algorithm>

namespace previrt::process {

namespace {

constexpr unsigned most_entries = 8192; // of the architecture, and of Linux

// The current process's; 0: none.
[[gnu::section("processor")]] std::uint64_t* table;
// One more than the last entry that was ever set.
[[gnu::section("processor")]] unsigned written;
[[gnu::section("processor")]] std::uint64_t version; // of the table

// Linux's user_desc.
struct HostDescriptor {
    std::uint32_t index;
    std::uint32_t base;
    std::uint32_t limit; // in units of its granularity
    std::uint32_t flags;
};

bool bit(std::uint64_t descriptor, unsigned number) {
    return ((descriptor >> number) & 1U) != 0;
}

// Not long code, nor present conforming code. Linux takes a descriptor without base and limit for an empty
// one.
bool can_be_hosts(std::uint64_t descriptor) {
    const Descriptor what{.low = descriptor, .high = 0};
    const bool is_long = what.is_code() && bit(descriptor, 53);
    const bool has_bytes = what.base() != 0 || what.limit() != 0;
    return has_bytes && !is_long && !(what.is_conforming() && what.present());
}

HostDescriptor host_descriptor(unsigned index, std::uint64_t descriptor) {
    constexpr std::uint32_t read_or_execute_only = 1U << 3U;
    constexpr std::uint32_t not_present = 1U << 5U;
    if (descriptor == 0) {
        return {.index = index, .base = 0, .limit = 0, .flags = read_or_execute_only | not_present};
    }
    const Descriptor what{.low = descriptor, .high = 0};
    const auto contents =
        static_cast<std::uint32_t>((descriptor >> 42U) & 3U); // code; conforming or grows down
    return {.index = index,
            .base = static_cast<std::uint32_t>(what.base()),
            .limit = static_cast<std::uint32_t>((descriptor & 0xffffU) | ((descriptor >> 32U) & 0xf0000U)),
            .flags = (bit(descriptor, 54) ? 1U : 0U) | (contents << 1U) |
                     (bit(descriptor, 41) ? 0U : read_or_execute_only) |
                     (bit(descriptor, 55) ? 1U << 4U : 0U) | (what.present() ? 0U : not_present) |
                     (bit(descriptor, 52) ? 1U << 6U : 0U)};
}

// False: this host has no local tables, or no 16-bit segments.
bool give_to_host(unsigned index, std::uint64_t descriptor) {
    constexpr std::uint64_t write = 0x11;
    const HostDescriptor entry = host_descriptor(index, descriptor);
    const std::int64_t result =
        call_host(call_modify_ldt, {.first = write, .second = address_of(&entry), .third = sizeof(entry)});
    return static_cast<std::int32_t>(result) == 0; // the result is an int
}

bool set(unsigned index, std::uint64_t descriptor) {
    const std::uint64_t wanted = can_be_hosts(descriptor) ? descriptor : 0;
    if (table[index] == wanted) {
        return false;
    }
    table[index] = give_to_host(index, wanted) ? wanted : 0;
    written = std::max(written, index + 1);
    current_host().local_table_version = ++version;
    current_host().local_entries = written;
    return true;
}

} // namespace

void start_local_table() {
    for (unsigned i = 0; i < backend::processor_count(); ++i) {
        of_processor(i, table) =
            reinterpret_cast<std::uint64_t*>(take_memory(most_entries * sizeof(std::uint64_t))); // all zero
    }
}

void follow_local_table() {
    Host& host = current_host();
    if (host.local_table_version == version) {
        return;
    }
    for (unsigned i = 0; i < std::max(written, host.local_entries); ++i) {
        give_to_host(i, table[i]);
    }
    host.local_table_version = version;
    host.local_entries = written;
}

void follow_user_local_table() {
    struct Followed {
        std::uint64_t version;
        unsigned entries;
    };
    static Followed all_followed[most_hosts];
    constexpr std::uint64_t write = 0x11;
    const unsigned number = number_of(current_host());
    Followed& followed = all_followed[number];
    if (followed.version == version) {
        return;
    }
    // A part that later holds its vector registers.
    const std::uint64_t place = user_state_address + exit_vectors_offset;
    auto* const entries =
        reinterpret_cast<HostDescriptor*>(user_part(number) + calls_bytes + exit_vectors_offset);
    const unsigned end = std::max(written, followed.entries);
    for (unsigned first = 0; first < end; first += most_user_operations) {
        UserOperation operations[most_user_operations];
        const unsigned count = std::min(end - first, most_user_operations);
        for (unsigned i = 0; i < count; ++i) {
            entries[i] = host_descriptor(first + i, table[first + i]);
            operations[i] = {
                .call = call_modify_ldt,
                .arguments = {write, place + (i * sizeof(HostDescriptor)), sizeof(HostDescriptor)},
                .reserved = 0};
        }
        do_user_operations(number, {operations, count});
    }
    followed = {.version = version, .entries = written};
}

bool has_local_segment(std::uint16_t selector) {
    const Descriptor descriptor{.low = table[selector >> 3U], .high = 0};
    return descriptor.low != 0 && descriptor.present() && descriptor.is_readable();
}

} // namespace previrt::process

namespace previrt::backend {

using namespace process;

// The global table is the host's: its user mode has the same segments as the guest's.
bool write_descriptor(bool local, unsigned index, std::uint64_t descriptor) {
    return local && index < most_entries && set(index, descriptor);
}

unsigned descriptor_count(bool local) {
    return local ? most_entries : 0;
}

unsigned descriptors_written(bool local) {
    return local ? written : 0;
}

void load_local_table(std::uint64_t /*base*/, unsigned entries) {
    for (unsigned i = entries; i < written; ++i) {
        set(i, 0);
    }
    written = std::min(written, entries);
}

} // namespace previrt::backend
