// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace previrt {

class ElfImage;

struct KallsymsEntry {
    std::uint64_t address;
    std::string name;
};

// The functions in the tables that a Linux with CONFIG_KALLSYMS carries for its own messages, of 5.x and 6.x
// with base-relative offsets. Nothing names the tables, so they are found by their contents; each step is
// checked. Empty: there are none.
std::vector<KallsymsEntry> read_kallsyms(const ElfImage& kernel);

} // namespace previrt
