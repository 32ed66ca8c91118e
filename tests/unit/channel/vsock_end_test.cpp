// SPDX-License-Identifier: BSD-2-Clause
// The monitor's end of streams, with a guest that keeps the rules of vsock, and with one that does not.
#include "monitor/channel/vsock_end.hpp"
#include "tests/unit/channel/vsock_guest.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace previrt {
namespace {

using namespace vsock;

constexpr std::uint32_t control = 100; // ports
constexpr std::uint32_t data = 101;

class VsockEndTest : public VsockGuestTest {
protected:
    VsockEndTest() {
        end_.add(control_);
        end_.add(data_);
    }

    static Header header(Operation operation, std::uint32_t to = data) {
        return VsockGuestTest::header(operation, to);
    }
    void serve() {
        while (end_.receive()) {
        }
        end_.finish();
    }
    // The only packet that there is.
    std::uint16_t answer() {
        const std::optional<Packet> packet = take();
        EXPECT_FALSE(take());
        return packet ? packet->header.op : std::uint16_t{0};
    }
    void connect(std::uint32_t to = data) {
        put(header(op_request, to));
        serve();
        const std::optional<Packet> packet = take();
        ASSERT_TRUE(packet);
        EXPECT_EQ(packet->header.op, op_response);
        EXPECT_EQ(packet->header.src_port, to);
        EXPECT_EQ(packet->header.dst_port, guests_port);
        EXPECT_EQ(packet->header.buf_alloc, GuestStream::room);
    }
    std::uint32_t send(const std::string& text) {
        const std::span<std::uint8_t> room = end_.room(data_);
        const auto bytes = static_cast<std::uint32_t>(std::min(room.size(), text.size()));
        if (bytes != 0) {
            std::memcpy(room.data(), text.data(), bytes);
            end_.send(data_, bytes);
        }
        return bytes;
    }

    unsigned calls_ = 0;
    std::string got_;
    std::string got_control_;
    GuestStream control_{control, [this](std::span<const std::uint8_t> bytes) {
                             got_control_.append(bytes.begin(), bytes.end());
                         }};
    GuestStream data_{data, [this](std::span<const std::uint8_t> bytes) {
                          got_.append(bytes.begin(), bytes.end());
                          data_.keep(kept_);
                      }};
    std::uint64_t kept_ = 0;
    VsockEnd end_{guest, *to_host_, *to_guest_, [this] { ++calls_; }};
};

TEST_F(VsockEndTest, CarriesBytesBothWays) {
    connect();
    EXPECT_TRUE(data_.is_open());
    put(header(op_rw), "hello");
    put(header(op_rw), std::string(most_payload, 'x'));
    serve();
    EXPECT_EQ(got_, "hello" + std::string(most_payload, 'x'));
    EXPECT_EQ(take()->header.op, op_credit_update);
    EXPECT_EQ(send("answer"), 6U);
    const std::optional<Packet> packet = take();
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->header.op, op_rw);
    EXPECT_EQ(packet->payload, "answer");
    EXPECT_EQ(packet->header.fwd_cnt, 5 + most_payload);
}

TEST_F(VsockEndTest, SendsNoMoreThanTheGuestTakes) {
    connect();
    EXPECT_EQ(data_.credit(), 1000U);
    EXPECT_EQ(send(std::string(5000, 'a')), 1000U);
    EXPECT_EQ(send("b"), 0U);
    Header update = header(op_credit_update);
    update.fwd_cnt = 400;
    put(update);
    serve();
    EXPECT_EQ(send(std::string(5000, 'b')), 400U);
    update.fwd_cnt = 1400;
    update.buf_alloc = 10; // smaller, which it may become at any time
    put(update);
    serve();
    EXPECT_EQ(data_.credit(), 10U);
    update.buf_alloc = 0xffff'ffff;
    put(update);
    serve();
    EXPECT_EQ(data_.credit(), most_payload);
}

