// SPDX-License-Identifier: BSD-2-Clause
#include "inplace-vmm/instruction_counts.hpp"

#include "inplace-vmm/print.hpp"
#include "previrt/site_kinds.hpp"

#include <iterator>
#include <span>

namespace previrt {

[[gnu::section(".bss.cache")]] InstructionCounts instruction_counts;
[[gnu::section(".bss.cache")]] bool cycles_are_wanted;

// Until the first entry, there is no instruction.
[[gnu::section("processor")]] constinit InstructionEntry instruction_entry = {
    .row = &instruction_counts.elsewhere[0], .address = address_of_programs, .began = 0};

namespace {

std::size_t place_of(InstructionKey key) {
    constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15;
    constexpr unsigned bits = __builtin_ctzll(InstructionCounts::row_count);
    return (key.bits * golden_ratio) >> (64 - bits);
}

[[gnu::noinline]] InstructionRow& find_or_make_row(InstructionKey key, Cause cause) {
    const std::size_t place = place_of(key);
    for (unsigned i = 0; i < InstructionCounts::most_probes; ++i) {
        InstructionRow& row = instruction_counts.rows[(place + i) % InstructionCounts::row_count];
        if (row.key.bits == 0) {
            row.key = key;
        }
        if (row.key.bits == key.bits) {
            return row;
        }
    }
    return instruction_counts.elsewhere[static_cast<std::size_t>(cause)];
}

InstructionRow& row_of_key(InstructionKey key, Cause cause) {
    InstructionRow& first = instruction_counts.rows[place_of(key)];
    return first.key.bits == key.bits ? first : find_or_make_row(key, cause);
}

} // namespace

InstructionRow& row_of_instruction(std::uint64_t address, Cause cause, unsigned kind) {
    return address == address_of_programs ? instruction_counts.programs[static_cast<std::size_t>(cause)]
                                          : row_of_key(InstructionKey::of(address, cause, kind), cause);
}

[[gnu::noinline, gnu::cold]] void add_cycles() {
    InstructionRow& row = entry_is_counted() ? *instruction_entry.row : instruction_counts.elsewhere[0];
    row.cycles += processor::read_time_stamp() - instruction_entry.began;
}

namespace {

// The entry is not counted yet, or has a row without an address.
[[gnu::noinline]] void count_other_crossing(unsigned number) {
    const InstructionRow* const row = instruction_entry.row;
    if (row >= std::begin(instruction_counts.elsewhere) && row < std::end(instruction_counts.elsewhere)) {
        count_elsewhere(Cause::crossing);
    } else {
        const std::uint64_t address = row != nullptr ? address_of_programs : instruction_entry.address;
        ++row_of_instruction(address, Cause::crossing, number).count;
    }
}

} // namespace

[[gnu::noinline]] void count_crossing(unsigned number) {
    const InstructionRow* const row = instruction_entry.row;
    if (row != nullptr && row->key.bits != 0) {
        ++row_of_key(row->key.with(Cause::crossing, number), Cause::crossing).count;
    } else {
        count_other_crossing(number);
    }
}

void count_elsewhere(Cause cause) {
    ++instruction_counts.elsewhere[static_cast<std::size_t>(cause)].count;
}

namespace {

// A serial line takes a minute for all rows.
constexpr std::size_t most_printed = 256;

using Rows = std::span<const InstructionRow>;

// In the order of their printing: the rows of a table, by count and then by address in memory.
bool is_before(const InstructionRow& row, const InstructionRow& other) {
    return row.count != other.count ? row.count > other.count : &row < &other;
}

const InstructionRow* next_row(Rows rows, const InstructionRow* last) {
    const InstructionRow* next = nullptr;
    for (const InstructionRow& row : rows) {
        if (row.count != 0 && (last == nullptr || is_before(*last, row)) &&
            (next == nullptr || is_before(row, *next))) {
            next = &row;
        }
    }
    return next;
}

class RowList {
public:
    explicit RowList(Print& print) : print_(print) {}

    template <typename PrintPlace>
    void add(const InstructionRow& row, Cause cause, const PrintPlace& print_place) {
        print_ << (first_ ? "{" : ",{");
        first_ = false;
        print_place();
        print_ << R"(,"cause":")" << cause_names[static_cast<std::size_t>(cause)] << '"';
        if (row.key.bits != 0) {
            print_kind(cause, row.key.kind());
        }
        print_ << R"(,"count":)" << row.count;
        if (cycles_are_wanted) {
            print_ << R"(,"cycles":)" << row.cycles;
        }
        print_ << '}';
    }

private:
    void print_kind(Cause cause, unsigned kind) {
        const SiteKindInfo* const info =
            kind <= 0xff ? find_site_kind(static_cast<std::uint8_t>(kind)) : nullptr;
        if (cause == Cause::crossing) {
            print_ << R"(,"call":)" << kind;
        } else if (cause == Cause::exception) {
            print_ << R"(,"vector":)" << kind;
        } else if (info != nullptr) {
            print_ << R"(,"kind":")" << info->name << '"';
        }
    }

    Print& print_;
    bool first_ = true;
};

void print_of_causes(Print& print, RowList& list, Rows rows, const char* place) {
    for (std::size_t i = 0; i < cause_count; ++i) {
        if (rows[i].count != 0) {
            list.add(rows[i], static_cast<Cause>(i), [&] { print << R"("place":")" << place << '"'; });
        }
    }
}

} // namespace

[[gnu::noinline, gnu::cold]] void print_instruction_counts(Print& print) {
    const Rows rows = instruction_counts.rows;
    print << '[';
    RowList list(print);
    print_of_causes(print, list, instruction_counts.programs, "programs");
    print_of_causes(print, list, instruction_counts.elsewhere, "elsewhere");
    const InstructionRow* row = nullptr;
    for (std::size_t i = 0; i < most_printed; ++i) {
        const InstructionRow* const next = next_row(rows, row);
        if (next == nullptr) {
            break;
        }
        row = next;
        list.add(*row, static_cast<Cause>(row->key.cause()),
                 [&] { print << R"("address":"0x)" << Hex{row->key.address()} << '"'; });
    }
    print << ']';
    std::uint64_t left_out = 0;
    std::uint64_t counts_left_out = 0;
    for (const InstructionRow& other : rows) {
        if (row != nullptr && other.count != 0 && is_before(*row, other)) {
            ++left_out;
            counts_left_out += other.count;
        }
    }
    print << R"(,"instructions_left_out":{"rows":)" << left_out << R"(,"count":)" << counts_left_out << '}';
}

} // namespace previrt
