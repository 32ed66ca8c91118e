// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/folder/vhost_user.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <optional>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace previrt {
namespace {

struct Message {
    std::uint32_t request = 0;
    std::uint32_t flags = 0;
    std::vector<std::uint64_t> payload; // whole words of 64 bits
    Descriptor descriptor;
};

class VhostUserServer : public testing::Test {
protected:
    VhostUserServer() : given_up_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
        std::array<int, 2> ends{};
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data());
        server_ = Descriptor(ends[0]);
        client.emplace(Descriptor(ends[1]), given_up_.number());
    }

    Message take() {
        Message message;
        std::array<std::uint32_t, 3> header{};
        alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
        iovec part{.iov_base = header.data(), .iov_len = sizeof header};
        msghdr received{};
        received.msg_iov = &part;
        received.msg_iovlen = 1;
        received.msg_control = control.data();
        received.msg_controllen = control.size();
        EXPECT_EQ(recvmsg(server_.number(), &received, 0), static_cast<ssize_t>(sizeof header));
        if (const cmsghdr* const first = CMSG_FIRSTHDR(&received)) {
            int number = -1;
            std::memcpy(&number, CMSG_DATA(first), sizeof number);
            message.descriptor = Descriptor(number);
        }
        message.request = header[0];
        message.flags = header[1];
        message.payload.resize(header[2] / sizeof(std::uint64_t));
        if (!message.payload.empty()) {
            EXPECT_EQ(read(server_.number(), message.payload.data(), header[2]), ssize_t{header[2]});
        }
        return message;
    }
    void answer(std::uint32_t request, std::uint64_t value, std::uint32_t flags = 5,
                std::uint32_t bytes = 8) const {
        const std::array<std::uint32_t, 5> message = {request, flags, bytes,
                                                      static_cast<std::uint32_t>(value),
                                                      static_cast<std::uint32_t>(value >> 32U)};
        EXPECT_EQ(write(server_.number(), message.data(), sizeof message), ssize_t{sizeof message});
    }
    static ino_t file_of(const Descriptor& descriptor) {
        struct stat state{};
        fstat(descriptor.number(), &state);
        return state.st_ino;
    }

    static constexpr std::uint64_t features = (std::uint64_t{1} << 32U) | (std::uint64_t{1} << 28U);
    Descriptor server_;
    Descriptor given_up_;
    std::optional<VhostUser> client;
};

TEST_F(VhostUserServer, FeaturesAreNegotiated) {
    answer(1, features | 0x70);
    EXPECT_TRUE(client->negotiate(features));
    EXPECT_EQ(take().request, 3U);
    EXPECT_EQ(take().request, 1U);
    const Message set = take();
    EXPECT_EQ(set.request, 2U);
    EXPECT_EQ(set.flags, 1U);
    EXPECT_EQ(set.payload, std::vector<std::uint64_t>{features});
}

TEST_F(VhostUserServer, ServerWithoutAFeatureIsRefused) {
    answer(1, features & ~(std::uint64_t{1} << 28U));
    EXPECT_FALSE(client->negotiate(features));
}

TEST_F(VhostUserServer, MemoryIsOneRegionOfAFile) {
    const Descriptor file(memfd_create("test", MFD_CLOEXEC));
    ASSERT_TRUE(client->share({.file = file.number(), .offset = 0x20'0000, .bytes = 0x1000'0000}));
    const Message message = take();
    EXPECT_EQ(message.request, 5U);
    EXPECT_EQ(message.payload, (std::vector<std::uint64_t>{1, 0, 0x1000'0000, 0, 0x20'0000}));
    EXPECT_EQ(file_of(message.descriptor), file_of(file));
}

TEST_F(VhostUserServer, QueueBeginsWithItsDoorbell) {
    const Descriptor kicked = make_pipe().read;
    const Descriptor called = make_pipe().read;
    ASSERT_TRUE(client->begin_queue(
        1, {.descriptors = 0x1000, .available = 0x2000, .used = 0x3000, .size = 256, .reserved = 0},
        kicked.number(), called.number()));
    constexpr std::uint64_t number = 1;
    const std::pair<std::uint32_t, std::vector<std::uint64_t>> expected[] = {
        {8, {number | std::uint64_t{256} << 32U}},
        {10, {number}},
        {9, {number, 0x1000, 0x3000, 0x2000, 0}},
        {13, {number}},
        {12, {number}}};
    for (const auto& [request, payload] : expected) {
        const Message message = take();
        EXPECT_EQ(message.request, request);
        EXPECT_EQ(message.payload, payload);
        if (request == 13 || request == 12) {
            EXPECT_EQ(file_of(message.descriptor), file_of(request == 12 ? kicked : called));
        }
    }
}

TEST_F(VhostUserServer, QueueEndsWithTheAnswer) {
    answer(11, 1 | std::uint64_t{77} << 32U);
    EXPECT_TRUE(client->end_queue(1));
    const Message message = take();
    EXPECT_EQ(message.request, 11U);
    EXPECT_EQ(message.payload, std::vector<std::uint64_t>{1});
}

TEST_F(VhostUserServer, NonsenseIsNoAnswer) {
    answer(12, 1); // to another request
    EXPECT_FALSE(client->end_queue(1));
}

TEST_F(VhostUserServer, AnswerOfAnotherSizeIsNone) {
    answer(11, 1, 5, 16);
    EXPECT_FALSE(client->end_queue(1));
}

TEST_F(VhostUserServer, MessageThatIsNoReplyIsNone) {
    answer(11, 1, 1);
    EXPECT_FALSE(client->end_queue(1));
}

TEST_F(VhostUserServer, ServerMayGo) {
    server_.close();
    EXPECT_FALSE(client->end_queue(0));
    EXPECT_FALSE(client->share({.file = 0, .offset = 0, .bytes = 0}));
}

TEST_F(VhostUserServer, SilentServerIsGivenUp) {
    std::thread([&] { eventfd_write(given_up_.number(), 1); }).join();
    EXPECT_FALSE(client->end_queue(0));
}

} // namespace
} // namespace previrt
