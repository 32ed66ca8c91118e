// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <sys/types.h>
#include <vector>

namespace previrt {

// A snapshot of the processes of this machine.
class ProcessTable {
public:
    ProcessTable();

    // A process and all its descendants, itself first.
    [[nodiscard]] std::vector<pid_t> family_of(pid_t first) const;

private:
    std::multimap<pid_t, pid_t> children_; // by parent
};

// The processor time of all threads of a process; 0 for one that has ended.
std::chrono::nanoseconds processor_time(pid_t process);

struct MemoryUse {
    // In bytes; a page that several processes map counts in shares. nullopt: this machine does not show the
    // process's memory.
    std::optional<std::uint64_t> pages;
    std::uint64_t page_tables = 0;
};

// Throws InputError if the kernel does not show it.
MemoryUse memory_use(pid_t process);

// The memory that the machine could still give to programs. Throws InputError.
std::uint64_t available_memory();

} // namespace previrt
