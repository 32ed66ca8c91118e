// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/disk/disk_file.hpp"

#include "host/input_error.hpp"
#include "tests/unit/command.hpp"
#include "tests/unit/contains.hpp"
#include "tests/unit/disk/refusal.hpp"

#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

namespace previrt {

namespace {

class DiskFiles : public testing::Test {
protected:
    [[nodiscard]] std::string make(const std::string& name, std::uint64_t bytes) const {
        const std::string path = directory_.write(name, "");
        std::filesystem::resize_file(path, bytes);
        return path;
    }

    ScratchDirectory directory_;
};

TEST_F(DiskFiles, AreAsLargeAsTheirFiles) {
    const DiskFile file({.path = make("a", (3 * 4096) + 512)});
    EXPECT_EQ(file.disk().bytes, (3 * 4096U) + 512U);
    EXPECT_EQ(file.disk().block_bytes, 512U);
    EXPECT_FALSE(file.disk().is_read_only);
    EXPECT_TRUE(file.disk().keeps_writes);
    EXPECT_TRUE(file.is_durable());
}

TEST_F(DiskFiles, ReadOnlyOnesKeepNothingAndDiscardNothing) {
    const DiskFile file({.path = make("a", 4096), .is_read_only = true});
    EXPECT_TRUE(file.disk().is_read_only);
    EXPECT_FALSE(file.disk().keeps_writes);
    EXPECT_FALSE(file.disk().discards);
    EXPECT_EQ(fcntl(file.number(), F_GETFL) & O_ACCMODE, O_RDONLY);
}

TEST_F(DiskFiles, OfASnapshotIsOnlyRead) {
    DiskFile file({.path = make("a", 4096), .is_snapshot = true});
    EXPECT_FALSE(file.disk().is_read_only);
    EXPECT_FALSE(file.is_durable());
    ASSERT_NE(file.overlay(), nullptr);
    EXPECT_EQ(fcntl(file.number(), F_GETFL) & O_ACCMODE, O_RDONLY);
}

TEST_F(DiskFiles, WhatIsNoDiskIsRefusedByName) {
    const std::string missing = directory_.path("missing");
    EXPECT_TRUE(contains(refusal_of({.path = missing}), "--disk " + missing + ": No such file or directory"));
    EXPECT_TRUE(
        contains(refusal_of({.path = directory_.path("")}), "neither a regular file nor a block device"));
    EXPECT_TRUE(contains(refusal_of({.path = "/dev/null"}), "neither a regular file nor a block device"));
    EXPECT_TRUE(contains(refusal_of({.path = make("empty", 0)}), "it is empty"));
    const std::string crooked = make("crooked", 1000);
    EXPECT_TRUE(contains(refusal_of({.path = crooked}), "its size of 1000 bytes is no multiple"));
    EXPECT_TRUE(contains(refusal_of({.path = crooked}), "truncate -s %512 " + crooked));
}

TEST_F(DiskFiles, AQcow2ImageIsADiskOnlyIfTheUserSaysSo) {
    const std::string image = directory_.write("image", "QFI\xfb");
    std::filesystem::resize_file(image, 1024);
    EXPECT_TRUE(contains(refusal_of({.path = image}), "with ,format=qcow2 the guest gets the disk in it"));
    EXPECT_EQ(refusal_of({.path = image, .format = "raw"}), "");
}

TEST_F(DiskFiles, AreWrittenByOneGuest) {
    const std::string path = make("a", 4096);
    const std::string in_use = "another guest has it";
    {
        const DiskFile writer({.path = path});
        EXPECT_TRUE(contains(refusal_of({.path = path}), in_use));
        EXPECT_TRUE(contains(refusal_of({.path = path}), path));
        EXPECT_TRUE(contains(refusal_of({.path = path, .is_read_only = true}), in_use));
        EXPECT_TRUE(contains(refusal_of({.path = path, .is_snapshot = true}), in_use));
        std::filesystem::create_hard_link(path, path + ".link");
        EXPECT_TRUE(contains(refusal_of({.path = path + ".link"}), in_use));
    }
    const DiskFile reader({.path = path, .is_read_only = true});
    EXPECT_EQ(refusal_of({.path = path, .is_read_only = true}), "");
    EXPECT_EQ(refusal_of({.path = path, .is_snapshot = true}), "");
    EXPECT_TRUE(contains(refusal_of({.path = path}), in_use));
}

TEST_F(DiskFiles, AFileThatMayNotBeWrittenIsReadable) {
    const std::string path = make("a", 4096);
    std::filesystem::permissions(path, std::filesystem::perms::owner_read);
    if (geteuid() != 0) {
        EXPECT_TRUE(contains(refusal_of({.path = path}), "with ,ro the guest only reads it"));
    }
    EXPECT_EQ(refusal_of({.path = path, .is_read_only = true}), "");
}

} // namespace

} // namespace previrt
