// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/sites/site_code.hpp"

#include "frontends/x86/paging/page_walk.hpp"
#include "frontends/x86/paging/physical_memory.hpp"

namespace previrt {

namespace {

std::uint8_t* find_byte(std::uint64_t address) {
    const PageWalk walk = walk_page(address, {});
    return walk.faults ? nullptr : physical_memory(walk.physical, 1);
}

} // namespace

bool write_site_code(std::uint64_t address, std::span<const std::uint8_t> code) {
    if (find_byte(address) == nullptr || find_byte(address + code.size() - 1) == nullptr) {
        return false;
    }
    for (std::size_t i = 0; i < code.size(); ++i) {
        *find_byte(address + i) = code[i];
    }
    return true;
}

} // namespace previrt
