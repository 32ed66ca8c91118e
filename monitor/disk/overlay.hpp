// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"
#include "monitor/guest/mapping.hpp"

#include <cstdint>

namespace previrt {

// The writes of a snapshot: a sparse file in no directory, which ends with this process, and a bit for each
// block that is in it.
class DiskOverlay {
public:
    // Throws InputError.
    DiskOverlay(std::uint64_t bytes, std::uint32_t block_bytes);

    [[nodiscard]] int number() const { return file_.number(); }

    struct Run {
        bool is_written;
        std::uint64_t bytes;
    };
    // The blocks from this one on, at most so many bytes, that are all in the overlay or all not.
    [[nodiscard]] Run run_at(std::uint64_t offset, std::uint64_t most) const;
    // The whole blocks of this range are in the overlay now.
    void mark(std::uint64_t offset, std::uint64_t bytes);

private:
    [[nodiscard]] bool is_written(std::uint64_t block) const;

    std::uint64_t block_bytes_;
    Descriptor file_;
    Mapping bits_;
};

} // namespace previrt
