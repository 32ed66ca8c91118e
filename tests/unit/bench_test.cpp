// SPDX-License-Identifier: BSD-2-Clause
#include "bench/measured_place.hpp"
#include "bench/spread.hpp"
#include "bench/timed_program.hpp"
#include "toolchain/image/input_error.hpp"

#include <gtest/gtest.h>

namespace previrt {
namespace {

using namespace std::chrono_literals;

Program shell(const std::string& script) {
    return {.arguments = {"sh", "-c", script}, .directory = {}, .environment = {}};
}

MeasuredPlace place_that_prints(const std::string& script) {
    return {.measure = [=](const Settings&) { return shell(script); }, .launch = {}};
}

std::string why_not_measured(const std::string& script) {
    try {
        measure_place(place_that_prints(script), {.samples = 1, .sample_microseconds = 1});
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

TEST(Spread, QuartilesLieBetweenSamples) {
    const Spread spread = spread_of({4, 1, 3, 2, 5, 6});
    EXPECT_DOUBLE_EQ(spread.median, 3.5);
    EXPECT_DOUBLE_EQ(spread.lower_quartile, 2.25);
    EXPECT_DOUBLE_EQ(spread.upper_quartile, 4.75);
    EXPECT_DOUBLE_EQ(spread.least, 1);
    EXPECT_DOUBLE_EQ(spread.most, 6);
    EXPECT_DOUBLE_EQ(spread_of({7}).upper_quartile, 7);
}

TEST(TimedProgram, HandsOnLinesWithTheirTime) {
    std::vector<std::string> lines;
    std::chrono::nanoseconds last{};
    const TimedEnd end = run_timed(shell("echo one; sleep 0.2; echo two >&2; exit 3"), 20s,
                                   [&](std::string_view line, std::chrono::nanoseconds since_start) {
                                       lines.emplace_back(line);
                                       last = since_start;
                                   });
    EXPECT_EQ(lines, (std::vector<std::string>{"one", "two"}));
    EXPECT_GE(last, 200ms);
    EXPECT_EQ(end.status, 3);
    EXPECT_FALSE(end.timed_out);
    EXPECT_EQ(end.last_lines, "one\ntwo\n");
}

TEST(TimedProgram, EndsWhatTakesTooLong) {
    const TimedEnd end =
        run_timed(shell("exec sleep 100"), 1s, [](std::string_view, std::chrono::nanoseconds) {});
    EXPECT_TRUE(end.timed_out);
    EXPECT_EQ(end.status, 128 + SIGTERM);
}

TEST(MeasuredPlace, ReadsClocksAndSamples) {
    const PlaceTimes times = measure_place(
        place_that_prints(
            "echo kernel of a test; echo clock begins; sleep 0.2; echo clock ended 200000000 5000; "
            "echo sample one 5; echo sample two 10; echo sample one 10; echo sample two 20"),
        {.samples = 2, .sample_microseconds = 1});
    EXPECT_EQ(times.kernel, "of a test");
    EXPECT_EQ(times.ticks, 5000);
    EXPECT_EQ(times.nanoseconds, 200'000'000);
    EXPECT_GE(times.our_nanoseconds, 200'000'000);
    ASSERT_EQ(times.operations.size(), 2U);
    EXPECT_EQ(times.operations[1].operation, "two");
    EXPECT_EQ(times.operations[1].values, (std::vector<double>{10, 20}));
}

TEST(MeasuredPlace, BelievesNoWrongClock) {
    PlaceTimes host{};
    host.ticks = host.nanoseconds = 1e9;
    PlaceTimes times{};
    times.ticks = 1e9;
    times.our_nanoseconds = 0.9e9;
    EXPECT_THROW(check_ticks(times, host), InputError);
    times.our_nanoseconds = 1.01e9;
    EXPECT_NO_THROW(check_ticks(times, host));
}

TEST(MeasuredPlace, TellsWhatTheProgramSaidLast) {
    const std::string why = why_not_measured("echo it is broken; exit 4");
    EXPECT_NE(why.find("status 4"), std::string::npos) << why;
    EXPECT_NE(why.find("it is broken"), std::string::npos) << why;
}

} // namespace
} // namespace previrt
