// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/kvm/privileged/last_directory.hpp"

#include <cstring>
#include <optional>

namespace previrt {

namespace {

constexpr std::uint64_t paging = std::uint64_t{1} << 31U;           // CR0
constexpr std::uint64_t five_levels = std::uint64_t{1} << 12U;      // CR4
constexpr std::uint64_t long_mode_active = std::uint64_t{1} << 10U; // EFER
constexpr std::uint64_t no_execute = std::uint64_t{1} << 11U;       // EFER: the VMM's map uses it
constexpr std::uint64_t present = 1;
constexpr std::uint64_t large = 0x80;
constexpr std::uint64_t frame_bits = 0x000ffffffffff000;
constexpr unsigned last_entry = 511;

std::optional<std::uint64_t> entry_of(std::span<const std::uint8_t> ram, std::uint64_t table,
                                      unsigned index) {
    const std::uint64_t address = (table & frame_bits) + (index * sizeof(std::uint64_t));
    std::uint64_t entry = 0;
    if (address >= ram.size() || ram.size() - address < sizeof entry) {
        return std::nullopt;
    }
    std::memcpy(&entry, ram.subspan(address, sizeof entry).data(), sizeof entry);
    return entry;
}

std::optional<std::uint64_t> last_table_of(std::span<const std::uint8_t> ram, std::uint64_t table) {
    const std::optional<std::uint64_t> entry = entry_of(ram, table, last_entry);
    return entry && (*entry & present) != 0 && (*entry & large) == 0 ? entry : std::nullopt;
}

bool is_free(std::span<const std::uint8_t> ram, std::uint64_t table, unsigned index) {
    return entry_of(ram, table, index) == std::uint64_t{0};
}

} // namespace

bool last_directory_has_room(std::span<const std::uint8_t> ram, const kvm_sregs& state, unsigned map_tables) {
    constexpr std::uint64_t modes = long_mode_active | no_execute;
    if ((state.cr0 & paging) == 0 || (state.efer & modes) != modes || (state.cr4 & five_levels) != 0) {
        return false;
    }
    const std::optional<std::uint64_t> level_3 = last_table_of(ram, state.cr3);
    const std::optional<std::uint64_t> level_2 = level_3 ? last_table_of(ram, *level_3) : std::nullopt;
    if (!level_2 || !is_free(ram, *level_2, last_entry)) {
        return false;
    }
    for (unsigned index = 0; index < map_tables; ++index) {
        if (!is_free(ram, *level_3, index)) {
            return false;
        }
    }
    return true;
}

} // namespace previrt
