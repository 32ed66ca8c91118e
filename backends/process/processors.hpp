// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/ring3/vmm_lock.hpp"

#include <cstdint>

// The virtual processors. Each has host processes of its own, in which the pages from processor_start to
// processor_end are its own too.
namespace previrt::process {

extern "C" {
extern std::uint8_t processor_start[];
extern std::uint8_t processor_end[];
}

// Called first: keeps these pages as they are now, for all processors.
void start_processors();

// Called when the host processes are there, while the host still tells the process's number.
void name_first_process();

// Waits until this word is not 0, or less long. `timeout`: a futex's, or nullptr.
void sleep_on(const std::uint32_t& word, const void* timeout);

} // namespace previrt::process
