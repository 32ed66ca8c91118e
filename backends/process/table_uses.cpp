// SPDX-License-Identifier: BSD-2-Clause
#include "backends/process/table_uses.hpp"

#include "backends/process/domain.hpp"
#include "backends/process/host_ranges.hpp"
#include "backends/process/user_mode/process.hpp"

namespace previrt::process {

namespace {

using backend::TableNumber;

Use* uses; // by table

struct MappedBy {
    std::uint64_t kernel[entries_per_table / 64];
    std::uint64_t user[entries_per_table / 64];

    std::uint64_t& word(Side side, unsigned index) {
        return (side == users_side ? user : kernel)[index / 64];
    }
};
MappedBy* mapped_by; // by table; with --isolate alone

} // namespace

void start_table_uses() {
    uses = reinterpret_cast<Use*>(take_memory(std::uint64_t{memory.table_count} * sizeof(Use)));
    for (TableNumber table = 0; table < memory.table_count; ++table) {
        uses[table] = {};
    }
    if (isolates()) { // all zero, as it comes
        mapped_by =
            reinterpret_cast<MappedBy*>(take_memory(std::uint64_t{memory.table_count} * sizeof(MappedBy)));
    }
}

const Use& use_of(TableNumber table) {
    return uses[table];
}

void note_use(TableNumber table, std::uint64_t address, std::uint32_t forbidden) {
    Use& use = uses[table];
    const std::uint64_t first = address & ~(large_page_size - 1);
    if (!use.is_known() || (!use.is_shared && !is_kernels(use.address) && !use.is_of_present_space())) {
        use = {.address = first, .space = current_host().space, .space_number = current_host().space->number};
    } else if (use.address != first || (use.space != current_host().space && !is_kernels(address))) {
        use.is_shared = true;
    }
    use.forbidden = forbidden;
}

void note_path(TableNumber table) {
    uses[table].is_on_a_path = true;
}

void forget_use(TableNumber table) {
    uses[table] = {};
    if (isolates()) {
        mapped_by[table] = {};
    }
}

bool is_mapped_by(Side side, TableNumber table, unsigned index) {
    return (mapped_by[table].word(side, index) >> (index % 64) & 1U) != 0;
}

void set_mapped_by(Side side, TableNumber table, unsigned index) {
    mapped_by[table].word(side, index) |= std::uint64_t{1} << (index % 64);
}

void clear_mapped_by(Side side, TableNumber table, unsigned index) {
    mapped_by[table].word(side, index) &= ~(std::uint64_t{1} << (index % 64));
}

std::uint8_t sides_of(TableNumber table, unsigned index) {
    if (!isolates()) {
        return kernels_side;
    }
    return (is_mapped_by(kernels_side, table, index) ? kernels_side : 0) |
           (is_mapped_by(users_side, table, index) ? users_side : 0);
}

} // namespace previrt::process
