// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/process/memory/fake_domain.hpp"

#include "backends/process/address_space_processes.hpp"
#include "backends/process/domain.hpp"
#include "backends/process/host_changes.hpp"
#include "backends/process/local_table.hpp"
#include "backends/process/segments.hpp"
#include "backends/process/stolen_time.hpp"
#include "backends/process/system_call.hpp"
#include "backends/process/table_uses.hpp"
#include "backends/process/user_mode/calls.hpp"
#include "backends/process/user_mode/map.hpp"
#include "backends/process/user_mode/process.hpp"
#include "tests/unit/process/memory/fake_processors.hpp"
#include "tests/unit/vmm/fake_backend.hpp"
#include "tests/unit/vmm/fake_tables.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <sys/mman.h>
#include <vector>

extern "C" {
// Of entry.S.
void user_call() {}
std::uint32_t user_call_number;

namespace previrt::process {
void change_host(Host* from, Host* to);
std::int64_t clone_host(Host* made);
std::int64_t clone_processor(Host* made);
} // namespace previrt::process
}

namespace previrt::fake {

extern process::Handover handover_to_fill asm("handover");

namespace {

using process::Host;

constexpr std::uint64_t vmm_bytes = std::uint64_t{64} << 20U;
constexpr std::uint32_t all_rights = process::may_read | process::may_write | process::may_execute;

std::array<HostProcess, process::most_hosts> processes;
std::array<HostProcess, process::most_hosts> user_processes;
unsigned current_number;
std::uint64_t taken;

// Memory of this test, where each process of the guest has it.
void have(std::uint64_t address, std::uint64_t bytes) {
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    auto* const wanted = reinterpret_cast<void*>(address);
    if (mmap(wanted, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) != wanted) {
        throw Misuse("the addresses of a guest's process are in use in this one: " + std::to_string(address));
    }
}

void check_range(std::uint64_t address, std::uint64_t bytes) {
    const auto overlaps = [&](std::uint64_t from, std::uint64_t to) {
        return address < to && address + bytes > from;
    };
    if (overlaps(process::kernel_address, process::modules_address) ||
        overlaps(process::arena_address, process::mapped_slot_address) ||
        (overlaps(process::ram_address, process::arena_address) &&
         address + bytes > process::ram_address + process::handover.guest_memory)) {
        throw Misuse("the VMM changes its own memory, at " + std::to_string(address));
    }
}

std::int64_t change_memory(HostProcess& of, std::uint64_t call, std::span<const std::uint64_t, 6> arguments) {
    const std::uint64_t address = arguments[0];
    const std::uint64_t bytes = arguments[1];
    switch (call) {
    case process::call_mmap:
        return of.map(address, bytes, static_cast<std::uint32_t>(arguments[2]), arguments[5]);
    case process::call_munmap:
        return of.unmap(address, bytes);
    case process::call_mprotect:
        return of.protect(address, bytes, static_cast<std::uint32_t>(arguments[2]));
    default:
        throw Misuse("a call that the host's model does not know: " + std::to_string(call));
    }
}

// As user_mode.cpp lets a user process do them. False: a call failed.
bool run_operations(unsigned number) {
    for (process::UserOperation operation : process::take_user_operations(number)) {
        HostProcess& of = user_processes.at(number);
        if (change_memory(of, operation.call, operation.arguments) >= 0) {
            continue;
        }
        operation.arguments[2] = 0;
        if (operation.call != process::call_mprotect ||
            change_memory(of, process::call_munmap, operation.arguments) < 0) {
            return false;
        }
    }
    return true;
}

} // namespace

void choose_process_place(const ProcessPlace& place) {
    process::Handover& handover = handover_to_fill;
    handover = {};
    handover.vmm_bytes = vmm_bytes;
    handover.most_ranges = place.most_ranges;
    handover.most_hosts = place.most_hosts;
    handover.processors = place.processors;
    handover.isolates_user_mode = place.isolates ? 1 : 0;
    handover.rewrites_user_calls = place.rewrites_user_calls ? 1 : 0;
}

void start_tables(std::uint64_t ram_bytes, std::uint32_t count) {
    handover_to_fill.guest_memory = ram_bytes;
    have(process::ram_address, ram_bytes);
    have(process::arena_address, vmm_bytes);
    have(process::calls_address, process::calls_bytes);
    have(process::private_address, process::private_bytes);
    processes = {};
    user_processes = {};
    current_number = 0;
    taken = 0;
    process::memory.table_count = count;
    process::memory.pool = process::take_memory(std::uint64_t{count} * process::page_size);
    if (processes[0].map(process::ram_address, ram_bytes, all_rights, vmm_bytes) < 0) {
        throw Misuse("the host's model does not map RAM");
    }
    start_processors(handover_to_fill.processors);
    process::start_hosts();
    process::start_table_uses();
    process::start_user_calls();
}

void change_processor(unsigned processor) {
    if (processor == present_processor()) {
        return;
    }
    if (process::isolates()) {
        user_process();
    }
    if (!begin_processor(processor)) {
        process::make_processor(processor);
    }
    const bool was_gathered = exchange_processor(processor);
    current_number = process::number_of(process::current_host());
    if (was_gathered) {
        process::follow_changes();
    }
    if (was_gathered && process::isolates()) {
        user_process();
    }
}

HostProcess& current_process() {
    return processes.at(current_number);
}

HostProcess& user_process() {
    constexpr unsigned tries = 100;
    for (unsigned i = 0; !run_operations(current_number); ++i) {
        if (i == tries) {
            throw Misuse("a user process's changes never succeed");
        }
        process::outdate_user(process::current_host()); // it tries again, with nothing mapped
    }
    return user_processes.at(current_number);
}

const HostProcess& running_user_process() {
    return user_processes.at(current_number);
}

std::uint64_t offset_of_frame(std::uint64_t guest_frame) {
    return vmm_bytes + (guest_frame << page_shift);
}

const std::uint8_t* vmm_page(std::uint64_t offset) {
    return reinterpret_cast<const std::uint8_t*>(process::arena_address + offset);
}

} // namespace previrt::fake

