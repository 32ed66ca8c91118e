// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/profile/profile.hpp"

#include "backends/common/contract/doorbells.hpp"
#include "host/input_error.hpp"
#include "monitor/profile/counts_json.hpp"
#include "monitor/profile/counts_memory.hpp"
#include "monitor/profile/flame_graph.hpp"
#include "monitor/profile/report.hpp"
#include "previrt/site_kinds.hpp"

#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

namespace previrt {

namespace {

constexpr std::uint64_t text = 0xffffffff81000000;
constexpr std::array<const char*, 2> calls = {"map pages", "unmap pages"};

// A VMM's table, in memory that it shares.
class Memory {
public:
    InstructionCounts& counts() { return *counts_; }
    [[nodiscard]] CountsMemory reader(KernelMove move = {}) const {
        return {
            {reinterpret_cast<const std::uint8_t*>(counts_.get()), sizeof(InstructionCounts)}, calls, move};
    }

private:
    std::unique_ptr<InstructionCounts> counts_ = std::make_unique<InstructionCounts>();
};

InstructionRow row(std::uint64_t address, Cause cause, unsigned kind, std::uint64_t count,
                   std::uint64_t cycles = 0) {
    return {.key = InstructionKey::of(address, cause, kind), .count = count, .cycles = cycles};
}

Memory some_counts() {
    Memory memory;
    InstructionCounts& counts = memory.counts();
    counts.rows[7] = row(text + 0x10, Cause::site_call, static_cast<unsigned>(SiteKind::wrmsr), 30, 100);
    counts.rows[9] = row(text + 0x10, Cause::crossing, 1, 5);
    counts.rows[11] = row(text + 0x120, Cause::exception, 6, 2, 900);
    counts.rows[12] = row(text + 0x5000, Cause::crossing, monitored::doorbell_of_disks, 1);
    counts.rows[13] = row(text + 0x5000, Cause::crossing, 77, 1);
    counts.programs[static_cast<std::size_t>(Cause::true_fault)].count = 12;
    counts.elsewhere[static_cast<std::size_t>(Cause::hidden_fault)].count = 3;
    return memory;
}

SymbolFile some_symbols() {
    return {.path = "System.map",
            .symbols =
                KernelSymbols::of_map("System.map", "ffffffff81000000 T <first>\nffffffff81000100 t second\n"
                                                    "ffffffff81000200 T _etext\n")};
}

TEST(CountsMemory, HasTheRowsOfTheTable) {
    const CountedInstructions counts = some_counts().reader().read();
    EXPECT_TRUE(counts.have_cycles);
    const nlohmann::json json = counts_to_json(counts);
    EXPECT_EQ(json.at("instructions"), nlohmann::json::parse(R"([
        {"place": "programs", "cause": "true_fault", "count": 12, "cycles": 0},
        {"place": "elsewhere", "cause": "hidden_fault", "count": 3, "cycles": 0},
        {"address": "0xffffffff81000010", "cause": "site_call", "kind": "wrmsr", "count": 30, "cycles": 100},
        {"address": "0xffffffff81000010", "cause": "crossing", "call": "unmap pages", "count": 5, "cycles": 0},
        {"address": "0xffffffff81000120", "cause": "exception", "vector": "vector 6", "count": 2, "cycles": 900},
        {"address": "0xffffffff81005000", "cause": "crossing", "call": "doorbell of a disk", "count": 1, "cycles": 0},
        {"address": "0xffffffff81005000", "cause": "crossing", "call": "call 77", "count": 1, "cycles": 0}])"))
        << json.dump(1);
}

TEST(CountsMemory, AMovedKernelHasItsLinkAddresses) {
    Memory memory;
    memory.counts().rows[0] = row(0x70000123, Cause::true_fault, 0, 1);
    memory.counts().rows[1] = row(0x78000000, Cause::true_fault, 0, 1);
    const KernelMove move{.begin = 0x70000000, .bytes = 0x8000000, .distance = text - 0x70000000};
    const CountedInstructions counts = memory.reader(move).read();
    EXPECT_EQ(counts.rows.at(0).address, text + 0x123);
    EXPECT_EQ(counts.rows.at(1).address, 0x78000000U);
}

// The guest can write there.
TEST(CountsMemory, AnyMemoryIsRead) {
    std::mt19937_64 random(1); // NOLINT(cert-msc32-c,cert-msc51-cpp): the same run each time
    for (unsigned i = 0; i < 20; ++i) {
        Memory memory;
        auto* const words = reinterpret_cast<std::uint64_t*>(&memory.counts());
        for (std::size_t word = 0; word < sizeof(InstructionCounts) / sizeof(std::uint64_t); ++word) {
            words[word] = random();
        }
        const CountedInstructions counts = memory.reader().read();
        EXPECT_LE(counts.rows.size(), InstructionCounts::row_count + (2 * cause_count));
        const nlohmann::json json = counts_to_json(counts);
        EXPECT_EQ(counts_of_json(nlohmann::json::parse(json.dump())).rows.size(), counts.rows.size());
        const Profile profile = make_profile(counts, some_symbols(), ProfileBy::cycles);
        EXPECT_TRUE(draw_flame_graph(profile, "t").ends_with("</svg>\n"));
    }
}

TEST(CountsJson, SaysTheSameReadAgain) {
    const CountedInstructions counts = some_counts().reader().read();
    const nlohmann::json json = counts_to_json(counts);
    const CountedInstructions again = counts_of_json(json);
    EXPECT_EQ(again.rows.size(), counts.rows.size());
    EXPECT_EQ(again.have_cycles, counts.have_cycles);
    EXPECT_EQ(counts_to_json(again), json);
}

TEST(CountsJson, NumbersThatAVmmPrintsGetNames) {
    const CountedInstructions counts = counts_of_json(nlohmann::json::parse(R"({"instructions": [
        {"address": "0x1", "cause": "crossing", "call": 26, "count": 1},
        {"address": "0x1", "cause": "crossing", "call": 257, "count": 1},
        {"address": "0x1", "cause": "crossing", "call": 4000, "count": 1},
        {"address": "0x1", "cause": "exception", "vector": 6, "count": 1}]})"));
    EXPECT_EQ(counts.rows.at(0).kind, "mmuext_op");
    EXPECT_EQ(counts.rows.at(1).kind, "doorbell of the network");
    EXPECT_EQ(counts.rows.at(2).kind, "call 4000");
    EXPECT_EQ(counts.rows.at(3).kind, "vector 6");
}

TEST(CountsJson, AnotherFormIsRefused) {
    for (const char* const file :
         {R"({})", R"({"instructions": {}})", R"({"instructions": [1]})", R"({"instructions": [{}]})",
          R"({"instructions": [{"cause": "event", "count": 1}]})",
          R"({"instructions": [{"cause": "event", "count": 1, "address": "0xgg"}]})",
          R"({"instructions": [{"cause": "event", "count": 1, "address": "12"}]})",
          R"({"instructions": [{"cause": "event", "count": -1, "address": "0x12"}]})",
          R"({"instructions": [{"cause": "?", "count": 1, "address": "0x12"}]})",
          R"({"instructions": [{"cause": "event", "count": "1", "address": "0x12"}]})",
          R"({"instructions": [], "instructions_left_out": {"rows": 1}})"}) {
        EXPECT_THROW(counts_of_json(nlohmann::json::parse(file)), InputError) << file;
    }
}

TEST(Profile, NamesFunctionsAndSortsByCountOrCycles) {
    const CountedInstructions counts = some_counts().reader().read();
    const Profile by_count = make_profile(counts, some_symbols(), ProfileBy::count);
    EXPECT_EQ(by_count.rows.at(0).instruction(), "<first>+0x10");
    EXPECT_EQ(by_count.rows.at(1).instruction(), "(programs)");
    EXPECT_EQ(by_count.rows.back().instruction(), "0xffffffff81005000");
    const Profile by_cycles = make_profile(counts, some_symbols(), ProfileBy::cycles);
    EXPECT_EQ(by_cycles.rows.at(0).instruction(), "second+0x20");
    EXPECT_EQ(by_cycles.rows.at(1).instruction(), "<first>+0x10");
}

TEST(Profile, TheTableHasSumsRowsAndTheRest) {
    CountedInstructions counts = some_counts().reader().read();
    counts.rows_left_out = 4;
    counts.counts_left_out = 99;
    std::ostringstream output;
    print_profile(output, make_profile(counts, some_symbols(), ProfileBy::count), 3);
    const std::string table = output.str();
    EXPECT_NE(
        table.find("30            100   55.6 %  site_call      wrmsr                       <first>+0x10"),
        std::string::npos)
        << table;
    EXPECT_NE(table.find("4 further rows"), std::string::npos) << table;
    EXPECT_NE(table.find("left out 4 rows with 99 counts"), std::string::npos) << table;
}

TEST(Profile, JsonHasEveryRow) {
    const Profile profile = make_profile(some_counts().reader().read(), some_symbols(), ProfileBy::count);
    const nlohmann::json json = nlohmann::json::parse(profile_to_json(profile, "System.map").dump());
    EXPECT_EQ(json.at("rows").size(), 7U);
    EXPECT_EQ(json.at("rows").at(0), nlohmann::json::parse(R"({"cause": "site_call", "kind": "wrmsr",
        "address": "0xffffffff81000010", "function": "<first>", "offset": 16, "count": 30, "cycles": 100})"));
    EXPECT_EQ(json.at("causes").at("crossing").at("count"), 7);
    EXPECT_EQ(json.at("symbols"), "System.map");
}

TEST(Profile, FoldedStacksHaveThreeFramesAndAValue) {
    const Profile profile = make_profile(some_counts().reader().read(), some_symbols(), ProfileBy::count);
    std::istringstream lines(folded_stacks(profile));
    std::string line;
    std::getline(lines, line);
    EXPECT_EQ(line, "site_call;<first>;<first>+0x10 (wrmsr) 30");
    std::uint64_t sum = 30;
    while (std::getline(lines, line)) {
        EXPECT_EQ(std::ranges::count(line, ';'), 2) << line;
        sum += std::stoull(line.substr(line.rfind(' ') + 1));
    }
    EXPECT_EQ(sum, 54U);
}

TEST(FlameGraph, ShowsEachFrameAndEscapesNames) {
    const Profile profile = make_profile(some_counts().reader().read(), some_symbols(), ProfileBy::count);
    const std::string svg = draw_flame_graph(profile, "a & b");
    EXPECT_NE(svg.find("<title>a &amp; b</title>"), std::string::npos);
    EXPECT_NE(svg.find("<title>&lt;first&gt;: 30 times</title>"), std::string::npos);
    EXPECT_NE(svg.find("<title>all: 54 times</title>"), std::string::npos);
    EXPECT_EQ(svg.find("<first>"), std::string::npos);
    // Nothing was counted.
    EXPECT_TRUE(draw_flame_graph(Profile{}, "empty").ends_with("</svg>\n"));
}

} // namespace

} // namespace previrt
