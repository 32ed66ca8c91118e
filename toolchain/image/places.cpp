// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/image/places.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <tuple>

namespace previrt {

namespace {

// If several symbols share an address, a function is the best name.
bool comes_before(const Symbol* left, const Symbol* right) {
    return std::tie(left->address, left->type, left->name) <
           std::tie(right->address, right->type, right->name);
}

} // namespace

std::string hex(std::uint64_t value) {
    std::array<char, 19> text{};
    const int length =
        std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(value));
    return {text.data(), static_cast<std::size_t>(length)};
}

std::string Place::text() const {
    if (section.empty()) {
        return "address " + hex(offset);
    }
    std::string words = section + "+" + hex(offset);
    if (symbol) {
        words += " (" + *symbol + "+" + hex(symbol_offset) + ")";
    }
    return words;
}

Places::Places(const ElfImage& image, const ElfImage* symbols) : image_(image) {
    for (const Symbol& symbol : (symbols == nullptr ? image : *symbols).symbols()) {
        symbols_.push_back(&symbol);
    }
    std::ranges::sort(symbols_, comes_before);
}

Place Places::at(std::uint64_t address) const {
    const Section* const section = image_.section_at(address);
    if (section == nullptr) {
        return {"", address, std::nullopt, 0};
    }
    Place place{section->name, address - section->address, std::nullopt, 0};
    const auto after =
        std::ranges::upper_bound(symbols_, address, {}, [](const Symbol* symbol) { return symbol->address; });
    if (after != symbols_.begin()) {
        const Symbol& symbol = **(after - 1);
        if (symbol.address >= section->address) {
            place.symbol = symbol.name;
            place.symbol_offset = address - symbol.address;
        }
    }
    return place;
}

} // namespace previrt
