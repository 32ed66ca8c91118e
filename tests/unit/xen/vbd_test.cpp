// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/vbd.hpp"

#include "backends/xen/blkif.hpp"
#include "tests/unit/xen/fake_store.hpp"

#include <array>
#include <gtest/gtest.h>

extern "C" {
#include <xen/io/xenbus.h>
}

namespace previrt::xen {
namespace {

constexpr std::uint32_t number = 51712; // xvda
const std::string ours = "device/vbd/51712/";
const std::string theirs = "/local/domain/0/backend/vbd/1/51712";

class BlockDevice : public testing::Test {
protected:
    BlockDevice() {
        client_.start(*store_.ring, 1);
        store_.nodes[ours + "backend"] = theirs;
        store_.nodes[ours + "backend-id"] = "3";
        store_.nodes[ours + "state"] = "1";
        store_.nodes[theirs + "/mode"] = "w";
        store_.nodes[theirs + "/sectors"] = "2048";
        store_.nodes[theirs + "/sector-size"] = "512";
        store_.nodes[theirs + "/info"] = "0";
        store_.nodes[theirs + "/feature-flush-cache"] = "1";
        store_.nodes[theirs + "/feature-barrier"] = "1";
        store_.nodes[theirs + "/feature-discard"] = "1";
    }

    void tell(XenbusState state) { store_.set(theirs + "/state", std::to_string(state)); }
    bool connect() {
        vbd_ = {};
        EXPECT_TRUE(vbd_.find(client_, number));
        tell(XenbusStateInitialising);
        vbd_.offer({.ring = 8, .port = 9});
        tell(XenbusStateInitWait);
        EXPECT_FALSE(vbd_.is_connected());
        tell(XenbusStateConnected);
        return vbd_.is_connected();
    }
    bool connects_with(const std::string& name, const std::string& value) {
        const std::string before = store_.nodes[theirs + name];
        store_.nodes[theirs + name] = value;
        const bool connects = connect();
        store_.nodes[theirs + name] = before;
        return connects;
    }

