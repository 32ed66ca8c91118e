// SPDX-License-Identifier: BSD-2-Clause
// How guests are started and how their end is told.
#include "tests/unit/command.hpp"
#include "toolchain/host/digest.hpp"
#include "toolchain/host/program.hpp"
#include "toolchain/image/input_error.hpp"
#include "toolchain/run/console.hpp"
#include "toolchain/run/run.hpp"

#include <csignal>
#include <gtest/gtest.h>

namespace previrt {

namespace {

Program shell(const std::string& script) {
    return {.arguments = {"sh", "-c", script}, .directory = {}, .environment = {{"PREVIRT_TEST", "value"}}};
}

TEST(Program, StatusOutputAndEnvironment) {
    EXPECT_EQ(run_program(shell("exit 7")), 7);
    EXPECT_EQ(run_program(shell("kill -9 $$")), 128 + SIGKILL);
    EXPECT_EQ(read_program(shell("echo $PREVIRT_TEST")).text, "value\n");
    std::vector<std::string> lines;
    run_program(shell("echo one; echo two >&2; printf three"),
                [&](std::string_view line) { lines.emplace_back(line); });
    EXPECT_EQ(lines, (std::vector<std::string>{"one", "two", "three"}));
}

TEST(Program, OneThatIsMissingIsNamed) {
    try {
        run_program({.arguments = {"no-such-program"}, .directory = {}, .environment = {}});
        FAIL();
    } catch (const InputError& error) {
        EXPECT_STREQ(
            error.what(),
            "cannot run no-such-program (Debian's package no-such-program): No such file or directory");
    }
    require_programs({"sh", "make"});
    try {
        require_programs({"sh", "no-xz", "nor-this"});
        FAIL();
    } catch (const InputError& error) {
        EXPECT_STREQ(error.what(),
                     "these programs are missing: no-xz nor-this (apt-get install no-xz nor-this)");
    }
}

TEST(Digest, IsThatOfSha256sum) {
    const ScratchDirectory directory;
    EXPECT_EQ(sha256_of_file(directory.write("abc", "abc")),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_NE(Digest().add("ab").add("c").hex(), Digest().add("a").add("bc").hex());
}

TEST(ConsoleWatch, TellsPanicGoodbyeAndPrompt) {
    ConsoleWatch watch;
    watch.read("[    1.0] booting\r\nlogin: ");
    EXPECT_TRUE(watch.in_a_line());
    EXPECT_FALSE(watch.said_goodbye());
    watch.read("echo reboot: not this\r\n$ reboot: nor this\n");
    EXPECT_FALSE(watch.said_goodbye());
    watch.read("[    2.0] rebo");
    watch.read("ot: Power down\n");
    EXPECT_TRUE(watch.said_goodbye());
    EXPECT_EQ(watch.panic(), "");
    watch.read("[    3.0] Kernel panic - not syncing: no init\r\n");
    EXPECT_EQ(watch.panic(), "Kernel panic - not syncing: no init");
}

TEST(ConsoleWatch, ALineWithoutEndDoesNotGrow) {
    ConsoleWatch watch;
    for (int i = 0; i < 100; ++i) {
        watch.read(std::string(65536, 'x'));
    }
    watch.read("\nreboot: System halted\n");
    EXPECT_TRUE(watch.said_goodbye());
}

TEST(Run, WhatCannotRunIsRefused) {
    const ScratchDirectory directory;
    const std::string run = PREVIRT " run ";
    const auto refused = [&](const std::string& arguments, const std::string& part) {
        const CommandResult result = run_command(run + arguments);
        EXPECT_EQ(result.status, 2) << result.output;
        EXPECT_NE(result.output.find(part), std::string::npos) << result.output;
    };
    refused(directory.path("none"), "No such file");
    refused(directory.write("text", "no kernel"), "text: ");
    refused("--on kvm " + directory.path("text"), "--on kvm: not built yet");
    refused("--memory much " + directory.path("text"), "--memory");
    refused("--timeout 0 " + directory.path("text"), "--timeout");
}

} // namespace

} // namespace previrt
