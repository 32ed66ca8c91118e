// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/run/privileged/last_directory.hpp"

#include <cstring>
#include <optional>

namespace previrt {

namespace {

constexpr std::uint64_t paging = std::uint64_t{1} << 31U;           // CR0
constexpr std::uint64_t five_levels = std::uint64_t{1} << 12U;      // CR4
constexpr std::uint64_t long_mode_active = std::uint64_t{1} << 10U; // EFER
constexpr std::uint64_t present = 1;
constexpr std::uint64_t large = 0x80;
constexpr std::uint64_t frame_bits = 0x000ffffffffff000;
constexpr std::uint64_t last_entry = 4096 - sizeof(std::uint64_t);

std::optional<std::uint64_t> last_entry_of(std::span<const std::uint8_t> ram, std::uint64_t table) {
    const std::uint64_t address = (table & frame_bits) + last_entry;
    std::uint64_t entry = 0;
    if (address >= ram.size() || ram.size() - address < sizeof entry) {
        return std::nullopt;
    }
    std::memcpy(&entry, ram.subspan(address, sizeof entry).data(), sizeof entry);
    return entry;
}

} // namespace

bool last_directory_has_room(std::span<const std::uint8_t> ram, const kvm_sregs& state) {
    if ((state.cr0 & paging) == 0 || (state.efer & long_mode_active) == 0 || (state.cr4 & five_levels) != 0) {
        return false;
    }
    std::uint64_t table = state.cr3;
    for (unsigned level = 4; level > 2; --level) {
        const std::optional<std::uint64_t> entry = last_entry_of(ram, table);
        if (!entry || (*entry & present) == 0 || (*entry & large) != 0) {
            return false;
        }
        table = *entry;
    }
    const std::optional<std::uint64_t> entry = last_entry_of(ram, table);
    return entry && *entry == 0;
}

} // namespace previrt
