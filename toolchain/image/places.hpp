// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/image/elf_image.hpp"

#include <optional>
#include <string>
#include <vector>

namespace previrt {

// An address in words that a person can look up.
struct Place {
    std::string section;
    std::uint64_t offset;
    std::optional<std::string> symbol; // the nearest at or before the address, in the same section
    std::uint64_t symbol_offset;

    [[nodiscard]] std::string text() const; // .text+0x40 (foo+0x12)
};

std::string hex(std::uint64_t value);

// Names addresses of one image. Symbols may come from another file of the same addresses (vmlinux for a
// bzImage).
class Places {
public:
    explicit Places(const ElfImage& image, const ElfImage* symbols = nullptr);

    [[nodiscard]] Place at(std::uint64_t address) const;

private:
    const ElfImage& image_;
    std::vector<const Symbol*> symbols_; // by address
};

} // namespace previrt
