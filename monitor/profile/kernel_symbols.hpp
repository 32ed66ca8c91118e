// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace previrt {

class ElfImage;

// A function that contains an address.
struct FoundSymbol {
    std::string_view name;
    std::uint64_t offset;
};

// The functions of a kernel, by address.
class KernelSymbols {
public:
    KernelSymbols() = default;
    explicit KernelSymbols(const ElfImage& vmlinux);

    // Of the kernel's own tables; empty: it has none.
    static KernelSymbols of_kallsyms(const ElfImage& kernel);

    // The text of a System.map. Throws InputError: the message begins with the path and the line.
    static KernelSymbols of_map(const std::string& path, std::string_view text);

    [[nodiscard]] std::optional<FoundSymbol> find(std::uint64_t address) const;
    [[nodiscard]] bool empty() const { return symbols_.empty(); }

private:
    struct Entry {
        std::uint64_t address;
        std::uint64_t size; // 0: up to the next
        std::string name;
        std::size_t order = 0; // in the file
    };

    void sort();
    void end_with_last();

    std::vector<Entry> symbols_;
    std::uint64_t end_ = 0; // behind the last function; 0: not known
};

} // namespace previrt
