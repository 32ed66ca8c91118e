// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/kvm/layout.hpp"
#include "tests/unit/kvm/make_image.hpp"

#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace previrt {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;
constexpr std::uint64_t gib = mib << 10U;
constexpr std::uint64_t large_page = 2 * mib;

struct Translation {
    std::uint64_t physical;
    std::uint64_t flags; // of the last entry
    bool writable;       // on every level
    bool user;           // likewise
    bool large;
};

// The memory that a VMM begins with, its page tables read as a processor reads them.
class VmmMemory {
public:
    static constexpr std::size_t package_bytes = 10000;
    static constexpr std::uint8_t package_byte = 0x5a;

    // The layout is for `package_bytes`.
    VmmMemory(const VmmSegments& image, KvmLayout layout)
        : layout_(std::move(layout)), bytes_(layout_.vmm_bytes) {
        fill_vmm_memory(bytes_, layout_, image, std::vector<std::uint8_t>(package_bytes, package_byte));
    }

    [[nodiscard]] const KvmLayout& layout() const { return layout_; }
    [[nodiscard]] const std::vector<std::uint8_t>& bytes() const { return bytes_; }

    [[nodiscard]] std::optional<Translation> translate(std::uint64_t address, unsigned processor = 0) const {
        constexpr std::uint64_t frame_bits = 0x000ffffffffff000;
        std::uint64_t table = layout_.first_root_of(processor);
        bool writable = true;
        bool user = true;
        for (unsigned level = 4; level != 0; --level) {
            const unsigned shift = 12 + (9 * (level - 1));
            const std::uint64_t entry = entry_of(table, (address >> shift) & 511U);
            if ((entry & 1U) == 0) {
                return std::nullopt;
            }
            writable = writable && (entry & 2U) != 0;
            user = user && (entry & 4U) != 0;
            const bool large = level == 2 && (entry & 0x80U) != 0;
            const std::uint64_t frame = entry & frame_bits;
            if (level == 1 || large) {
                return Translation{.physical = frame | (address & ((std::uint64_t{1} << shift) - 1)),
                                   .flags = entry & ~frame_bits,
                                   .writable = writable,
                                   .user = user,
                                   .large = large};
            }
            table = frame;
        }
        return std::nullopt;
    }

    [[nodiscard]] std::uint64_t entry_of(std::uint64_t table, std::uint64_t index) const {
        std::uint64_t entry = 0;
        std::memcpy(&entry, &bytes_.at(table - layout_.physical(0) + (8 * index)), sizeof entry);
        return entry;
    }

private:
    KvmLayout layout_;
    std::vector<std::uint8_t> bytes_;
};

} // namespace previrt
