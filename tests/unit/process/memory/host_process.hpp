// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>

namespace previrt::fake {

// How the host refuses. A call that fails may have done a part of its work.
struct HostLimits {
    std::uint64_t most_ranges = 65530;   // vm.max_map_count
    std::uint64_t lowest = 0x10000;      // vm.mmap_min_addr
    unsigned failures_in_a_thousand = 0; // of the calls that need memory of the host for another range
};

// The memory of one process of Linux: ranges of a file, joined and split as Linux does it.
class HostProcess {
public:
    struct Range {
        std::uint64_t end;
        std::uint64_t offset; // in the file, of the range's start
        std::uint32_t protection;
    };
    struct Page {
        std::uint64_t offset;
        std::uint32_t protection;
    };
    using Ranges = std::map<std::uint64_t, Range>; // by start

    // The results are system calls': negative error numbers.
    std::int64_t map(std::uint64_t address, std::uint64_t bytes, std::uint32_t protection,
                     std::uint64_t offset);
    std::int64_t unmap(std::uint64_t address, std::uint64_t bytes);
    std::int64_t protect(std::uint64_t address, std::uint64_t bytes, std::uint32_t protection);

    [[nodiscard]] std::optional<Page> page(std::uint64_t address) const;
    [[nodiscard]] const Ranges& ranges() const { return ranges_; }

    static HostLimits limits;
    static std::mt19937 random;

private:
    [[nodiscard]] Ranges::iterator range_at(std::uint64_t address);
    bool split(std::uint64_t at);
    void cut(std::uint64_t at);
    void remove(std::uint64_t from, std::uint64_t to);
    void join(std::uint64_t from, std::uint64_t to);

    Ranges ranges_;
};

} // namespace previrt::fake
