// SPDX-License-Identifier: BSD-2-Clause
#include "backends/process/user_mode/map.hpp"

#include "backends/process/domain.hpp"
#include "backends/process/host_changes.hpp"
#include "backends/process/system_call.hpp"
#include "backends/process/user_mode/calls.hpp"
#include "backends/process/user_mode/process.hpp"

#include <algorithm>

namespace previrt::process {

namespace {

constexpr unsigned emptying_operations = 2;

struct UserChanges {
    bool is_outdated;
    unsigned count;
    std::uint64_t ranges; // a bound of the number of ranges, and the mapped bytes
    std::uint64_t bytes;
    UserOperation operations[most_user_operations - emptying_operations];
};
UserChanges user_changes[most_hosts];

[[gnu::section("processor")]] UserOperation taken[most_user_operations];

UserOperation operation(std::uint64_t call, std::uint64_t first, std::uint64_t second,
                        std::uint64_t third = 0, std::uint64_t fourth = 0, std::uint64_t fifth = 0,
                        std::uint64_t sixth = 0) {
    return {.call = call, .arguments = {first, second, third, fourth, fifth, sixth}, .has_32_bits = 0};
}

// The host bounds both: a change inside a range makes two more.
bool has_too_much(const UserChanges& changes) {
    return changes.ranges > handover.most_ranges || changes.bytes > 4 * handover.guest_memory;
}

UserOperation& add(unsigned host, const UserOperation& added) {
    UserChanges& changes = user_changes[host];
    if (changes.count == std::size(changes.operations) || has_too_much(changes)) {
        empty_user(host);
    }
    changes.ranges += 2;
    return changes.operations[changes.count++] = added;
}

} // namespace

bool is_user_processes_own(std::uint64_t address, std::uint64_t bytes) {
    return address < user_own_end && address + bytes > user_stub_address;
}

void note_user_mapping(unsigned host, std::uint64_t address, std::uint64_t bytes, std::uint32_t protection,
                       std::uint64_t offset) {
    follow_changes_of_user_process(); // which came before
    constexpr std::uint64_t most_in_advance = 16 * page_size;
    const std::uint64_t in_advance = bytes <= most_in_advance ? std::uint64_t{map_populate} : 0;
    add(host, operation(call_mmap, address, bytes, protection, map_shared | map_fixed | in_advance,
                        memory_descriptor, offset));
    user_changes[host].bytes += bytes;
}

void note_user_protection(unsigned host, std::uint64_t address, std::uint64_t bytes,
                          std::uint32_t protection) {
    UserChanges& changes = user_changes[host];
    if (changes.is_outdated && changes.count == 0) {
        return;
    }
    if (protection == 0) {
        forget_user_calls(host, address, bytes);
    }
    const std::uint64_t call = protection == 0 ? call_munmap : call_mprotect;
    if (changes.count != 0) {
        UserOperation& last = changes.operations[changes.count - 1];
        if (last.call == call && last.arguments[0] + last.arguments[1] == address &&
            last.arguments[2] == protection) {
            last.arguments[1] += bytes;
            return;
        }
    }
    add(host, operation(call, address, bytes, protection));
}

void empty_user(unsigned host) {
    UserChanges& changes = user_changes[host];
    changes.is_outdated = true;
    changes.count = 0;
    changes.ranges = 0;
    changes.bytes = 0;
    forget_user_calls(host, 0, user_end);
}

void give_back_user_operations(unsigned host, std::span<const UserOperation> operations) {
    UserChanges& changes = user_changes[host];
    if (changes.count + operations.size() > std::size(changes.operations)) {
        empty_user(host);
        return;
    }
    std::ranges::copy(operations, changes.operations + changes.count);
    changes.count += static_cast<unsigned>(operations.size());
}

std::span<UserOperation> take_user_operations(unsigned host) {
    follow_changes_of_user_process();
    UserChanges& changes = user_changes[host];
    unsigned count = 0;
    if (changes.is_outdated) {
        taken[count++] = operation(call_munmap, 0, user_stub_address);
        taken[count++] = operation(call_munmap, user_own_end, host_end - user_own_end);
    }
    std::copy_n(changes.operations, changes.count, taken + count);
    count += changes.count;
    changes.is_outdated = false;
    changes.count = 0;
    return {taken, count};
}

} // namespace previrt::process
