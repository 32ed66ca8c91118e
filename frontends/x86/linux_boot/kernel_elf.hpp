// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/record_check.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace previrt {

struct LoadSegment {
    std::uint64_t address; // virtual
    std::uint64_t physical;
    std::uint64_t memory_bytes;
    std::span<const std::uint8_t> bytes;
};

struct KernelSection {
    std::uint64_t address;
    std::span<const std::uint8_t> bytes;
};

// The kernel's ELF image. A part outside the file stops the guest with a message.
class KernelElf {
public:
    explicit KernelElf(std::span<const std::uint8_t> file);

    [[nodiscard]] unsigned segment_count() const { return segment_count_; }
    [[nodiscard]] LoadSegment segment(unsigned number) const; // memory_bytes 0: none to load
    [[nodiscard]] std::uint64_t physical_entry() const;
    [[nodiscard]] std::uint64_t physical_of(std::uint64_t address) const; // ~0: outside the segments

    // Stops the guest if there is no such section.
    [[nodiscard]] KernelSection section(std::string_view wanted) const;
    // The sections that may hold sites: executable ones and .rodata, sorted by address.
    [[nodiscard]] std::size_t code_sections(std::span<Text> text) const;
    // True for alternatives and templates, whose code the guest copies.
    [[nodiscard]] bool is_copied(std::uint64_t address) const;

private:
    struct SectionHeader;
    [[nodiscard]] SectionHeader header(unsigned number) const;
    [[nodiscard]] std::string_view name(const SectionHeader& section) const;
    [[nodiscard]] std::span<const std::uint8_t> contents(const SectionHeader& header) const;

    std::span<const std::uint8_t> file_;
    std::uint64_t entry_ = 0;
    std::uint64_t segments_at_ = 0;
    std::uint64_t sections_at_ = 0;
    unsigned segment_count_ = 0;
    unsigned section_count_ = 0;
    unsigned names_ = 0;
};

} // namespace previrt
