// SPDX-License-Identifier: BSD-2-Clause
#include "bench/files/rows.hpp"
#include "bench/idle/guest.hpp"
#include "bench/idle/process_table.hpp"
#include "bench/measured_place.hpp"
#include "bench/measuring_processor.hpp"
#include "bench/network/processor_meter.hpp"
#include "bench/peers/gvisor.hpp"
#include "bench/place_bench.hpp"
#include "bench/processors/rows.hpp"
#include "bench/programs/times.hpp"
#include "bench/results/spread.hpp"
#include "bench/timed_program.hpp"
#include "host/file.hpp"
#include "host/input_error.hpp"
#include "host/temporary_directory.hpp"
#include "tests/machine/machine.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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
    const auto began = std::chrono::steady_clock::now();
    const PlaceTimes times = measure_place(
        place_that_prints(
            "echo kernel of a test; echo clock begins; sleep 0.2; echo clock ended 200000000 5000; "
            "echo sample one 5; echo sample two 10; echo sample one 10; echo sample two 20"),
        {.samples = 2, .sample_microseconds = 1});
    EXPECT_EQ(times.kernel, "of a test");
    EXPECT_EQ(times.ticks, 5000);
    EXPECT_EQ(times.nanoseconds, 200'000'000);
    // A busy machine may let this process read the first line late.
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
    EXPECT_GT(times.our_nanoseconds, 0);
    EXPECT_LT(times.our_nanoseconds, took.count());
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

