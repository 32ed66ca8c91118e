// SPDX-License-Identifier: BSD-2-Clause
#include "backends/process/local_table.hpp"

#include "backends/process/address_space_processes.hpp"
#include "backends/process/domain.hpp"
#include "backends/process/host_descriptor.hpp"
#include "backends/process/processors.hpp"
#include "backends/process/system_call.hpp"
#include "backends/process/thread_segments.hpp"
#include "backends/process/user_mode/process.hpp"
#include "frontends/x86/processor/descriptors.hpp"
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/backend/processors.hpp"

#include <algorithm>

namespace previrt::process {

namespace {

constexpr unsigned most_entries = 8192; // of the architecture, and of Linux

// The VMM takes tables with one digest for the same. A guest that made two such tables would deceive its own
// programs alone.
struct LocalTable {
    std::uint64_t* entries; // most_entries; 0: none
    LocalTableMark mark;

    void set(unsigned index, std::uint64_t descriptor);
};

[[gnu::section("processor")]] LocalTable wanted; // as the guest has it
// What the processes hold that followed last: this processor's, and with --isolate the user process beside
// it.
[[gnu::section("processor")]] LocalTable given;
[[gnu::section("processor")]] LocalTable given_to_user;

// The digest of a table is the XOR of its entries' digests.
std::uint64_t digest_of(unsigned index, std::uint64_t descriptor) {
    if (descriptor == 0) {
        return 0;
    }
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
    std::uint64_t mixed = (descriptor ^ (std::uint64_t{index} * odd)) * odd;
    mixed = (mixed ^ (mixed >> 29U)) * odd;
    return mixed ^ (mixed >> 32U);
}

void LocalTable::set(unsigned index, std::uint64_t descriptor) {
    mark.digest ^= digest_of(index, entries[index]) ^ digest_of(index, descriptor);
    entries[index] = descriptor;
    mark.entries = std::max(mark.entries, index + 1);
}

// Not long code, nor present conforming code.
bool can_be_hosts(std::uint64_t descriptor) {
    const Descriptor what{.low = descriptor, .high = 0};
    const bool is_long = what.is_code() && descriptor_bit(descriptor, 53);
    return !is_long && !(what.is_conforming() && what.present());
}

// False: this host has no local tables, or no 16-bit segments.
bool give_to_host(unsigned index, std::uint64_t descriptor) {
    constexpr std::uint64_t write = 0x11;
    const HostDescriptor entry = host_descriptor(index, descriptor);
    const std::int64_t result =
        call_host(call_modify_ldt, {.first = write, .second = address_of(&entry), .third = sizeof(entry)});
    return static_cast<std::int32_t>(result) == 0; // the result is an int
}

// For each call the host copies the whole table. So a process gets only the entries that differ from those of
// the process that followed last, if it held the same as that one.
template <typename Give>
void follow(LocalTable& last, LocalTableMark& mark, const Give& give) {
    if (mark.digest == wanted.mark.digest) {
        return;
    }
    const bool is_known = mark.digest == last.mark.digest;
    const unsigned end = std::max({wanted.mark.entries, mark.entries, last.mark.entries});
    for (unsigned i = 0; i < end; ++i) {
        const bool may_differ =
            is_known ? last.entries[i] != wanted.entries[i] : i < wanted.mark.entries || i < mark.entries;
        if (may_differ) {
            give(i, wanted.entries[i]);
        }
        last.entries[i] = wanted.entries[i];
    }
    last.mark = wanted.mark;
    mark = wanted.mark;
}

std::uint64_t* take_entries() {
    return reinterpret_cast<std::uint64_t*>(take_memory(most_entries * sizeof(std::uint64_t))); // all zero
}

} // namespace

void start_local_table() {
    for (unsigned i = 0; i < backend::processor_count(); ++i) {
        of_processor(i, wanted).entries = take_entries();
        of_processor(i, given).entries = take_entries();
        if (handover.isolates_user_mode != 0) {
            of_processor(i, given_to_user).entries = take_entries();
        }
    }
}

void follow_local_table() {
    follow(given, current_host().local_table, [](unsigned index, std::uint64_t descriptor) {
        if (!give_to_host(index, descriptor) && descriptor != 0) {
            give_to_host(index, 0);
            wanted.set(index, 0);
        }
    });
}

void follow_user_local_table() {
    static LocalTableMark marks[most_hosts]; // of the user processes
    constexpr std::uint64_t write = 0x11;
    const unsigned number = number_of(current_host());
    // A part that later holds its vector registers.
    const std::uint64_t place = user_state_address + exit_vectors_offset;
    auto* const entries =
        reinterpret_cast<HostDescriptor*>(user_part(number) + calls_bytes + exit_vectors_offset);
    UserOperation operations[most_user_operations];
    unsigned count = 0;
    const auto send = [&] {
        do_user_operations(number, {operations, count});
        count = 0;
    };
    follow(given_to_user, marks[number], [&](unsigned index, std::uint64_t descriptor) {
        entries[count] = host_descriptor(index, descriptor);
        operations[count] = {
            .call = call_modify_ldt,
            .arguments = {write, place + (count * sizeof(HostDescriptor)), sizeof(HostDescriptor)},
            .has_32_bits = 0};
        if (++count == most_user_operations) {
            send();
        }
    });
    if (count != 0) {
        send();
    }
}

bool has_local_segment(std::uint16_t selector) {
    const Descriptor descriptor{.low = wanted.entries[selector >> 3U], .high = 0};
    return descriptor.low != 0 && descriptor.present() && descriptor.is_readable();
}

} // namespace previrt::process

namespace previrt::backend {

using namespace process;

bool write_descriptor(bool local, unsigned index, std::uint64_t descriptor) {
    if (!local) {
        return write_global_descriptor(index, descriptor);
    }
    const std::uint64_t visible = can_be_hosts(descriptor) ? descriptor : 0;
    if (index >= most_entries || wanted.entries[index] == visible) {
        return false;
    }
    wanted.set(index, visible);
    return true;
}

unsigned descriptor_count(bool local) {
    return local ? most_entries : global_descriptor_count();
}

unsigned descriptors_written(bool local) {
    return local ? wanted.mark.entries : global_descriptor_count();
}

void load_local_table(std::uint64_t /*base*/, unsigned entries) {
    for (unsigned i = entries; i < wanted.mark.entries; ++i) {
        wanted.set(i, 0);
    }
    wanted.mark.entries = std::min(wanted.mark.entries, entries);
    process::follow_local_table();
}

} // namespace previrt::backend
