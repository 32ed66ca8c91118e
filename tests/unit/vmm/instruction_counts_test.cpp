// SPDX-License-Identifier: BSD-2-Clause
#include "inplace-vmm/instruction_counts.hpp"

#include "inplace-vmm/print.hpp"
#include "previrt/site_kinds.hpp"
#include "tests/unit/vmm/fake_backend.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <random>
#include <span>

namespace previrt {

namespace {

constexpr std::uint64_t kernel_text = 0xffffffff81000000;

class InstructionTable : public testing::Test {
protected:
    InstructionTable() {
        std::ranges::fill(instruction_counts.rows, InstructionRow{});
        std::ranges::fill(instruction_counts.programs, InstructionRow{});
        std::ranges::fill(instruction_counts.elsewhere, InstructionRow{});
        instruction_entry = {
            .row = &instruction_counts.elsewhere[0], .address = address_of_programs, .began = 0};
        cycles_are_wanted = false;
    }
    ~InstructionTable() override { cycles_are_wanted = false; }

    static std::uint64_t sum_of(std::span<const InstructionRow> rows) {
        std::uint64_t sum = 0;
        for (const InstructionRow& row : rows) {
            sum += row.count;
        }
        return sum;
    }
    static std::uint64_t sum() {
        return sum_of(instruction_counts.rows) + sum_of(instruction_counts.programs) +
               sum_of(instruction_counts.elsewhere);
    }
    static nlohmann::json printed() {
        fake::host.console.clear();
        {
            Print print;
            print << "{\"instructions\":";
            print_instruction_counts(print);
            print << '}';
        }
        return nlohmann::json::parse(fake::host.console);
    }
    static void count(std::uint64_t address, Cause cause, unsigned kind = 0) {
        begin_entry(address);
        count_entry(cause, kind);
        end_cycles();
    }
};

TEST_F(InstructionTable, AKeyHoldsAddressCauseAndKind) {
    for (const std::uint64_t address :
         {std::uint64_t{0}, std::uint64_t{0x70000123}, kernel_text + 5, ~std::uint64_t{0},
          std::uint64_t{0x7fffffffffff}, std::uint64_t{0xffff800000000000}}) {
        for (std::size_t cause = 1; cause < cause_count; ++cause) {
            const InstructionKey key = InstructionKey::of(address, static_cast<Cause>(cause), 0xabc);
            EXPECT_NE(key.bits, 0U);
            EXPECT_EQ(key.address(), address);
            EXPECT_EQ(key.cause(), cause);
            EXPECT_EQ(key.kind(), 0xabcU);
        }
    }
}

TEST_F(InstructionTable, EachCauseAndKindOfAnAddressHasARow) {
    for (unsigned i = 0; i < 3; ++i) {
        count(kernel_text, Cause::site_call, 1);
        count(kernel_text, Cause::site_call, 2);
        count(kernel_text, Cause::true_fault);
        count(kernel_text + 1, Cause::true_fault);
    }
    for (InstructionRow* const row : {&row_of_instruction(kernel_text, Cause::site_call, 1),
                                      &row_of_instruction(kernel_text, Cause::site_call, 2),
                                      &row_of_instruction(kernel_text, Cause::true_fault),
                                      &row_of_instruction(kernel_text + 1, Cause::true_fault)}) {
        EXPECT_EQ(row->count, 3U);
    }
    EXPECT_EQ(sum(), 12U);
}

TEST_F(InstructionTable, ProgramsHaveOneRowACause) {
    for (unsigned i = 0; i < 1000; ++i) {
        count(address_of_programs, Cause::true_fault, i);
    }
    EXPECT_EQ(instruction_counts.programs[static_cast<std::size_t>(Cause::true_fault)].count, 1000U);
    EXPECT_EQ(sum_of(instruction_counts.rows), 0U);
}

TEST_F(InstructionTable, AFullTableCountsElsewhere) {
    constexpr unsigned addresses = 3 * InstructionCounts::row_count;
    for (unsigned i = 0; i < addresses; ++i) {
        count(kernel_text + i, Cause::hidden_fault);
    }
    const std::uint64_t elsewhere =
        instruction_counts.elsewhere[static_cast<std::size_t>(Cause::hidden_fault)].count;
    EXPECT_GE(elsewhere, addresses - InstructionCounts::row_count);
    EXPECT_EQ(sum(), addresses);
    // The rows of the table go on counting.
    const std::uint64_t first = row_of_instruction(kernel_text, Cause::hidden_fault).count;
    count(kernel_text, Cause::hidden_fault);
    EXPECT_EQ(row_of_instruction(kernel_text, Cause::hidden_fault).count, first + 1);
}

// A guest that knows the hash chooses addresses whose rows begin at one place.
TEST_F(InstructionTable, CollisionsAreBounded) {
    constexpr std::uint64_t inverse_of_multiplier = 0xf1de83e19937733d;
    static_assert(inverse_of_multiplier * 0x9e3779b97f4a7c15 == 1);
    constexpr std::uint64_t place = std::uint64_t{100} << 52U;
    constexpr unsigned wanted = 1000;
    unsigned counted = 0;
    for (std::uint64_t low = 0; counted < wanted; ++low) {
        const InstructionKey key{(place | low) * inverse_of_multiplier};
        if (key.cause() == static_cast<unsigned>(Cause::trap)) {
            count(key.address(), Cause::trap, key.kind());
            ++counted;
        }
    }
    const auto taken = std::ranges::count_if(instruction_counts.rows,
                                             [](const InstructionRow& row) { return row.count != 0; });
    EXPECT_EQ(taken, InstructionCounts::most_probes);
    EXPECT_EQ(instruction_counts.elsewhere[static_cast<std::size_t>(Cause::trap)].count,
              wanted - InstructionCounts::most_probes);
}

TEST_F(InstructionTable, AnyAddressIsCountedOnce) {
    std::mt19937_64 random(1); // NOLINT(cert-msc32-c,cert-msc51-cpp): the same run each time
    constexpr unsigned entries = 200'000;
    for (unsigned i = 0; i < entries; ++i) {
        std::uint64_t address = random();
        address = i % 3 == 0 ? address : kernel_text + (address % 8192);
        count(address == address_of_programs ? 0 : address,
              static_cast<Cause>(1 + (random() % (cause_count - 1))), static_cast<unsigned>(random() % 5000));
    }
    EXPECT_EQ(sum(), entries);
}

TEST_F(InstructionTable, CrossingsBelongToTheEntry) {
    count_crossing(3);
    EXPECT_EQ(instruction_counts.elsewhere[static_cast<std::size_t>(Cause::crossing)].count, 1U);
    begin_entry(kernel_text);
    count_crossing(3);
    count_entry(Cause::true_fault);
    count_crossing(3);
    count_crossing(0x101);
    begin_entry(address_of_programs);
    count_crossing(3);
    count_entry(Cause::true_fault);
    count_crossing(3);
    EXPECT_EQ(row_of_instruction(kernel_text, Cause::crossing, 3).count, 2U);
    EXPECT_EQ(row_of_instruction(kernel_text, Cause::crossing, 0x101).count, 1U);
    EXPECT_EQ(instruction_counts.programs[static_cast<std::size_t>(Cause::crossing)].count, 2U);
}

TEST_F(InstructionTable, CyclesAreCountedOnlyIfWanted) {
    count(kernel_text, Cause::event);
    EXPECT_EQ(row_of_instruction(kernel_text, Cause::event).cycles, 0U);
    cycles_are_wanted = true;
    count(kernel_text, Cause::event);
    EXPECT_GT(row_of_instruction(kernel_text, Cause::event).cycles, 0U);
    EXPECT_EQ(printed().at("instructions").at(0).at("cycles"),
              row_of_instruction(kernel_text, Cause::event).cycles);
    // An entry that nobody counted is lost for no other row.
    const std::uint64_t before = row_of_instruction(kernel_text, Cause::event).cycles;
    begin_entry(kernel_text);
    end_cycles();
    EXPECT_EQ(row_of_instruction(kernel_text, Cause::event).cycles, before);
}

TEST_F(InstructionTable, PrintsTheLargestFirst) {
    for (unsigned i = 0; i < 1000; ++i) {
        for (unsigned times = 0; times <= i % 500; ++times) {
            count(kernel_text + i, Cause::site_call, static_cast<unsigned>(SiteKind::wrmsr));
        }
    }
    count(address_of_programs, Cause::system_call);
    count_elsewhere(Cause::port_access);
    const nlohmann::json json = printed();
    const nlohmann::json& rows = json.at("instructions");
    EXPECT_EQ(rows.at(0), nlohmann::json({{"place", "programs"}, {"cause", "system_call"}, {"count", 1}}));
    EXPECT_EQ(rows.at(1), nlohmann::json({{"place", "elsewhere"}, {"cause", "port_access"}, {"count", 1}}));
    EXPECT_EQ(rows.at(2).at("count"), 500);
    EXPECT_EQ(rows.at(2).at("kind"), "wrmsr");
    std::uint64_t sum_of_printed = 0;
    for (std::size_t i = 2; i < rows.size(); ++i) {
        sum_of_printed += rows.at(i).at("count").get<std::uint64_t>();
        EXPECT_TRUE(i == 2 || rows.at(i).at("count") <= rows.at(i - 1).at("count"));
    }
    EXPECT_EQ(json.at("instructions_left_out").at("rows"), 1000 - (rows.size() - 2));
    EXPECT_EQ(json.at("instructions_left_out").at("count").get<std::uint64_t>() + sum_of_printed,
              sum_of(instruction_counts.rows));
}

// A monitor cuts longer lines (monitor/console/line_sieve.cpp).
TEST_F(InstructionTable, TheLongestListFitsALine) {
    cycles_are_wanted = true;
    constexpr std::uint64_t most = ~std::uint64_t{0};
    for (unsigned i = 0; i < InstructionCounts::row_count; ++i) {
        InstructionRow& row =
            row_of_instruction(~std::uint64_t{0} - i, Cause::device_access,
                               static_cast<unsigned>(SiteKind::page_table_compare_exchange));
        row.count = row.cycles = most;
    }
    for (std::size_t i = 0; i < cause_count; ++i) {
        instruction_counts.programs[i] =
            instruction_counts.elsewhere[i] = {.key = {}, .count = most, .cycles = most};
    }
    const std::size_t rows = printed().at("instructions").size();
    EXPECT_EQ(rows, 256 + (2 * cause_count));
    constexpr std::size_t longest = 50'000; // of 65536, the rest of which is the other counters'
    EXPECT_LT(fake::host.console.size(), longest);
}

} // namespace

} // namespace previrt
