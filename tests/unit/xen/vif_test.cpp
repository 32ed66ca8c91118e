// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/vif.hpp"

#include "backends/xen/fixed_text.hpp"
#include "tests/unit/xen/fake_store.hpp"

#include <gtest/gtest.h>

extern "C" {
#include <xen/io/xenbus.h>
}

namespace previrt::xen {
namespace {

const std::string ours = "device/vif/0/";
const std::string theirs = "/local/domain/0/backend/vif/1/0";

class Device : public testing::Test {
protected:
    Device() {
        client_.start(*store_.ring, 1);
        store_.nodes[ours + "backend"] = theirs;
        store_.nodes[ours + "backend-id"] = "0";
        store_.nodes[ours + "mac"] = "52:54:00:aB:0C:ff";
        store_.nodes[ours + "state"] = "1";
    }

    void tell(XenbusState state) { store_.set(theirs + "/state", std::to_string(state)); }
    void offer() {
        ASSERT_TRUE(vif_.find(client_));
        tell(XenbusStateInitialising);
        vif_.offer({.transmit_ring = 8, .receive_ring = 9, .port = 4'000'000'000});
    }
    void connect() {
        offer();
        tell(XenbusStateInitWait);
        EXPECT_FALSE(vif_.is_connected());
        tell(XenbusStateConnected);
        EXPECT_TRUE(vif_.is_connected());
    }
    bool is_found_with(const std::string& name, const std::string& value) {
        store_.nodes[ours + name] = value;
        return Vif().find(client_);
    }

    fake::Store store_;
    Xenstore client_;
    Vif vif_;
};

TEST_F(Device, IsFound) {
    ASSERT_TRUE(vif_.find(client_));
    EXPECT_EQ(vif_.address(), (Vif::Address{0x52, 0x54, 0x00, 0xab, 0x0c, 0xff}));
    EXPECT_EQ(vif_.backend(), 0U);
}

TEST_F(Device, IsNotThereWithoutOne) {
    store_.nodes.clear();
    EXPECT_FALSE(vif_.find(client_));
}

TEST_F(Device, HasAnAddress) {
    for (const char* const wrong :
         {"", "52:54:00:12:34", "52:54:00:12:34:5", "52:54:00:12:34:56:78", "52-54-00-12-34-56",
          "52:54:00:12:34:5g", "53:54:00:12:34:56", "52:54:00:12:34:+6"}) {
        EXPECT_FALSE(is_found_with("mac", wrong)) << wrong;
    }
    EXPECT_FALSE(is_found_with("mac", std::string(1000, '5')));
    EXPECT_TRUE(is_found_with("mac", "00:16:3e:00:00:01"));
}

TEST_F(Device, HasABackend) {
    for (const char* const wrong : {"", "-1", "32752", "4294967296", "99999999999999999999", "0x1", "1 "}) {
        EXPECT_FALSE(is_found_with("backend-id", wrong)) << wrong;
    }
    EXPECT_TRUE(is_found_with("backend-id", "32751"));
    EXPECT_FALSE(is_found_with("backend", "relative"));
    EXPECT_FALSE(is_found_with("backend", ""));
    EXPECT_FALSE(is_found_with("backend", "/" + std::string(250, 'x'))); // with its /state
}

TEST_F(Device, OffersItsRingsWhenTheBackendWaits) {
    offer();
    EXPECT_FALSE(vif_.is_connected());
    EXPECT_FALSE(store_.nodes.contains(ours + "tx-ring-ref"));
    tell(XenbusStateInitWait);
    EXPECT_FALSE(vif_.is_connected());
    EXPECT_EQ(store_.nodes[ours + "tx-ring-ref"], "8");
    EXPECT_EQ(store_.nodes[ours + "rx-ring-ref"], "9");
    EXPECT_EQ(store_.nodes[ours + "event-channel"], "4000000000");
    EXPECT_EQ(store_.nodes[ours + "request-rx-copy"], "1");
    EXPECT_EQ(store_.nodes[ours + "feature-rx-notify"], "1");
    EXPECT_FALSE(store_.nodes.contains(ours + "feature-no-csum-offload"));
    EXPECT_EQ(store_.nodes[ours + "feature-ipv6-csum-offload"], "0");
    EXPECT_EQ(store_.nodes[ours + "feature-gso-tcpv4"], "1");
    EXPECT_EQ(store_.nodes[ours + "feature-sg"], "1");
    EXPECT_EQ(store_.nodes[ours + "state"], "4");
    tell(XenbusStateConnected);
    EXPECT_TRUE(vif_.is_connected());
    EXPECT_TRUE(vif_.is_connected());
}

TEST_F(Device, SendsPiecesWhereTheBackendTakesThem) {
    for (const auto& [feature, takes] :
         {std::pair("1", true), std::pair("0", false), std::pair("2", false)}) {
        Vif another;
        std::swap(vif_, another);
        store_.set(theirs + "/feature-sg", feature);
        connect();
        EXPECT_EQ(vif_.takes_pieces(), takes) << feature;
    }
}

TEST_F(Device, LeavesWorkToABackendThatTakesPiecesAndSegments) {
    for (const auto& [pieces, segments] :
         {std::pair("1", "1"), std::pair("0", "1"), std::pair("1", "0"), std::pair("1", "x")}) {
        Vif another;
        std::swap(vif_, another);
        store_.set(theirs + "/feature-sg", pieces);
        store_.set(theirs + "/feature-gso-tcpv4", segments);
        connect();
        EXPECT_EQ(vif_.takes_unfinished(), pieces == std::string("1") && segments == std::string("1"));
    }
}

TEST_F(Device, IsNotConnectedByABackendThatKnowsNoRings) {
    offer();
    tell(XenbusStateConnected);
    EXPECT_FALSE(vif_.is_connected());
}

TEST_F(Device, ClosesBehindItsBackend) {
    for (const XenbusState end : {XenbusStateClosing, XenbusStateClosed}) {
        Vif another;
        std::swap(vif_, another);
        connect();
        tell(end);
        EXPECT_FALSE(vif_.is_connected());
        EXPECT_TRUE(vif_.is_closed());
        EXPECT_EQ(store_.nodes[ours + "state"], "6");
        tell(XenbusStateConnected);
        EXPECT_FALSE(vif_.is_connected());
    }
}

TEST_F(Device, ClosesWhereTheStateMakesNoSense) {
    for (const char* const state : {"", "9", "four", "4294967300"}) {
        Vif another;
        std::swap(vif_, another);
        connect();
        store_.set(theirs + "/state", state);
        EXPECT_FALSE(vif_.is_connected()) << state;
    }
}

TEST_F(Device, SurvivesALostStore) {
    connect();
    store_.ring->rsp_prod += XENSTORE_RING_SIZE + 1;
    EXPECT_TRUE(vif_.is_connected()); // the rings are still there
}

TEST(FixedText, IsVoidWhereItHasNoRoom) {
    FixedText<8> text;
    text << "ab" << std::uint32_t{0} << std::uint32_t{12345};
    EXPECT_EQ(text.view(), "ab012345");
    text << "";
    EXPECT_EQ(text.view(), "ab012345");
    text << "x";
    EXPECT_EQ(text.view(), "");
    text << "y";
    EXPECT_EQ(text.view(), "");
    FixedText<10> number;
    number << ~std::uint32_t{0};
    EXPECT_EQ(number.view(), "4294967295");
}

} // namespace
} // namespace previrt::xen
