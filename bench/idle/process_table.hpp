// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <sys/types.h>
#include <vector>

namespace previrt {

// The processes of this machine, as they were when it was made.
class ProcessTable {
public:
    ProcessTable();

    // A process and all that descend from it, itself first.
    [[nodiscard]] std::vector<pid_t> family_of(pid_t first) const;

private:
    std::multimap<pid_t, pid_t> children_; // by parent
};

// That a process has used, in all its threads; none of one that has ended.
std::chrono::nanoseconds processor_time(pid_t process);

struct MemoryUse {
    // In bytes; of one that several processes have mapped, each counts its share. Nullopt: it keeps its
    // memory from us, as one without a debugger does.
    std::optional<std::uint64_t> pages;
    std::uint64_t page_tables = 0;
};

// Throws InputError where the kernel does not tell.
MemoryUse memory_use(pid_t process);

// That the machine could still give to programs. Throws InputError.
std::uint64_t available_memory();

} // namespace previrt