// Fewer bytes than there is room for, at every place of the ring.
TEST_F(VsockEndTest, SendsWhatIsInTheRoom) {
    Header request = header(op_request);
    request.buf_alloc = 1 << 20;
    put(request);
    serve();
    EXPECT_EQ(answer(), op_response);
    std::uint32_t sent = 0;
    for (int i = 0; i < 2000; ++i) {
        const std::string text = std::to_string(i) + std::string(static_cast<std::size_t>(i * 7 % 3000), 'x');
        ASSERT_EQ(send(text), text.size());
        const std::optional<Packet> packet = take();
        ASSERT_TRUE(packet);
        ASSERT_EQ(packet->payload, text) << i;
        sent += static_cast<std::uint32_t>(text.size());
        Header update = header(op_credit_update);
        update.buf_alloc = 1 << 20;
        update.fwd_cnt = sent;
        put(update);
        serve();
    }
}

TEST_F(VsockEndTest, TellsTheGuestOfBytesThatWerePassedOn) {
    connect();
    kept_ = 30'000;
    put(header(op_rw), std::string(40'000, 'x'));
    serve();
    EXPECT_FALSE(take()); // 10'000 are too few to tell of
    put(header(op_credit_request));
    serve();
    std::optional<Packet> packet = take();
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->header.op, op_credit_update);
    EXPECT_EQ(packet->header.fwd_cnt, 10'000U);
    data_.keep(0);
    end_.finish();
    EXPECT_FALSE(take());
    put(header(op_rw), std::string(40'000, 'x'));
    kept_ = 0;
    serve();
    packet = take();
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->header.fwd_cnt, 80'000U);
}

TEST_F(VsockEndTest, EndsAreHalves) {
    connect();
    Header shutdown = header(op_shutdown);
    shutdown.flags = shutdown_send;
    put(header(op_rw), "last");
    put(shutdown);
    serve();
    EXPECT_TRUE(data_.has_all());
    EXPECT_TRUE(data_.is_read());
    EXPECT_EQ(got_, "last");
    EXPECT_EQ(send("still"), 5U);
    EXPECT_EQ(take()->payload, "still");
    data_.end_sending();
    end_.finish();
    const std::optional<Packet> packet = take();
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->header.op, op_shutdown);
    EXPECT_EQ(packet->header.flags, shutdown_send);
    EXPECT_EQ(send("more"), 0U);
    shutdown.flags = shutdown_receive;
    shutdown.fwd_cnt = 5;
    put(shutdown);
    serve();
    EXPECT_EQ(answer(), op_rst); // now both are over
    EXPECT_TRUE(data_.is_closed());
}

TEST_F(VsockEndTest, ClosingSendsAReset) {
    data_.close();
    end_.finish();
    EXPECT_FALSE(take()); // nobody was there
    connect(control);
    control_.close();
    end_.finish();
    EXPECT_EQ(answer(), op_rst);
    put(header(op_rw, control), "late");
    serve();
    EXPECT_EQ(answer(), op_rst);
    EXPECT_EQ(got_control_, "");
}

TEST_F(VsockEndTest, EachPortHasOneConnection) {
    connect();
    Header other = header(op_request);
    other.src_port = guests_port + 1;
    put(other);
    serve();
    const std::optional<Packet> packet = take();
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->header.op, op_rst);
    EXPECT_EQ(packet->header.dst_port, guests_port + 1);
    EXPECT_TRUE(data_.is_open());
    put(header(op_rst));
    serve();
    EXPECT_TRUE(data_.is_closed());
    put(header(op_request));
    serve();
    EXPECT_EQ(answer(), op_rst);
}

TEST_F(VsockEndTest, StrangersGetAReset) {
    put(header(op_request, 999));
    put(header(op_rst, 999)); // never answered
    put(header(op_rw));       // not connected
    Header datagram = header(op_request);
    datagram.type = 2;
    put(datagram);
    serve();
    for (int i = 0; i < 3; ++i) {
        const std::optional<Packet> packet = take();
        ASSERT_TRUE(packet);
        EXPECT_EQ(packet->header.op, op_rst);
    }
    EXPECT_FALSE(take());
}

TEST_F(VsockEndTest, BrokenPacketsAreDropped) {
    Header wrong = header(op_request);
    wrong.src_cid = 4;
    put(wrong);
    wrong = header(op_request);
    wrong.dst_cid = 1;
    put(wrong);
    wrong = header(op_request);
    wrong.len = 1;
    put_as_it_is(wrong, "");
    wrong.len = 0xffff'ffff;
    put_as_it_is(wrong, "12");
    ASSERT_FALSE(writer_.reserve(43).empty());
    writer_.commit(43);
    serve();
    EXPECT_FALSE(take());
    connect();
}

// Each rule that a guest breaks costs it the stream.
class BrokenRule : public VsockEndTest, public testing::WithParamInterface<unsigned> {};

TEST_P(BrokenRule, EndsTheStream) {
    connect();
    EXPECT_EQ(send("1234"), 4U);
    take();
    Header broken = header(op_rw);
    std::string payload;
    switch (GetParam()) {
    case 0: // more than there is room for
        for (kept_ = most_payload; kept_ <= GuestStream::room; kept_ += most_payload) {
            put(broken, std::string(most_payload, 'x'));
            serve();
        }
        payload = "x";
        break;
    case 1: // it has taken more than was sent
        broken.fwd_cnt = 5;
        break;
    case 2: // and then less than before
        broken.fwd_cnt = 3;
        put(broken);
        broken.fwd_cnt = 2;
        break;
    case 3: // bytes behind the end
        broken.op = op_shutdown;
        broken.flags = shutdown_send;
        put(broken);
        broken.op = op_rw;
        payload = "x";
        break;
    case 4:
        broken.op = op_response;
        break;
    case 5:
        broken.op = 77;
        break;
    default:
        broken.op = op_request; // from the same port: refused, and the first goes on
    }
    put(broken, payload);
    serve();
    EXPECT_EQ(answer(), op_rst);
    EXPECT_EQ(data_.is_closed(), GetParam() < 6);
    EXPECT_EQ(data_.credit(), GetParam() < 6 ? 0U : 996U);
}
INSTANTIATE_TEST_SUITE_P(All, BrokenRule, testing::Range(0U, 7U));

TEST_F(VsockEndTest, GuestThatReadsNothingGetsNothingMore) {
    connect();
    unsigned answered = 0;
    for (int i = 0; i < 100'000; ++i) {
        const std::span<std::uint8_t> room = writer_.reserve(header_bytes);
        if (room.empty()) {
            break;
        }
        const Header question = header(op_credit_request);
        std::memcpy(room.data(), &question, sizeof question);
        writer_.commit(header_bytes);
        serve();
        ++answered;
    }
    EXPECT_LT(answered, 20'000U); // the two rings are full, and nothing else holds a packet
    EXPECT_TRUE(end_.wait());
    const unsigned before = calls_;
    while (take()) {
    }
    EXPECT_TRUE(reader_.must_call()); // for the room
    EXPECT_FALSE(end_.wait());
    serve();
    EXPECT_EQ(take()->header.op, op_credit_update);
    EXPECT_GE(calls_, before);
}

// Packets of all kinds, at random: streams stay within their bounds.
TEST_F(VsockEndTest, AnyPacketsAreTaken) {
    std::mt19937 random(1); // NOLINT(cert-msc32-c,cert-msc51-cpp): the same each time
    std::size_t opened = 0;
    for (int i = 0; i < 20'000; ++i) {
        Header any =
            header(static_cast<Operation>(random() % 9), random() % 4 == 0 ? 7 : control + (random() % 2));
        any.src_port = guests_port + (random() % 2);
        any.flags = random() % 4;
        any.buf_alloc = random() % 3 == 0 ? static_cast<std::uint32_t>(random()) : 5000;
        any.fwd_cnt = random() % 3 == 0 ? static_cast<std::uint32_t>(random()) : 0;
        put(any, std::string(random() % 3 == 0 ? random() % 9000 : 0, 'r'));
        kept_ = random() % 9000;
        serve();
        opened += data_.is_open() ? 1 : 0;
        send(std::string(random() % 100, 's'));
        while (take()) {
        }
    }
    EXPECT_GT(opened, 0U);
}

} // namespace
} // namespace previrt
