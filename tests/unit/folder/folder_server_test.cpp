// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/folder/folder_server.hpp"

#include "host/input_error.hpp"
#include "host/temporary_directory.hpp"
#include "monitor/folder/vhost_user.hpp"

#include <gtest/gtest.h>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

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

TEST(FolderServer, OfSomebodyElseIsReachedByItsSocket) {
    const TemporaryDirectory directory;
    const std::string path = directory.path() + "/socket";
    const auto connect_to = [&] {
        return FolderServer({.path = path, .tag = "tag", .is_read_only = false, .is_socket = true});
    };
    try {
        connect_to();
        FAIL();
    } catch (const InputError& error) {
        EXPECT_EQ(error.what(), path + ": No such file or directory");
    }
    const Descriptor listening(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    path.copy(name.sun_path, sizeof name.sun_path - 1);
    ASSERT_EQ(bind(listening.number(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
    ASSERT_EQ(listen(listening.number(), 1), 0);
    FolderServer server = connect_to();
    const Descriptor ours(accept(listening.number(), nullptr, nullptr));
    const Descriptor connection = server.take_connection();
    EXPECT_EQ(write(connection.number(), "x", 1), 1);
    char got = 0;
    EXPECT_EQ(read(ours.number(), &got, 1), 1);
    EXPECT_EQ(got, 'x');
    EXPECT_EQ(server.describe_end(), "it has closed its connection, or does not speak vhost-user");
}

} // namespace
} // namespace previrt
