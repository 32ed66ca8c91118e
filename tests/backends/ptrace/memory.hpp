// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

// The guest's RAM: a file in memory, which this program maps as a whole and the child page by page.
namespace previrt::traced {

void start_memory(std::uint64_t bytes);
extern int memory_file;

} // namespace previrt::traced
