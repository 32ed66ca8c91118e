// SPDX-License-Identifier: BSD-2-Clause
// What build-linux does around a kernel's own build: sources, patches, configurations.
#include "host/file.hpp"
#include "host/input_error.hpp"
#include "tests/unit/command.hpp"
#include "toolchain/linux/configuration.hpp"
#include "toolchain/linux/patches.hpp"
#include "toolchain/linux/source.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace previrt {

namespace {

namespace fs = std::filesystem;

template <typename Action>
std::string message_of(Action&& action) {
    try {
        std::forward<Action>(action)();
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

class LinuxBuild : public testing::Test {
protected:
    LinuxBuild() {
        fs::create_directories(directory.path("source/mm"));
        put("source/Makefile", "# SPDX\nVERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 7\n");
        put("source/mm/memory.c", "one\ntwo\nthree\nfour\n");
        put("source/mm/other.c", "other\n");
        put("page-tables.patch", "--- a/mm/memory.c\n+++ b/mm/memory.c\n@@ -1,4 +1,4 @@\n one\n-two\n"
                                 "+TWO\n three\n four\n");
        fs::permissions(directory.path("source/mm/memory.c"), fs::perms::owner_exec, fs::perm_options::add);
    }

    LinuxSource source() { return open_linux_source(directory.path("source")); }
    std::vector<LinuxPatch> patches() {
        return {{.path = directory.path("page-tables.patch"),
                 .purpose = "page-tables",
                 .lines = 1,
                 .files = {"mm/memory.c"}}};
    }

    void put(const std::string& name, const std::string& text) {
        std::ofstream(directory.path(name)) << text;
    }

    ScratchDirectory directory;
};

TEST_F(LinuxBuild, VersionOfASource) {
    EXPECT_EQ(source().version, "6.1");
    put("source/Makefile", "all:\n\techo\n");
    EXPECT_NE(message_of([&] { source(); }).find("source/Makefile: this is not the top of a Linux source"),
              std::string::npos);
    EXPECT_NE(message_of([&] { open_linux_source(directory.path("nowhere")); }).find("No such file"),
              std::string::npos);
}

const std::vector<std::string> optional_patches = {"ns83820-repairs", "report-small-blocks"};

TEST_F(LinuxBuild, OurPatchesAreAsManyLinesAsTheirReadmeSays) {
    std::string all = "| **all** | |";
    std::vector<std::string> sums;
    for (const std::string version : {"6.1", "6.12"}) {
        unsigned lines = 0;
        for (const LinuxPatch& patch : linux_patches(version, optional_patches)) {
            EXPECT_FALSE(patch.files.empty()) << patch.path;
            EXPECT_GT(patch.lines, 0U) << patch.path;
            lines += patch.lines;
        }
        sums.push_back(std::to_string(lines));
        all += " **" + sums.back() + "** |";
    }
    EXPECT_NE(read_text(PREVIRT_SOURCE "/linux-patches/README.md").find(all), std::string::npos) << all;
    const std::string in_readme = sums[0] + " patched lines";
    EXPECT_NE(read_text(PREVIRT_SOURCE "/README.md").find(in_readme), std::string::npos) << in_readme;
    const std::string in_tour = sums[0] + " lines for 6.1, " + sums[1] + " for 6.12";
    EXPECT_NE(read_text(PREVIRT_SOURCE "/docs/tour.md").find(in_tour), std::string::npos) << in_tour;
    EXPECT_NE(message_of([] { linux_patches("9.9"); }).find("no patches for Linux 9.9"), std::string::npos);
}

TEST_F(LinuxBuild, OptionalPatchesAreThoseNotLeftOut) {
    const std::vector<LinuxPatch> all = linux_patches("6.1");
    std::vector<LinuxPatch> less = linux_patches("6.1", optional_patches);
    EXPECT_TRUE(std::ranges::none_of(less, &LinuxPatch::optional));
    ASSERT_EQ(all.size(), less.size() + optional_patches.size());
    for (std::size_t i = 0; i < optional_patches.size(); ++i) {
        const LinuxPatch& patch = all[less.size() + i]; // it applies to what the others have made
        EXPECT_TRUE(patch.optional);
        EXPECT_EQ(patch.purpose, optional_patches[i]);
        const std::string row = "| `" + patch.purpose + "` | " + std::to_string(patch.lines) + " |";
        EXPECT_NE(read_text(PREVIRT_SOURCE "/linux-patches/README.md").find(row), std::string::npos) << row;
    }
    EXPECT_EQ(all[less.size()].files, std::vector<std::string>{"drivers/net/ethernet/natsemi/ns83820.c"});
    less = linux_patches("6.1", {optional_patches[0], optional_patches[0]});
    EXPECT_EQ(all.size(), less.size() + 1);
    EXPECT_NE(message_of([] {
                  linux_patches("6.1", {"repairs"});
              }).find("there are: ns83820-repairs report-small-blocks"),
              std::string::npos);
}

TEST_F(LinuxBuild, PatchedCopyLeavesTheSourceAndWhatIsUpToDate) {
    const std::string copy = directory.path("copy");
    make_patched_copy(source(), patches(), copy);
    EXPECT_EQ(read_text(copy + "/mm/memory.c"), "one\nTWO\nthree\nfour\n");
    EXPECT_EQ(read_text(directory.path("source/mm/memory.c")), "one\ntwo\nthree\nfour\n");
    EXPECT_NE(fs::status(copy + "/mm/memory.c").permissions() & fs::perms::owner_exec, fs::perms::none);
    EXPECT_EQ(read_text(copy + "/mm/other.c"), "other\n");
    EXPECT_TRUE(fs::exists(copy + "/include/previrt/annotate.h"));

    const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
    fs::last_write_time(copy + "/mm/memory.c", old);
    put("source/mm/other.c", "changed\n");
    make_patched_copy(source(), patches(), copy);
    EXPECT_EQ(fs::last_write_time(copy + "/mm/memory.c"), old);
    EXPECT_EQ(read_text(copy + "/mm/other.c"), "changed\n");
}

TEST_F(LinuxBuild, APatchThatDoesNotApplyNamesTheHunk) {
    put("source/mm/memory.c", "one\nzwei\nthree\nfour\n");
    const std::string message =
        message_of([&] { make_patched_copy(source(), patches(), directory.path("copy")); });
    EXPECT_NE(message.find("page-tables.patch does not apply"), std::string::npos) << message;
    EXPECT_NE(message.find("Hunk #1 FAILED at 1"), std::string::npos) << message;
    EXPECT_NE(message.find("mm/memory.c"), std::string::npos) << message;

    fs::remove(directory.path("source/mm/memory.c"));
    EXPECT_NE(message_of([&] {
                  make_patched_copy(source(), patches(), directory.path("copy"));
              }).find("page-tables.patch changes mm/memory.c, which "),
              std::string::npos);
}

TEST_F(LinuxBuild, LinesThatMovedStillApply) {
    put("source/mm/memory.c", "new\nnew\none\ntwo\nthree\nfour\n");
    make_patched_copy(source(), patches(), directory.path("copy"));
    EXPECT_EQ(read_text(directory.path("copy/mm/memory.c")), "new\nnew\none\nTWO\nthree\nfour\n");
}

TEST_F(LinuxBuild, ConfigurationsSayWhatBecameOfThem) {
    const std::string good = "CONFIG_X86_64=y\nCONFIG_NET=y\n# CONFIG_PARAVIRT_XXL is not set\n";
    const std::string path = directory.write("config", good);
    LinuxConfiguration wanted = find_configuration(path, "6.1");
    EXPECT_FALSE(wanted.ours);
    EXPECT_EQ(wanted.text, good);
    wanted.ours = true;
    check_configuration(wanted, path, false);

    const std::string other = directory.write(".config", "CONFIG_X86_64=y\n");
    EXPECT_NE(message_of([&] { check_configuration(wanted, other, false); }).find("CONFIG_NET=y became n"),
              std::string::npos);

    wanted.text = "CONFIG_X86_64=y\n";
    put(".config", "CONFIG_X86_64=y\nCONFIG_PARAVIRT_XXL=y\n");
    EXPECT_NE(
        message_of([&] { check_configuration(wanted, other, false); }).find("CONFIG_PARAVIRT_XXL is on"),
        std::string::npos);
    check_configuration(wanted, other, true);

    const LinuxConfiguration container = find_configuration("container", "6.1");
    EXPECT_TRUE(container.ours);
    EXPECT_EQ(container.files.size(), 6U);
    const LinuxConfiguration port = find_configuration("small+xen", "6.1");
    EXPECT_TRUE(port.ours);
    EXPECT_NE(port.text.find("CONFIG_XEN_PV=y"), std::string::npos);
    EXPECT_NE(port.text.find("CONFIG_SERIAL_8250=y"), std::string::npos);
    EXPECT_NE(message_of([] { find_configuration("huge", "6.1"); }).find("huge: No such file"),
              std::string::npos);
}

} // namespace

} // namespace previrt
