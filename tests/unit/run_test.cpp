// SPDX-License-Identifier: BSD-2-Clause
// How guests are started and how their end is told.
#include "host/cached_directory.hpp"
#include "host/cpio_archive.hpp"
#include "host/digest.hpp"
#include "host/file.hpp"
#include "host/input_error.hpp"
#include "host/program.hpp"
#include "monitor/run.hpp"
#include "tests/unit/command.hpp"
#include "tests/unit/make_linux.hpp"
#include "toolchain/image/pvh_note.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
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

// ---- what a run is made of

TEST(CpioArchive, IsWhatCpioReads) {
    CpioArchive archive;
    archive.add_directory("bin");
    const std::string text = "#!/bin/sh\necho ran\n";
    const std::vector<std::uint8_t> script(text.begin(), text.end());
    archive.add_file("bin/run", script, true);
    archive.add_link("bin/link", "run");
    archive.add_file("empty", {}, false);
    const std::vector<std::uint8_t> bytes = std::move(archive).finish();
    EXPECT_EQ(bytes.size() % 4, 0U);
    const ScratchDirectory directory;
    const std::string file = directory.write("archive", std::string(bytes.begin(), bytes.end()));
    const CommandResult result = run_command("cd " + directory.path("") + " && cpio --extract --quiet <" +
                                             file + " && bin/link && stat -c '%n %a %s' bin bin/run empty");
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.output.find("ran\nbin 755 "), 0U) << result.output;
    EXPECT_NE(result.output.find("bin/run 755 19\nempty 644 0\n"), std::string::npos) << result.output;
}

class CachedDirectory : public testing::Test {
protected:
    CachedDirectory() { setenv("PREVIRT_CACHE", directory_.path("cache").c_str(), 1); }
    ~CachedDirectory() override { unsetenv("PREVIRT_CACHE"); }

    // How often it was filled.
    int ask(const std::string& key) {
        const std::string path = cached_directory("thing", key, [&](const std::string& directory) {
            EXPECT_TRUE(std::filesystem::is_empty(directory));
            write_text(directory + "/file", key);
            ++filled_;
        });
        EXPECT_EQ(read_text(path + "/file"), key);
        return filled_;
    }

private:
    ScratchDirectory directory_;
    int filled_ = 0;
};

TEST_F(CachedDirectory, IsFilledOnceForAKey) {
    EXPECT_EQ(ask("one"), 1);
    EXPECT_EQ(ask("one"), 1);
    EXPECT_EQ(ask("two"), 2);
    EXPECT_THROW(
        cached_directory("thing", "three", [](const std::string& /*directory*/) { throw InputError("no"); }),
        InputError);
    EXPECT_EQ(ask("two"), 2); // a failure leaves the old one
}

// ---- what may run