namespace previrt::process {

Memory memory;

std::int64_t call_host(SystemCall call, const CallArguments& arguments) {
    fake::check_range(arguments.first, arguments.second);
    const std::array<std::uint64_t, 6> values = {arguments.first,  arguments.second, arguments.third,
                                                 arguments.fourth, arguments.fifth,  arguments.sixth};
    return fake::change_memory(fake::current_process(), call, values);
}

std::uint8_t* take_memory(std::uint64_t bytes) {
    auto* const first = reinterpret_cast<std::uint8_t*>(arena_address + fake::taken);
    fake::taken += (bytes + page_size - 1) & ~(page_size - 1);
    if (fake::taken > fake::vmm_bytes) {
        throw fake::Misuse("the VMM takes too much memory");
    }
    return first;
}

void change_host(Host* /*from*/, Host* to) {
    fake::current_number = number_of(*to);
}

std::int64_t clone_host(Host* made) {
    constexpr std::int64_t try_again = -11;
    const bool may_fail = fake::HostProcess::limits.failures_in_a_thousand != 0;
    if (may_fail && fake::HostProcess::random() % 4 == 0) {
        return try_again;
    }
    fake::processes.at(number_of(*made)) = fake::current_process();
    return number_of(*made) + 1;
}

std::int64_t clone_processor(Host* made) {
    fake::processes.at(number_of(*made)) = fake::current_process();
    return number_of(*made) + 1;
}

bool isolates() {
    return handover.isolates_user_mode != 0;
}

bool runs_user_process(unsigned processor) {
    return processor != fake::present_processor();
}

// The parts of all of them were taken with the other memory.
std::uint8_t* user_part(unsigned host) {
    static std::uint8_t* const parts = take_memory(std::uint64_t{most_hosts} * calls_bytes);
    return parts + (host * calls_bytes);
}

void start_signals() {}
void follow_timer() {}
void begin_turn() {}
void end_turn() {}
void follow_local_table() {}
void follow_thread_segments() {}
SegmentState read_segments() {
    return {};
}
void write_segments(const SegmentState& /*state*/) {}

} // namespace previrt::process
