// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/profile/counted_instruction.hpp"
#include "monitor/profile/symbol_file.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace previrt {

// The order of a profile, and the widths of its flame graph.
enum class ProfileBy : std::uint8_t { count, cycles };

struct ProfileRow {
    CountedInstruction counted;
    std::string function;     // empty: unknown, or none of the kernel's
    std::uint64_t offset = 0; // in the function
    std::string line;         // of the source; empty: unknown

    // The function with the offset, the address, or the place of the row.
    [[nodiscard]] std::string instruction() const;
    // The function; without one, the address or the place.
    [[nodiscard]] std::string function_or_place() const;
    // The source line or the instruction, and its kind.
    [[nodiscard]] std::string leaf() const;
};

// Counts of a guest's instructions, with the names of its kernel.
struct Profile {
    std::vector<ProfileRow> rows; // the largest first
    ProfileBy by = ProfileBy::count;
    bool have_cycles = false;
    std::uint64_t rows_left_out = 0;
    std::uint64_t counts_left_out = 0;

    [[nodiscard]] std::uint64_t value_of(const ProfileRow& row) const {
        return by == ProfileBy::cycles ? row.counted.cycles : row.counted.count;
    }
};

Profile make_profile(const CountedInstructions& counts, const SymbolFile& symbols, ProfileBy by);

} // namespace previrt