TEST(PvhNote, IsFoundAmongOthers) {
    const auto image_with = [](const std::vector<std::uint8_t>& notes) {
        ElfBuilder builder(ET_EXEC);
        builder.add(ElfSection{.name = ".notes", .type = SHT_NOTE, .flags = SHF_ALLOC, .bytes = notes});
        return ElfImage::parse(builder.build().bytes);
    };
    const auto description = std::to_array<std::uint32_t>({0x1000000});
    std::vector<std::uint8_t> notes = ElfBuilder::note("previrt", description);
    const std::size_t second = notes.size();
    const std::vector<std::uint8_t> entry = ElfBuilder::note("Xen", description);
    notes.insert(notes.end(), entry.begin(), entry.end());
    EXPECT_FALSE(has_pvh_note(image_with(notes))); // of another type
    notes[second + 8] = 18;
    EXPECT_TRUE(has_pvh_note(image_with(notes)));
    for (std::size_t size = 0; size < notes.size(); ++size) {
        EXPECT_FALSE(
            has_pvh_note(image_with({notes.begin(), notes.begin() + static_cast<std::ptrdiff_t>(size)})));
    }
    for (const std::size_t field : {second, second + 4}) {
        std::vector<std::uint8_t> long_one = notes;
        std::fill_n(long_one.begin() + static_cast<std::ptrdiff_t>(field), 4, std::uint8_t{0xff});
        EXPECT_FALSE(has_pvh_note(image_with(long_one)));
    }
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
    refused("--on process " + directory.path("text"), "text: ");
    refused("--memory much " + directory.path("text"), "--memory");
    refused("--timeout 0 " + directory.path("text"), "--timeout");
    ElfBuilder builder(ET_EXEC);
    builder.add_code(".text", ElfBuilder::text_address, {0x90});
    const std::vector<std::uint8_t> elf = builder.build().bytes;
    const std::string kernel = directory.write("elf", std::string(elf.begin(), elf.end()));
    refused("--on bare " + kernel, "elf: neither a bzImage nor an ELF file with a PVH note");
    refused("--on bare --stats f " + kernel, "--stats: on bare metal");
    refused("--on xen --net user " + kernel, "--net: --on xen has no network so far");
    for (const std::string place : {"xen", "kvm-nested"}) {
        refused("--on " + place + " --disk d " + kernel,
                "--disk: --on " + place + " has no disks so far; these have: process, kvm, xen-domu, bare");
    }
    refused("--on kvm --disk d,rw " + kernel, "'rw' is not understood there");
    refused("--on process --disk d --memory 4064M " + kernel, "--memory may be 4048M at most");
    refused("--on xen-domu --net switch=socket " + kernel, "--on xen-domu has user, tap=NAME, none");
    refused("--on xen-domu --net user,host-loopback,mtu=9000 " + kernel, "its mtu is 1500");
    refused("--on kvm-nested --net switch=socket " + kernel, "--on kvm-nested has user, tap=NAME, none");
    refused("--on kvm-nested --net user,host-loopback,mtu=9000 " + kernel,
            "with --on kvm-nested its mtu is 1500");
    for (const std::string place : {"kvm", "kvm-nested"}) {
        refused("--on " + place + " --no-rewrite --net user " + kernel,
                "the in-place VMM models the card, and with --no-rewrite there is no such VMM");
    }
    refused("--on process --net usr " + kernel, "usr");
    refused("--on process --net user --memory 4080M " + kernel, "--memory may be 4064M at most");
    refused("--on bare --net switch=socket " + kernel, "--on bare has user,host-loopback, tap=NAME, none");
    refused("--on bare --net user " + kernel, "allow that by --net user,host-loopback");
    refused("--on xen-domu --net user " + kernel, "allow that by --net user,host-loopback");
    refused("--on xen --memory 1M " + kernel, "--memory: a kernel needs");
}

// A kernel of the last 2 GiB that nothing can move: no process can have it, and KVM can.
TEST(Run, AutoTakesAPlaceThatCanRunTheKernel) {
    const ScratchDirectory directory;
    const std::vector<std::uint8_t> linux = make_linux(linux_sample);
    const std::string kernel = directory.write("linux", std::string(linux.begin(), linux.end()));
    const std::string why = "linux: it is linked at 0xffffffff81000000, and has no relocation table";

    const CommandResult forced = run_command(PREVIRT " run --on process " + kernel);
    EXPECT_EQ(forced.status, 2) << forced.output;
    const bool has_processes = forced.output.find(why) != std::string::npos;
    EXPECT_EQ(forced.output.find("on process: a process"), std::string::npos) << forced.output;

    const CommandResult chosen = run_command(PREVIRT " run --timeout 10 " + kernel + " </dev/null");
    const bool runs = chosen.output.find(" on kvm: the host's KVM") != std::string::npos;
    EXPECT_EQ(chosen.status == 2, !runs) << chosen.output;
    const std::string passed_over = runs ? "previrt: not on process: " : "previrt: on process: ";
    EXPECT_NE(chosen.output.find(passed_over), std::string::npos) << chosen.output;
    EXPECT_EQ(chosen.output.find(why) != std::string::npos, has_processes) << chosen.output;
    if (!runs) { // its ELF file has no PVH note either
        EXPECT_NE(chosen.output.find("on bare: "), std::string::npos) << chosen.output;
    }
}

// What no place runs is refused for its own reason, and once.
TEST(Run, AutoNamesWhatNoPlaceCanRun) {
    const ScratchDirectory directory;
    const std::string text = directory.write("text", "no kernel");
    const CommandResult result = run_command(PREVIRT " run " + text);
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(result.output.find("previrt: " + text + ": "), 0U) << result.output;
    EXPECT_EQ(result.output.find('\n'), result.output.size() - 1) << result.output;
}

} // namespace

} // namespace previrt