    fake::Store store_;
    Xenstore client_;
    Vbd vbd_;
};

TEST_F(BlockDevice, OffersItsRingWhenTheBackendWaits) {
    ASSERT_TRUE(vbd_.find(client_, number));
    EXPECT_EQ(vbd_.backend(), 3U);
    tell(XenbusStateInitialising);
    vbd_.offer({.ring = 8, .port = 4'000'000'000});
    EXPECT_FALSE(vbd_.is_connected());
    EXPECT_FALSE(store_.nodes.contains(ours + "ring-ref"));
    tell(XenbusStateInitWait);
    EXPECT_FALSE(vbd_.is_connected());
    EXPECT_EQ(store_.nodes[ours + "ring-ref"], "8");
    EXPECT_EQ(store_.nodes[ours + "event-channel"], "4000000000");
    EXPECT_EQ(store_.nodes[ours + "protocol"], "x86_64-abi");
    EXPECT_EQ(store_.nodes[ours + "feature-persistent"], "1");
    EXPECT_EQ(store_.nodes[ours + "state"], "3");
    tell(XenbusStateConnected);
    EXPECT_TRUE(vbd_.is_connected());
    EXPECT_EQ(store_.nodes[ours + "state"], "4");
}

TEST_F(BlockDevice, IsNotConnectedByABackendThatKnowsNoRing) {
    ASSERT_TRUE(vbd_.find(client_, number));
    vbd_.offer({.ring = 8, .port = 9});
    tell(XenbusStateConnected);
    EXPECT_FALSE(vbd_.is_connected());
    EXPECT_FALSE(vbd_.is_closed());
}

TEST_F(BlockDevice, IsDescribedByItsBackend) {
    ASSERT_TRUE(connect());
    EXPECT_EQ(vbd_.disk().bytes, 1U << 20U);
    EXPECT_EQ(vbd_.disk().block_bytes, 512U);
    EXPECT_FALSE(vbd_.disk().is_read_only);
    EXPECT_TRUE(vbd_.disk().keeps_writes);
    EXPECT_TRUE(vbd_.disk().discards);
    EXPECT_EQ(vbd_.flush_operation(), BLKIF_OP_FLUSH_DISKCACHE);
}

// Sectors have 512 bytes all the same.
TEST_F(BlockDevice, HasLargeBlocks) {
    ASSERT_TRUE(connects_with("/sector-size", "4096"));
    EXPECT_EQ(vbd_.disk().bytes, 1U << 20U);
    EXPECT_EQ(vbd_.disk().block_bytes, 4096U);
    store_.nodes[theirs + "/sector-size"] = "4096";
    EXPECT_FALSE(connects_with("/sectors", "2047"));
}

TEST_F(BlockDevice, IsReadOnlyWhereTheBackendSaysSo) {
    ASSERT_TRUE(connects_with("/mode", "r"));
    EXPECT_TRUE(vbd_.disk().is_read_only);
    EXPECT_FALSE(vbd_.disk().keeps_writes);
    EXPECT_FALSE(vbd_.disk().discards);
    ASSERT_TRUE(connects_with("/info", "5"));
    EXPECT_TRUE(vbd_.disk().is_read_only);
    ASSERT_TRUE(connects_with("/info", "3"));
    EXPECT_FALSE(vbd_.disk().is_read_only);
}

TEST_F(BlockDevice, FlushesAsTheBackendCan) {
    ASSERT_TRUE(connects_with("/feature-flush-cache", "0"));
    EXPECT_TRUE(vbd_.disk().keeps_writes);
    EXPECT_EQ(vbd_.flush_operation(), BLKIF_OP_WRITE_BARRIER);
    store_.nodes.erase(theirs + "/feature-flush-cache");
    store_.nodes.erase(theirs + "/feature-barrier");
    store_.nodes.erase(theirs + "/feature-discard");
    ASSERT_TRUE(connect());
    EXPECT_FALSE(vbd_.disk().keeps_writes);
    EXPECT_EQ(vbd_.flush_operation(), 0);
    EXPECT_FALSE(vbd_.disk().discards);
}

TEST_F(BlockDevice, ThatNoGuestCanHaveIsClosed) {
    for (const auto& [name, value] :
         {std::pair("/sectors", "0"), std::pair("/sectors", ""), std::pair("/sectors", "-1"),
          std::pair("/sectors", "36028797018963968"), // 2^55: 2^64 bytes
          std::pair("/sectors", "18446744073709551617"), std::pair("/sector-size", "0"),
          std::pair("/sector-size", "1024"), std::pair("/sector-size", "4097"),
          std::pair("/sector-size", "4294967808")}) {
        EXPECT_FALSE(connects_with(name, value)) << name << " " << value;
        EXPECT_TRUE(vbd_.is_closed());
        EXPECT_EQ(store_.nodes[ours + "state"], "6");
    }
    EXPECT_TRUE(connects_with("/sectors", "36028797018963967"));
    EXPECT_EQ(vbd_.disk().bytes, ~std::uint64_t{0} - 511);
}

TEST_F(BlockDevice, HasABackend) {
    store_.nodes[ours + "backend"] = "relative";
    EXPECT_FALSE(vbd_.find(client_, number));
    store_.nodes.erase(ours + "backend");
    EXPECT_FALSE(vbd_.find(client_, number));
    EXPECT_FALSE(vbd_.find(client_, number + 1));
}

TEST_F(BlockDevice, ClosesBehindItsBackend) {
    for (const XenbusState end : {XenbusStateClosing, XenbusStateClosed, XenbusState(9)}) {
        ASSERT_TRUE(connect());
        tell(end);
        EXPECT_FALSE(vbd_.is_connected());
        EXPECT_TRUE(vbd_.is_closed());
        EXPECT_EQ(store_.nodes[ours + "state"], "6");
        tell(XenbusStateConnected);
        EXPECT_FALSE(vbd_.is_connected());
    }
}

TEST_F(BlockDevice, KeepsWhatItsBackendSaidFirst) {
    ASSERT_TRUE(connect());
    store_.set(theirs + "/sectors", "8");
    tell(XenbusStateConnected);
    EXPECT_TRUE(vbd_.is_connected());
    EXPECT_EQ(vbd_.disk().bytes, 1U << 20U);
}

TEST_F(BlockDevice, AnEventIsOneForAllDevices) {
    Vbd other;
    store_.nodes["device/vbd/51728/backend"] = "/other";
    store_.nodes["device/vbd/51728/backend-id"] = "0";
    store_.nodes["/other/state"] = "2";
    ASSERT_TRUE(other.find(client_, 51728));
    other.offer({.ring = 1, .port = 2});
    ASSERT_TRUE(connect());
    EXPECT_FALSE(other.is_connected());
    EXPECT_EQ(store_.nodes["device/vbd/51728/state"], "3");
}

TEST_F(BlockDevice, TheLowestNumbersAreFoundInOrder) {
    std::array<std::uint32_t, 3> found{};
    EXPECT_EQ(find_devices(client_, Vbd::directory, found), 1U);
    EXPECT_EQ(found[0], number);
    for (const char* const other : {"768", "51760", "51744", "4294967296", "x", "51728"}) {
        store_.nodes[std::string("device/vbd/") + other + "/backend"] = "";
    }
    EXPECT_EQ(find_devices(client_, Vbd::directory, found), 5U);
    EXPECT_EQ(found, (std::array<std::uint32_t, 3>{768, 51712, 51728}));
    EXPECT_EQ(find_devices(client_, "device/none", found), 0U);
}

} // namespace
} // namespace previrt::xen