std::string why_refused(const std::vector<std::string>& columns) {
    PlaceBenchOptions options;
    options.columns = columns;
    try {
        bench_places("of a test", options, std::vector{native_column(), previrt_column("kvm --isolate", {})});
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

TEST(PlaceBench, NamesTheColumnsThereAre) {
    EXPECT_EQ(why_refused({"kvm"}), "--columns: 'kvm' is none of native, kvm --isolate");
}

TEST(Gvisor, RunsOneProgramWithWhatIsInMemory) {
    const TemporaryDirectory directory;
    const Program run = gvisor("/cache/runsc", "/bin/true", {{"samples", "3"}}, directory.path());
    const std::string bundle = directory.path() + "/gvisor";
    EXPECT_EQ(run.arguments.front(), "/cache/runsc");
    EXPECT_NE(std::ranges::find(run.arguments, "--platform=systrap"), run.arguments.end());
    EXPECT_NE(std::ranges::find(run.arguments, bundle), run.arguments.end());
    EXPECT_EQ(std::ranges::find(run.arguments, "--rootless") == run.arguments.end(), geteuid() == 0);
    EXPECT_EQ(read_file(bundle + "/root/program"), read_file("/bin/true"));
    const auto configuration = nlohmann::json::parse(read_text(bundle + "/config.json"));
    EXPECT_EQ(configuration["process"]["args"], nlohmann::json::array({"/program"}));
    EXPECT_EQ(configuration["process"]["env"], nlohmann::json::array({"samples=3"}));
    EXPECT_EQ(configuration["root"]["readonly"], true);
    EXPECT_EQ(configuration["mounts"][1]["destination"], "/dev/shm");
    EXPECT_EQ(configuration["mounts"][1]["type"], "tmpfs");
}

TEST(Gvisor, LeavesNothingOfTheRunBefore) {
    const TemporaryDirectory directory;
    gvisor("/cache/runsc", "/bin/true", {}, directory.path());
    write_text(directory.path() + "/gvisor/left", "");
    gvisor("/cache/runsc", "/bin/false", {}, directory.path());
    EXPECT_FALSE(std::filesystem::exists(directory.path() + "/gvisor/left"));
    EXPECT_EQ(read_file(directory.path() + "/gvisor/root/program"), read_file("/bin/false"));
}

TEST(Gvisor, WritesToATreeInMemoryAlone) {
    const TemporaryDirectory directory;
    const Program run = gvisor_tree("/cache/runsc", "/tree", "/init", {}, directory.path());
    EXPECT_NE(std::ranges::find(run.arguments, "--overlay2=root:memory"), run.arguments.end());
    const auto configuration = nlohmann::json::parse(read_text(directory.path() + "/gvisor/config.json"));
    EXPECT_EQ(configuration["process"]["args"], nlohmann::json::array({"/init"}));
    EXPECT_EQ(configuration["root"]["path"], "/tree");
    EXPECT_EQ(configuration["root"]["readonly"], false);
}

std::string why_no_times(const ProgramTimesReader& reader, const std::vector<std::string>& names) {
    try {
        static_cast<void>(reader.require(names, "the last line"));
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

TEST(ProgramTimes, AreBetweenTheLinesOfAProgram) {
    ProgramTimesReader reader;
    reader.read_line("Linux boots", 1s);
    reader.read_line("program begins git", 2s);
    reader.read_line("program ended sqlite 0", 3s);
    reader.read_line("program ended git 0", 5s);
    reader.read_line("program ended git 0", 6s);
    const std::vector<ProgramTime>& times = reader.require({"git"}, "");
    ASSERT_EQ(times.size(), 1U);
    EXPECT_EQ(times[0].name, "git");
    EXPECT_EQ(times[0].took, 3s);
}

TEST(ProgramTimes, NoneOfAProgramThatFailsOrDoesNotEnd) {
    ProgramTimesReader reader;
    reader.read_line("program begins git", 1s);
    reader.read_line("program ended git 7", 2s);
    reader.read_line("program begins redis", 3s);
    EXPECT_EQ(why_no_times(reader, {"git"}), "git failed with status 7; the last lines:\nthe last line");
    EXPECT_EQ(why_no_times(reader, {"redis"}),
              "redis did not come to an end; the last lines:\nthe last line");
}

TEST(FilesRows, AreTransfersOrWholePrograms) {
    auto used = 100ns;
    FilesRowsReader reader([&] { return used; });
    reader.read_line("files begins read_4k_depth_32");
    reader.read_line("files moved 8192 2000 0 0");
    used = 2148ns;
    reader.read_line("files ended read_4k_depth_32 0");
    reader.read_line("files begins write_1_MiB");
    reader.read_line("files moved 0 0 8192 2000");
    reader.read_line("files ended write_1_MiB 0");
    reader.read_line("files begins untar");
    used = 2150ns;
    reader.read_line("files took 3000000000");
    reader.read_line("files ended untar 0");
    EXPECT_NO_THROW(reader.require({"read_4k_depth_32", "write_1_MiB", "untar"}, ""));
    ASSERT_EQ(reader.done().size(), 3U);
    EXPECT_DOUBLE_EQ(reader.done()[0].nanoseconds, 2e9 / 2048);
    EXPECT_DOUBLE_EQ(reader.done()[0].processor_nanoseconds, 1);
    EXPECT_DOUBLE_EQ(reader.done()[1].nanoseconds, 2e9 / 8);
    EXPECT_EQ(reader.done()[2].name, "untar");
    EXPECT_DOUBLE_EQ(reader.done()[2].nanoseconds, 3e9);
    EXPECT_DOUBLE_EQ(reader.done()[2].processor_nanoseconds, 2);
}

TEST(FilesRows, SayWhichFailedAndWhichIsMissing) {
    FilesRowsReader reader([] { return 0ns; });
    reader.read_line("files begins find");
    reader.read_line("files ended git_status 0");
    reader.read_line("files ended find 3");
    reader.read_line("files begins untar");
    EXPECT_TRUE(reader.done().empty());
    EXPECT_EQ(reader.failed(), (std::map<std::string, int>{{"find", 3}}));
    EXPECT_NO_THROW(reader.require({"find"}, ""));
    EXPECT_THROW(reader.require({"find", "untar"}, ""), InputError);
    reader.read_line("files took 0");
    reader.read_line("files ended untar 0"); // in no time
    EXPECT_THROW(reader.require({"find", "untar"}, ""), InputError);
}

TEST(ProcessorRows, AreWhatThePlaceMeasured) {
    ProcessorRowsReader reader;
    reader.read_line("Running in process mode");
    reader.read_line("processors count 2");
    reader.read_line("processors row compute 1500.5");
    reader.read_line("processors row membarrier 0");
    reader.read_line("processors failed hackbench 1");
    EXPECT_NO_THROW(reader.require({"compute", "hackbench"}, 2, ""));
    EXPECT_EQ(reader.done(), (std::map<std::string, double>{{"compute", 1500.5}}));
    EXPECT_EQ(reader.failed(), (std::map<std::string, int>{{"hackbench", 1}}));
    EXPECT_THROW(reader.require({"compute", "membarrier"}, 2, ""), InputError);
}

TEST(ProcessorRows, OfAnotherNumberOfProcessorsAreRefused) {
    ProcessorRowsReader reader;
    reader.read_line("processors count 1");
    reader.read_line("processors row compute 1500.5");
    EXPECT_THROW(reader.require({"compute"}, 2, ""), InputError);
}

TEST(LimitedTo, AProgramHasSoManyProcessors) {
    const ProgramOutput output = read_program(limited_to(1, shell("nproc")));
    EXPECT_EQ(output.text, "1\n");
    EXPECT_THROW(limited_to(100000, shell("nproc")), InputError);
}

TEST(IdleGuest, IsUpOnceItSaysSoAndEndsWithIt) {
    pid_t process = 0;
    {
        IdleGuest guest(shell("echo first; sleep 0.2; echo here I am; exec sleep 100"), "here I am");
        while (!guest.is_up()) {
            guest.read_output();
        }
        EXPECT_GE(guest.took(), 200ms);
        EXPECT_NO_THROW(guest.require_running());
        process = guest.process();
    }
    EXPECT_EQ(kill(process, 0), -1);
}

TEST(IdleGuest, TellsWhatItSaidWhereItEnds) {
    IdleGuest guest(shell("echo it is broken; exit 4"), "up");
    try {
        for (;;) {
            guest.read_output();
        }
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("it is broken"), std::string::npos) << error.what();
    }
    EXPECT_FALSE(guest.is_up());
}

constexpr pid_t no_process = 1 << 22; // Linux's numbers are below

TEST(ProcessTable, KnowsWhoDescendsFromWhom) {
    IdleGuest parent(shell("sh -c 'echo up; exec sleep 100' & wait"), "up");
    parent.read_output();
    const ProcessTable table;
    const std::vector<pid_t> family = table.family_of(parent.process());
    EXPECT_EQ(family.front(), parent.process());
    EXPECT_GE(family.size(), 2U);
    EXPECT_EQ(std::ranges::find(family, getpid()), family.end());
    const std::vector<pid_t> ours = table.family_of(getpid());
    for (const pid_t process : family) {
        EXPECT_NE(std::ranges::find(ours, process), ours.end()) << process;
    }
    for (const pid_t process : family) {
        kill(process, SIGKILL); // the parent would leave the others
    }
}

TEST(ProcessTable, AddsUpProcessorTime) {
    const auto before = processor_time(getpid());
    const auto begin = std::chrono::steady_clock::now();
    while (processor_time(getpid()) - before < 50ms) {
        ASSERT_LT(std::chrono::steady_clock::now() - begin, 20s);
    }
    EXPECT_EQ(processor_time(no_process), 0ns);
}

// Of programs that have little else: what this one has of its files' memory changes as others that run it
// come and go.
TEST(ProcessTable, CountsMemoryThatIsThere) {
    constexpr std::uint64_t block = 64U << 20U;
    IdleGuest small(shell("echo up; exec sleep 100"), "up");
    IdleGuest large(shell("sleep 100 & trap \"kill $!; exit\" TERM; block=$(head -c " +
                          std::to_string(block) + " /dev/zero | tr '\\0' a); echo up; wait"),
                    "up");
    small.read_output();
    large.read_output();
    EXPECT_GE(memory_use(large.process()).pages.value(), block);
    EXPECT_LT(memory_use(small.process()).pages.value(), block / 2);
    EXPECT_GT(memory_use(small.process()).page_tables, 0U);
    EXPECT_GT(available_memory(), 0U);
    EXPECT_THROW(memory_use(no_process), InputError);
}

// The clocks of the processes themselves would fall at an end, by all that it used.
TEST(ProcessorMeter, CountsWhatHasEnded) {
    if (const std::string lacks = machine::what_lacks("perf-events"); !lacks.empty()) {
        GTEST_SKIP() << lacks;
    }
    const ProcessorMeter meter;
    EXPECT_EQ(meter.used(), 0ns);
    std::vector<std::chrono::nanoseconds> used;
    // It starts a process that computes for a while, and waits for its end.
    run_timed(
        shell(
            "for i in 1 2 3; do sh -c 'i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done'; echo ended; done"),
        60s, [&](std::string_view, std::chrono::nanoseconds) { used.push_back(meter.used()); });
    ASSERT_EQ(used.size(), 3U);
    EXPECT_GT(used[0], 0ns);
    EXPECT_GT(used[1], used[0]);
    EXPECT_GT(used[2], used[1]);
    EXPECT_GE(meter.used(), used[2]);
}

TEST(ProcessorMeter, LeavesOutUsAndWhatRanBefore) {
    IdleGuest before(shell("echo up; while :; do :; done"), "up");
    before.read_output();
    if (const std::string lacks = machine::what_lacks("perf-events"); !lacks.empty()) {
        GTEST_SKIP() << lacks;
    }
    const ProcessorMeter meter;
    const auto begin = processor_time(getpid());
    while (processor_time(getpid()) - begin < 20ms) {
    }
    EXPECT_EQ(meter.used(), 0ns);
}

// As guests' processes do, which only root, or who made their user namespace, looks into.
TEST(ProcessTable, MemoryMayBeKeptFromUs) {
    const pid_t user = fork();
    if (user == 0) {
        constexpr uid_t nobody = 65534;
        const bool is_user = geteuid() != 0 || setresuid(nobody, nobody, nobody) == 0;
        int hides[2];
        const bool has_pipe = pipe(hides) == 0;
        const pid_t hidden = is_user && has_pipe ? fork() : -1;
        if (hidden == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            prctl(PR_SET_DUMPABLE, 0);
            write(hides[1], "", 1);
            pause();
        }
        char byte = 0;
        const bool is_hidden = hidden > 0 && read(hides[0], &byte, 1) == 1;
        const MemoryUse use = is_hidden ? memory_use(hidden) : MemoryUse{.pages = 1};
        _exit(!use.pages && use.page_tables > 0 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(user, &status, 0), user);
    EXPECT_EQ(status, 0);
}

} // namespace
} // namespace previrt
