// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/process/contract/layout.hpp"

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

// That processor's variable, which lies in these pages.
std::uint8_t* memory_of_processor(unsigned processor, const void* variable);
template <typename Value>
Value& of_processor(unsigned processor, Value& variable) {
    return *reinterpret_cast<Value*>(memory_of_processor(processor, static_cast<const void*>(&variable)));
}

// The processor is about to leave the VMM. If it was gathered, its mappings follow all changes.
void follow_changes_if_gathered();
// Waits until this word is not 0, and lets other processors have the VMM. `timeout`: a futex's, or nullptr.
void sleep_on(const std::uint32_t& word, const void* timeout);

} // namespace previrt::process
