// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/profile/profile.hpp"

#include "host/input_error.hpp"
#include "monitor/profile/source_lines.hpp"
#include "toolchain/image/places.hpp"

#include <algorithm>
#include <iostream>
#include <map>
#include <tuple>

namespace previrt {

namespace {

std::map<std::uint64_t, std::string> lines_of(const CountedInstructions& counts, const SymbolFile& symbols) {
    std::vector<std::uint64_t> addresses;
    for (const CountedInstruction& row : counts.rows) {
        if (row.in == CountedIn::kernel) {
            addresses.push_back(row.address);
        }
    }
    std::ranges::sort(addresses);
    const auto same = std::ranges::unique(addresses);
    addresses.erase(same.begin(), same.end());
    try {
        return find_source_lines(symbols.path, addresses);
    } catch (const InputError& error) {
        std::cerr << "previrt: " << error.what() << '\n';
        return {};
    }
}

} // namespace

std::string ProfileRow::instruction() const {
    if (counted.in != CountedIn::kernel) {
        return function_or_place();
    }
    return function.empty() ? hex(counted.address) : function + "+" + hex(offset);
}

std::string ProfileRow::function_or_place() const {
    switch (counted.in) {
    case CountedIn::programs:
        return "(programs)";
    case CountedIn::elsewhere:
        return "(elsewhere)";
    case CountedIn::kernel:
        break;
    }
    return function.empty() ? hex(counted.address) : function;
}

std::string ProfileRow::leaf() const {
    return (line.empty() ? instruction() : line) + (counted.kind.empty() ? "" : " (" + counted.kind + ")");
}

Profile make_profile(const CountedInstructions& counts, const SymbolFile& symbols, ProfileBy by) {
    Profile profile{.rows = {},
                    .by = by,
                    .have_cycles = counts.have_cycles,
                    .rows_left_out = counts.rows_left_out,
                    .counts_left_out = counts.counts_left_out};
    const std::map<std::uint64_t, std::string> lines =
        symbols.has_lines ? lines_of(counts, symbols) : std::map<std::uint64_t, std::string>();
    for (const CountedInstruction& counted : counts.rows) {
        ProfileRow row{.counted = counted, .function = {}, .line = {}};
        if (counted.in == CountedIn::kernel) {
            if (const std::optional<FoundSymbol> found = symbols.symbols.find(counted.address)) {
                row.function = found->name;
                row.offset = found->offset;
            }
            const auto line = lines.find(counted.address);
            row.line = line == lines.end() ? "" : line->second;
        }
        profile.rows.push_back(std::move(row));
    }
    std::ranges::sort(profile.rows, [&](const ProfileRow& left, const ProfileRow& right) {
        const auto order = [&](const ProfileRow& row) {
            return std::tuple(~profile.value_of(row), ~row.counted.count, row.counted.address,
                              row.counted.cause, row.counted.kind);
        };
        return order(left) < order(right);
    });
    return profile;
}

} // namespace previrt
