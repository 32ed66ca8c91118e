// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/profile/kallsyms.hpp"

#include "toolchain/image/elf_image.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace previrt {

namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t token_count = 256;
constexpr std::size_t longest_token = 64;
constexpr std::size_t longest_name = 512; // KSYM_NAME_LEN
constexpr std::uint32_t fewest_symbols = 16;
constexpr std::uint32_t most_symbols = 4'000'000;
constexpr std::size_t most_candidates = 64; // of each kind: a hostile file could have one a word

template <typename Value>
std::optional<Value> read_at(Bytes bytes, std::size_t offset) {
    if (offset > bytes.size() || bytes.size() - offset < sizeof(Value)) {
        return std::nullopt;
    }
    Value value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

constexpr std::size_t round_up(std::size_t value, std::size_t unit) {
    return (value + unit - 1) / unit * unit;
}

// kallsyms_token_table and kallsyms_token_index: the strings that a byte of a name stands for.
struct Tokens {
    std::size_t begin;
    std::size_t end; // of the index
    std::array<std::string_view, token_count> strings;
};

std::optional<std::size_t> begin_of_tokens(Bytes bytes, std::size_t of_zero) {
    std::size_t begin = of_zero;
    for (unsigned token = '0'; token-- > 0;) {
        std::size_t length = 0;
        while (begin >= length + 2 && bytes[begin - length - 2] != 0 && length < longest_token) {
            ++length;
        }
        if (length == 0 || length == longest_token) {
            return std::nullopt;
        }
        begin -= length + 1;
    }
    return begin;
}

std::optional<Tokens> read_tokens(Bytes bytes, std::size_t begin) {
    Tokens tokens{.begin = begin, .end = 0, .strings = {}};
    std::array<std::uint16_t, token_count> index{};
    std::size_t at = begin;
    for (std::size_t i = 0; i < token_count; ++i) {
        const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(at);
        const auto end = std::find(from, bytes.end(), std::uint8_t{0});
        const auto length = static_cast<std::size_t>(end - from);
        if (end == bytes.end() || length > longest_token || at - begin > UINT16_MAX) {
            return std::nullopt;
        }
        index.at(i) = static_cast<std::uint16_t>(at - begin);
        tokens.strings.at(i) = {reinterpret_cast<const char*>(bytes.data() + at), length};
        at += length + 1;
    }
    for (const std::size_t alignment : {std::size_t{8}, std::size_t{4}, std::size_t{2}}) {
        const std::size_t place = round_up(at, alignment);
        if (place <= bytes.size() && bytes.size() - place >= sizeof index &&
            std::memcmp(bytes.data() + place, index.data(), sizeof index) == 0) {
            tokens.end = place + sizeof index;
            return tokens;
        }
    }
    return std::nullopt;
}

// The digits stand for themselves in every kernel: names have numbers.
std::optional<Tokens> find_tokens(Bytes bytes) {
    constexpr std::array<std::uint8_t, 20> digits = {'0', 0, '1', 0, '2', 0, '3', 0, '4', 0,
                                                     '5', 0, '6', 0, '7', 0, '8', 0, '9', 0};
    auto from = bytes.begin();
    for (std::size_t i = 0; i < most_candidates; ++i) {
        const auto found = std::search(from, bytes.end(), digits.begin(), digits.end());
        if (found == bytes.end()) {
            break;
        }
        const std::optional<std::size_t> begin =
            begin_of_tokens(bytes, static_cast<std::size_t>(found - bytes.begin()));
        if (std::optional<Tokens> tokens = begin ? read_tokens(bytes, *begin) : std::nullopt) {
            return tokens;
        }
        from = found + 1;
    }
    return std::nullopt;
}

// All `count` names, each with its type in front. nullopt: there are no such names.
std::optional<std::vector<std::string>> read_names(Bytes bytes, std::size_t at, std::uint32_t count,
                                                   const Tokens& tokens) {
    if (count > bytes.size()) {
        return std::nullopt;
    }
    std::vector<std::string> names;
    names.reserve(count);
    while (names.size() < count) {
        if (at >= bytes.size()) {
            return std::nullopt;
        }
        std::size_t length = bytes[at++];
        constexpr std::size_t continues = 0x80;
        if ((length & continues) != 0 && at < bytes.size()) { // since 6.1
            length = (length & ~continues) | (std::size_t{bytes[at++]} << 7U);
        }
        std::string name;
        if (length == 0 || length > longest_name || length > bytes.size() - at) {
            return std::nullopt;
        }
        for (const std::uint8_t token : bytes.subspan(at, length)) {
            name += tokens.strings.at(token);
        }
        const bool is_name =
            name.size() >= 2 && name.size() <= longest_name &&
            std::ranges::all_of(name, [](char letter) { return letter > ' ' && letter <= '~'; });
        if (!is_name) {
            return std::nullopt;
        }
        at += length;
        names.push_back(std::move(name));
    }
    return names;
}

struct Tables {
    std::size_t offsets;
    std::uint64_t base;
    std::vector<std::string> names;
};

bool is_count(std::uint32_t count) {
    return count >= fewest_symbols && count <= most_symbols;
}

// Before 6.4: offsets, base, count, names, ..., tokens.
std::optional<Tables> read_old_tables(Bytes bytes, std::size_t base, const Tokens& tokens) {
    const std::uint32_t count = read_at<std::uint32_t>(bytes, base + 8).value_or(0);
    const std::size_t room = round_up(std::size_t{count} * 4, 8);
    if (base > tokens.begin || !is_count(count) || room > base) {
        return std::nullopt;
    }
    auto names = read_names(bytes, base + 16, count, tokens);
    return names ? std::optional(Tables{.offsets = base - room, .base = 0, .names = std::move(*names)})
                 : std::nullopt;
}

// Since: count, names, ..., tokens, offsets, base.
std::optional<Tables> read_new_tables(Bytes bytes, std::size_t base, const Tokens& tokens) {
    const std::size_t offsets = round_up(tokens.end, 8);
    if (base < offsets || base - offsets > std::size_t{most_symbols} * 4) {
        return std::nullopt;
    }
    const auto most = static_cast<std::uint32_t>((base - offsets) / 4);
    std::size_t candidates = 0;
    for (std::size_t at = tokens.begin / 8 * 8; at >= 8 && candidates < most_candidates; at -= 8) {
        const std::uint32_t count = read_at<std::uint32_t>(bytes, at - 8).value_or(0);
        if (!is_count(count) || (count != most && count + 1 != most)) {
            continue;
        }
        ++candidates;
        if (auto names = read_names(bytes, at, count, tokens)) {
            return Tables{.offsets = offsets, .base = 0, .names = std::move(*names)};
        }
    }
    return std::nullopt;
}

// The base is the address of the first function.
std::optional<Tables> find_tables(Bytes bytes, std::uint64_t text, const Tokens& tokens) {
    std::size_t candidates = 0;
    for (std::size_t at = 0; at + 8 <= bytes.size() && candidates < most_candidates; at += 8) {
        if (read_at<std::uint64_t>(bytes, at) != text) {
            continue;
        }
        ++candidates;
        std::optional<Tables> tables = read_old_tables(bytes, at, tokens);
        if (!tables) {
            tables = read_new_tables(bytes, at, tokens);
        }
        if (tables) {
            tables->base = text;
            return tables;
        }
    }
    return std::nullopt;
}

bool is_text(char type) {
    return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

// With several processors, offsets of their data are positive, and all others negative.
std::vector<KallsymsEntry> entries_of(Bytes bytes, const Tables& tables) {
    std::vector<std::int32_t> offsets;
    for (std::size_t i = 0; i < tables.names.size(); ++i) {
        const auto offset = read_at<std::int32_t>(bytes, tables.offsets + (i * 4));
        if (!offset) {
            return {};
        }
        offsets.push_back(*offset);
    }
    const bool are_negative = std::ranges::any_of(offsets, [](std::int32_t offset) { return offset < 0; });
    std::vector<KallsymsEntry> entries;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        const std::int64_t offset = are_negative ? -1 - std::int64_t{offsets[i]} : std::int64_t{offsets[i]};
        if (is_text(tables.names[i].front()) && offset >= 0) {
            entries.push_back({.address = tables.base + static_cast<std::uint64_t>(offset),
                               .name = tables.names[i].substr(1)});
        }
    }
    return entries;
}

} // namespace

std::vector<KallsymsEntry> read_kallsyms(const ElfImage& kernel) {
    const auto find = [&](const char* name) {
        const auto found = std::ranges::find(kernel.sections(), name, &Section::name);
        return found == kernel.sections().end() ? nullptr : &*found;
    };
    const Section* const text = find(".text");
    const Section* const constants = find(".rodata");
    if (text == nullptr || constants == nullptr) {
        return {};
    }
    // Tables are aligned by their addresses.
    const Bytes bytes = constants->bytes.subspan(
        std::min<std::size_t>(constants->bytes.size(), (8 - (constants->address % 8)) % 8));
    const std::optional<Tokens> tokens = find_tokens(bytes);
    const std::optional<Tables> tables = tokens ? find_tables(bytes, text->address, *tokens) : std::nullopt;
    return tables ? entries_of(bytes, *tables) : std::vector<KallsymsEntry>();
}

} // namespace previrt
