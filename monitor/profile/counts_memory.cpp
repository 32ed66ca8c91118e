// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/profile/counts_memory.hpp"

#include "backends/common/contract/doorbells.hpp"
#include "host/input_error.hpp"
#include "previrt/site_kinds.hpp"

#include <atomic>
#include <cstddef>

namespace previrt {

namespace {

// The VMM writes words. `table` is aligned as it is in the VMM.
std::uint64_t word_at(std::span<const std::uint8_t> table, std::size_t offset) {
    const auto* const word =
        reinterpret_cast<const std::uint64_t*>(table.subspan(offset, sizeof(std::uint64_t)).data());
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

} // namespace

CountsMemory::CountsMemory(std::span<const std::uint8_t> table, CallNames calls, KernelMove move)
    : table_(table.first(sizeof(InstructionCounts))), calls_(calls), move_(move) {}

std::uint64_t CountsMemory::link_address(std::uint64_t address) const {
    return address - move_.begin < move_.bytes ? address + move_.distance : address;
}

std::string CountsMemory::kind_of(unsigned cause, unsigned kind) const {
    using namespace monitored;
    switch (static_cast<Cause>(cause)) {
    case Cause::crossing:
        if (kind >= doorbell_of_console && kind < end_of_doorbells) {
            return doorbell_names.at(kind - doorbell_of_console);
        }
        return kind < calls_.size() ? calls_[kind] : "call " + std::to_string(kind);
    case Cause::exception:
        return "vector " + std::to_string(kind);
    default: {
        const SiteKindInfo* const info =
            kind <= 0xff ? find_site_kind(static_cast<std::uint8_t>(kind)) : nullptr;
        return info != nullptr ? info->name : "";
    }
    }
}

void CountsMemory::add(CountedInstructions& counts, std::size_t offset, CountedIn in, unsigned cause) const {
    const InstructionKey key{word_at(table_, offset + offsetof(InstructionRow, key))};
    const std::uint64_t count = word_at(table_, offset + offsetof(InstructionRow, count));
    if (count == 0) {
        return;
    }
    const bool is_kernels = in == CountedIn::kernel;
    cause = is_kernels ? key.cause() : cause;
    if (cause >= cause_count) {
        return; // the guest has written it
    }
    const std::uint64_t cycles = word_at(table_, offset + offsetof(InstructionRow, cycles));
    counts.have_cycles = counts.have_cycles || cycles != 0;
    counts.rows.push_back({.in = in,
                           .address = is_kernels ? link_address(key.address()) : 0,
                           .cause = static_cast<Cause>(cause),
                           .kind = is_kernels ? kind_of(cause, key.kind()) : "",
                           .count = count,
                           .cycles = cycles});
}

CountedInstructions CountsMemory::read() const {
    CountedInstructions counts;
    for (unsigned cause = 0; cause < cause_count; ++cause) {
        const std::size_t of_cause = cause * sizeof(InstructionRow);
        add(counts, offsetof(InstructionCounts, programs) + of_cause, CountedIn::programs, cause);
        add(counts, offsetof(InstructionCounts, elsewhere) + of_cause, CountedIn::elsewhere, cause);
    }
    for (std::size_t i = 0; i < InstructionCounts::row_count; ++i) {
        add(counts, offsetof(InstructionCounts, rows) + (i * sizeof(InstructionRow)), CountedIn::kernel, 0);
    }
    return counts;
}

} // namespace previrt
