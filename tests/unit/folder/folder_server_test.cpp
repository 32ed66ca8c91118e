// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/folder/folder_server.hpp"

#include "host/input_error.hpp"
#include "host/temporary_directory.hpp"
#include "monitor/folder/vhost_user.hpp"

#include <gtest/gtest.h>
#include <string>

namespace previrt {
namespace {

constexpr std::uint64_t features = (std::uint64_t{1} << 32U) | (std::uint64_t{1} << 28U);

FolderServer serve(const std::string& path, bool is_read_only = false) {
    return FolderServer({.path = path, .tag = "tag", .is_read_only = is_read_only});
}

TEST(FolderServer, AnswersAndEndsWithItsConnection) {
    const TemporaryDirectory directory;
    for (const bool is_read_only : {false, true}) {
        FolderServer server = serve(directory.path(), is_read_only);
        const Pipe never = make_pipe(); // readable
        VhostUser connection(server.take_connection(), never.read.number());
        EXPECT_TRUE(connection.negotiate(features));
        connection.close();
        EXPECT_EQ(server.describe_end(), "exit status 0");
    }
}

TEST(FolderServer, FolderThatHasGoneIsRefused) {
    std::string path;
    {
        const TemporaryDirectory directory;
        path = directory.path();
    }
    try {
        serve(path);
        FAIL();
    } catch (const InputError& error) {
        EXPECT_EQ(error.what(), path + ": No such file or directory");
    }
}

} // namespace
} // namespace previrt
