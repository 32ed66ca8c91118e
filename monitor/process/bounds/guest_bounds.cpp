// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/process/bounds/guest_bounds.hpp"

#include "backends/process/contract/layout.hpp"

#include <algorithm>
#include <fstream>

namespace previrt {

namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

// A process that has touched all of the guest's RAM has page tables of 1/512 of it; 128 such processes have a
// quarter. As much again, and a part that does not depend on RAM, are for the addresses of user mode. Honest
// guests took a tenth of all this.
constexpr std::uint64_t page_tables_of_any_guest = 128 * mib;

// In Linux 6.18 a mapping and its part of the mappings' tree take 281 bytes.
constexpr std::uint64_t bytes_of_mapping = 288;
// A kernel stack, the process itself, its table of segments, its signals' stack, timers.
constexpr std::uint64_t bytes_of_process = mib;

constexpr std::uint64_t memory_for_each_process = 4 * mib;
constexpr std::uint64_t fewest_processes = 16;
constexpr std::uint64_t fewest_processes_of_processor = 2;

constexpr std::uint64_t usual_most_mappings = 65530;

} // namespace

GuestBounds bound_guest(std::uint64_t guest_memory, unsigned processors, std::uint64_t most_mappings,
                        bool isolates) {
    const std::uint64_t fewest =
        std::max(fewest_processes, std::uint64_t{fewest_processes_of_processor} * processors);
    const std::uint64_t hosts =
        std::clamp<std::uint64_t>(guest_memory / memory_for_each_process, fewest, process::most_hosts);
    const std::uint64_t processes =
        isolates ? (2 * hosts) + processors : hosts; // and a template for each processor
    const std::uint64_t sides = isolates ? 2 : 1;
    return {.hosts = static_cast<unsigned>(hosts),
            .processes = static_cast<unsigned>(processes),
            .processors = processors,
            .changing = isolates ? processors : 1,
            .page_tables = sides * (page_tables_of_any_guest + (guest_memory / 2)),
            .of_process = bytes_of_process + (most_mappings * bytes_of_mapping),
            // The others are for changes inside a range, which make two more of it.
            .ranges = most_mappings - (most_mappings / 4)};
}

std::uint64_t overhead_of(const GuestBounds& bounds) {
    return bounds.page_tables + (bounds.processes * bounds.of_process);
}

std::uint64_t read_most_mappings() {
    std::ifstream file("/proc/sys/vm/max_map_count");
    std::uint64_t most = 0;
    return file >> most ? most : usual_most_mappings;
}

} // namespace previrt
