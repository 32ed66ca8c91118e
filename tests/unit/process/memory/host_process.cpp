// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/process/memory/host_process.hpp"

#include <algorithm>
#include <iterator>

namespace previrt::fake {

namespace {

constexpr std::int64_t not_permitted = -1;
constexpr std::int64_t no_memory = -12;
constexpr std::int64_t invalid = -22;
constexpr std::uint64_t page_mask = 4095;
constexpr std::uint64_t end_of_memory = 0x7ffffffff000;

// No host refuses a process that has next to nothing.
bool fails(const HostProcess::Ranges& ranges) {
    constexpr std::size_t next_to_nothing = 10;
    const unsigned of_a_thousand = HostProcess::limits.failures_in_a_thousand;
    return of_a_thousand != 0 && ranges.size() > next_to_nothing &&
           HostProcess::random() % 1000 < of_a_thousand;
}

bool is_wrong(std::uint64_t address, std::uint64_t bytes) {
    return bytes == 0 || ((address | bytes) & page_mask) != 0 || address > end_of_memory ||
           bytes > end_of_memory - address;
}

bool continues(const HostProcess::Ranges::value_type& one, const HostProcess::Ranges::value_type& next) {
    const auto& [start, range] = one;
    return range.end == next.first && range.protection == next.second.protection &&
           range.offset + (range.end - start) == next.second.offset;
}

} // namespace

HostLimits HostProcess::limits;
std::mt19937 HostProcess::random;

// The range that has this address, or the first one behind it.
HostProcess::Ranges::iterator HostProcess::range_at(std::uint64_t address) {
    auto found = ranges_.upper_bound(address);
    if (found != ranges_.begin() && std::prev(found)->second.end > address) {
        --found;
    }
    return found;
}

void HostProcess::cut(std::uint64_t at) {
    const auto found = range_at(at);
    if (found == ranges_.end() || found->first >= at) {
        return;
    }
    Range behind = found->second;
    behind.offset += at - found->first;
    found->second.end = at;
    ranges_.emplace_hint(std::next(found), at, behind);
}

bool HostProcess::split(std::uint64_t at) {
    const auto found = range_at(at);
    if (found == ranges_.end() || found->first >= at) {
        return true;
    }
    if (ranges_.size() >= limits.most_ranges || fails(ranges_)) {
        return false;
    }
    cut(at);
    return true;
}

void HostProcess::remove(std::uint64_t from, std::uint64_t to) {
    cut(from);
    cut(to);
    ranges_.erase(ranges_.lower_bound(from), ranges_.lower_bound(to));
}

void HostProcess::join(std::uint64_t from, std::uint64_t to) {
    auto at = range_at(from);
    if (at != ranges_.begin()) {
        --at;
    }
    while (at != ranges_.end() && at->first <= to) {
        const auto next = std::next(at);
        if (next != ranges_.end() && continues(*at, *next)) {
            at->second.end = next->second.end;
            ranges_.erase(next);
        } else {
            at = next;
        }
    }
}

std::int64_t HostProcess::unmap(std::uint64_t address, std::uint64_t bytes) {
    if (is_wrong(address, bytes)) {
        return invalid;
    }
    const auto found = range_at(address);
    const bool makes_hole =
        found != ranges_.end() && found->first < address && found->second.end > address + bytes;
    if (makes_hole && (ranges_.size() >= limits.most_ranges || fails(ranges_))) {
        return no_memory;
    }
    remove(address, address + bytes);
    return 0;
}

std::int64_t HostProcess::map(std::uint64_t address, std::uint64_t bytes, std::uint32_t protection,
                              std::uint64_t offset) {
    if (is_wrong(address, bytes)) {
        return invalid;
    }
    if (address < limits.lowest) {
        return not_permitted;
    }
    if (ranges_.size() > limits.most_ranges || fails(ranges_)) {
        return no_memory;
    }
    if (const std::int64_t result = unmap(address, bytes); result != 0) {
        return result;
    }
    if (fails(ranges_)) { // and what was there is gone
        return no_memory;
    }
    ranges_[address] = {.end = address + bytes, .offset = offset, .protection = protection};
    join(address, address + bytes);
    return static_cast<std::int64_t>(address);
}

std::int64_t HostProcess::protect(std::uint64_t address, std::uint64_t bytes, std::uint32_t protection) {
    if (is_wrong(address, bytes)) {
        return invalid;
    }
    const std::uint64_t end = address + bytes;
    std::int64_t result = 0;
    std::uint64_t at = address;
    while (at < end) {
        auto found = range_at(at);
        if (found == ranges_.end() || found->first > at) {
            result = no_memory; // a hole
            break;
        }
        const std::uint64_t part_end = std::min(end, found->second.end);
        if (found->second.protection != protection) {
            if (!split(at) || !split(part_end)) {
                result = no_memory;
                break;
            }
            range_at(at)->second.protection = protection;
        }
        at = part_end;
    }
    join(address, end);
    return result;
}

std::optional<HostProcess::Page> HostProcess::page(std::uint64_t address) const {
    const auto behind = ranges_.upper_bound(address);
    if (behind == ranges_.begin()) {
        return std::nullopt;
    }
    const auto& [start, range] = *std::prev(behind);
    if (range.end <= address) {
        return std::nullopt;
    }
    return Page{.offset = range.offset + ((address & ~page_mask) - start), .protection = range.protection};
}

} // namespace previrt::fake
