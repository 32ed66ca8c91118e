// SPDX-License-Identifier: BSD-2-Clause
// Programs that a guest might take over get less than our rights, and read what they are given all the same.
#include "host/file.hpp"
#include "host/input_error.hpp"
#include "host/program_file.hpp"
#include "tests/machine/machine.hpp"
#include "tests/unit/command.hpp"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace previrt {

namespace {

constexpr auto nothing = [] { return true; };

// A container's root may be able to become no other user.
constexpr const char* become_another = "can:setpriv --reuid=65533 --regid=65533 --clear-groups true";
Rights least() {
    return geteuid() != 0 || machine::what_lacks(become_another).empty() ? Rights::not_root : Rights::of_user;
}

std::string say(const std::string& script, Rights rights, std::vector<int> inherited = {}) {
    return read_program({.arguments = {"sh", "-c", script},
                         .directory = {},
                         .environment = {},
                         .rights = rights,
                         .inherited = std::move(inherited)})
        .text;
}

TEST(Rights, LessThanOursHoldNoCapabilities) {
    const std::string script =
        "grep -E '^(Cap(Inh|Prm|Eff|Amb)|NoNewPrivs)' /proc/self/status | tr -d '\\t\\n'";
    const std::string none(16, '0');
    const std::string wanted = "CapInh:" + none + "CapPrm:" + none + "CapEff:" + none + "CapAmb:" + none;
    EXPECT_EQ(say(script, Rights::of_user), wanted + "NoNewPrivs:1");
    EXPECT_EQ(say(script, least()), wanted + "NoNewPrivs:1");
}

TEST(Rights, NotOfRootAreThoseOfAUserOfItsOwn) {
    const std::string script = "id -u; id -g; id -G";
    if (geteuid() != 0) {
        EXPECT_EQ(say(script, Rights::not_root), say(script, Rights::ours));
        return;
    }
    if (const std::string lacks = machine::what_lacks(become_another); !lacks.empty()) {
        GTEST_SKIP() << lacks;
    }
    const std::string ids = "\n" + say(script, Rights::not_root);
    EXPECT_EQ(ids.find("\n0\n"), std::string::npos) << ids;
    EXPECT_EQ(say(script, Rights::of_user), say(script, Rights::ours));
}

TEST(Rights, NothingIsInheritedThatWasNotGiven) {
    const Descriptor left(open("/dev/null", O_RDONLY)); // NOLINT(android-cloexec-open): that is the case
    const Descriptor given(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const auto script = [](const Descriptor& descriptor) {
        return "[ -e /proc/self/fd/" + std::to_string(descriptor.number()) + " ] && echo there || echo none";
    };
    EXPECT_EQ(say(script(left), Rights::ours), "there\n");
    EXPECT_EQ(say(script(left), least()), "none\n");
    EXPECT_EQ(say(script(given), least(), {given.number()}), "there\n");
}

TEST(Rights, WhatFailsWithThemIsTold) {
    EXPECT_EQ(try_with_rights(least(), nothing), 0);
    EXPECT_EQ(try_with_rights(Rights::ours, [] { return access("/no-such-file", F_OK) == 0; }), ENOENT);
    EXPECT_NE(try_with_rights(least(), [] { return chroot("/") == 0; }), 0);
}

// The directory is ours alone too.
TEST(ProgramFile, IsReadWhateverItsModeAndItsDirectorys) {
    const ScratchDirectory directory;
    const std::string contents(100'000, 'x');
    for (const mode_t mode : {mode_t{S_IRUSR}, mode_t{S_IRUSR | S_IRGRP | S_IROTH}}) {
        const std::string path = directory.write("file", contents);
        ASSERT_EQ(chmod(path.c_str(), mode), 0);
        const Descriptor file = open_for_program(path, least());
        std::filesystem::remove(path);
        EXPECT_EQ(say("wc -c <" + name_of_inherited(file), least(), {file.number()}), "100000\n");
    }
    EXPECT_THROW(open_for_program(directory.path("none"), least()), InputError);
}

} // namespace

} // namespace previrt
