// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/process/contract/handover.hpp"
#include "toolchain/pack/load_segments.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace previrt {

// A checked in-place VMM for a process, from an ELF executable: its segments, and everything that its header
// names, lie in the VMM's 2 MiB, before the monitor's part.
struct ProcessImage {
    std::vector<std::uint8_t> file;
    std::vector<LoadSegment> segments;
    process::ImageHeader header;

    // From image_address on.
    void copy_to(std::span<std::uint8_t> memory) const;
    [[nodiscard]] std::uint64_t event_word_offset() const;
    // nullopt: this VMM has none.
    [[nodiscard]] std::optional<std::uint64_t> instruction_counts_offset() const;
};

// Throws InputError: the message begins with the path.
ProcessImage read_process_image(const std::string& path, std::vector<std::uint8_t> file);

} // namespace previrt
