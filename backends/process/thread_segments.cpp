// SPDX-License-Identifier: BSD-2-Clause
#include "backends/process/thread_segments.hpp"

#include "backends/common/ring3/segment_bases.hpp"
#include "backends/process/address_space_processes.hpp"
#include "backends/process/host_descriptor.hpp"
#include "backends/process/system_call.hpp"
#include "backends/process/user_mode/process.hpp"
#include "frontends/x86/processor/descriptors.hpp"
#include "frontends/x86/processor/segment_registers.hpp"
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/processor.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt::process {

extern "C" {
// entry.S: the host's call of this name, which only its 32-bit table has. The descriptor lies below 4 GiB, as
// the VMM's stacks do. Returns an error number, negative, also if the host has no such table.
std::int64_t set_thread_area(const HostDescriptor* descriptor);
}

namespace {

[[gnu::section("processor")]] ThreadSegments wanted; // as the guest has them
bool are_refused;                                    // this host lets nobody have them

constexpr unsigned data_segments[] = {segment_es, segment_ds, segment_fs, segment_gs};

// The host takes a present data segment of 32 bits.
bool can_be_hosts(std::uint64_t descriptor) {
    const Descriptor what{.low = descriptor, .high = 0};
    return !what.is_system() && !what.is_code() && what.present() && descriptor_bit(descriptor, 54) &&
           !descriptor_bit(descriptor, 53);
}

bool give_to_host(unsigned number, std::uint64_t descriptor) {
    const HostDescriptor entry = host_descriptor(ThreadSegments::first + number, descriptor);
    return set_thread_area(&entry) == 0;
}

unsigned index_of(std::uint16_t selector) {
    return selector >> 3U;
}

} // namespace

// The host loads the registers anew that have a changed descriptor's selector. A processor does not: the
// guest finds its selectors and its bases as they were.
void follow_thread_segments() {
    ThreadSegments& given = current_host().thread_segments;
    if (given == wanted) {
        return;
    }
    const std::uint64_t fs_base = processor::read_fs_base();
    const std::uint64_t gs_base = processor::read_gs_base();
    std::uint16_t selectors[segment_gs + 1] = {};
    for (const unsigned segment : data_segments) {
        selectors[segment] = read_segment(segment);
    }
    for (unsigned i = 0; i < ThreadSegments::count; ++i) {
        if (given.descriptors[i] == wanted.descriptors[i]) {
            continue;
        }
        if (!give_to_host(i, wanted.descriptors[i])) {
            are_refused = true;
            wanted.descriptors[i] = 0;
        }
        given.descriptors[i] = wanted.descriptors[i];
    }
    for (const unsigned segment : data_segments) {
        if (read_segment(segment) != selectors[segment]) {
            vcpu.kernel_selector[segment] = selectors[segment];
        }
    }
    backend::write_fs_base(fs_base);
    write_active_gs_base(gs_base);
}

void follow_user_thread_segments() {
    static ThreadSegments given_to_users[most_hosts];
    const unsigned number = number_of(current_host());
    ThreadSegments& given = given_to_users[number];
    if (given == wanted) {
        return;
    }
    // A part that later holds its vector registers.
    const std::uint64_t place = user_state_address + exit_vectors_offset;
    auto* const entries =
        reinterpret_cast<HostDescriptor*>(user_part(number) + calls_bytes + exit_vectors_offset);
    UserOperation operations[ThreadSegments::count];
    unsigned count = 0;
    for (unsigned i = 0; i < ThreadSegments::count; ++i) {
        if (given.descriptors[i] != wanted.descriptors[i]) {
            entries[count] = host_descriptor(ThreadSegments::first + i, wanted.descriptors[i]);
            operations[count] = {.call = call_32_set_thread_area,
                                 .arguments = {place + (count * sizeof(HostDescriptor))},
                                 .has_32_bits = 1};
            ++count;
        }
    }
    do_user_operations(number, {operations, count});
    given = wanted;
}

bool is_thread_selector(std::uint16_t selector) {
    constexpr unsigned in_local = 4;
    return (selector & in_local) == 0 && index_of(selector) - ThreadSegments::first < ThreadSegments::count;
}

bool has_thread_segment(std::uint16_t selector) {
    return is_thread_selector(selector) &&
           wanted.descriptors[index_of(selector) - ThreadSegments::first] != 0;
}

bool write_global_descriptor(unsigned index, std::uint64_t descriptor) {
    const unsigned number = index - ThreadSegments::first;
    const std::uint64_t visible = can_be_hosts(descriptor) ? descriptor : 0;
    if (number >= ThreadSegments::count || wanted.descriptors[number] == visible) {
        return false;
    }
    wanted.descriptors[number] = visible;
    follow_thread_segments();
    return wanted.descriptors[number] == visible;
}

unsigned global_descriptor_count() {
    return are_refused ? 0 : ThreadSegments::first + ThreadSegments::count;
}

} // namespace previrt::process
