// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/profile/kernel_symbols.hpp"

#include "host/input_error.hpp"
#include "monitor/profile/kallsyms.hpp"
#include "toolchain/image/elf_image.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <tuple>
#include <utility>

namespace previrt {

namespace {

constexpr std::size_t longest_name = 512;                           // KSYM_NAME_LEN of Linux
constexpr std::uint64_t largest_function = std::uint64_t{1} << 20U; // in front of an unknown address

// Linux's names for boundaries of sections, and the assembler's labels.
bool is_function_name(std::string_view name) {
    return !name.empty() && name.size() <= longest_name && !name.starts_with('.') &&
           !name.starts_with("__pfx_") && !name.starts_with("__cfi_") &&
           std::ranges::all_of(name, [](char letter) { return letter > ' ' && letter <= '~'; });
}

bool is_text(char type) {
    return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

struct MapLine {
    std::uint64_t address;
    char type;
    std::string_view name;
};

std::optional<MapLine> read_line(std::string_view line) {
    MapLine read{};
    const char* const end = line.end();
    const auto [behind, error] = std::from_chars(line.begin(), end, read.address, 16);
    constexpr std::ptrdiff_t least = 4; // " T x"
    if (error != std::errc() || end - behind < least || behind[0] != ' ' || behind[2] != ' ') {
        return std::nullopt;
    }
    read.type = behind[1];
    read.name = std::string_view(behind + 3, end);
    read.name = read.name.substr(0, read.name.find_first_of(" \t\r"));
    return read;
}

} // namespace

KernelSymbols::KernelSymbols(const ElfImage& vmlinux) {
    for (const Symbol& symbol : vmlinux.symbols()) {
        const Section* const section = vmlinux.section_at(symbol.address);
        if (section == nullptr || !section->executable || symbol.type == SymbolType::object ||
            !is_function_name(symbol.name)) {
            continue;
        }
        symbols_.push_back({.address = symbol.address, .size = symbol.size, .name = symbol.name});
        end_ = std::max(end_, section->address + section->bytes.size());
    }
    sort();
}

KernelSymbols KernelSymbols::of_kallsyms(const ElfImage& kernel) {
    KernelSymbols symbols;
    for (KallsymsEntry& entry : read_kallsyms(kernel)) {
        if (is_function_name(entry.name)) {
            symbols.symbols_.push_back({.address = entry.address, .size = 0, .name = std::move(entry.name)});
        }
    }
    symbols.sort();
    symbols.end_with_last();
    return symbols;
}

KernelSymbols KernelSymbols::of_map(const std::string& path, std::string_view text) {
    KernelSymbols symbols;
    std::size_t number = 0;
    while (!text.empty()) {
        ++number;
        const std::size_t length = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, length);
        text.remove_prefix(std::min(length + 1, text.size()));
        if (line.empty()) {
            continue;
        }
        const std::optional<MapLine> read = read_line(line);
        if (!read) {
            throw InputError(
                path + ":" + std::to_string(number) +
                ": not `ADDRESS TYPE NAME`; give the vmlinux or the System.map of the kernel's build");
        }
        if (read->name == "_etext") {
            symbols.end_ = read->address;
        } else if (is_text(read->type) && is_function_name(read->name)) {
            symbols.symbols_.push_back(
                {.address = read->address, .size = 0, .name = std::string(read->name)});
        }
    }
    if (symbols.empty()) {
        throw InputError(path +
                         ": it names no function; give the vmlinux or the System.map of the kernel's build");
    }
    symbols.sort();
    symbols.end_with_last();
    return symbols;
}

// Of several names for one address, the first is that of a function with a size.
void KernelSymbols::sort() {
    for (std::size_t i = 0; i < symbols_.size(); ++i) {
        symbols_[i].order = i;
    }
    std::ranges::sort(symbols_, {}, [](const Entry& entry) {
        return std::tuple(entry.address, entry.size == 0, entry.order);
    });
    const auto same = std::ranges::unique(symbols_, {}, &Entry::address);
    symbols_.erase(same.begin(), same.end());
}

// The last function has no known end. Code of the start lies behind _etext.
void KernelSymbols::end_with_last() {
    end_ = symbols_.empty() ? 0 : std::max(end_, symbols_.back().address + 1);
}

std::optional<FoundSymbol> KernelSymbols::find(std::uint64_t address) const {
    auto next = std::ranges::upper_bound(symbols_, address, {}, &Entry::address);
    if (next == symbols_.begin()) {
        return std::nullopt;
    }
    const Entry& entry = *std::prev(next);
    const std::uint64_t offset = address - entry.address;
    if (offset >= largest_function ||
        (next == symbols_.end() && address >= std::max(end_, entry.address + entry.size))) {
        return std::nullopt;
    }
    return FoundSymbol{.name = entry.name, .offset = offset};
}

} // namespace previrt
