// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/xenstore.hpp"

#include "tests/unit/xen/fake_store.hpp"

#include <cstring>
#include <gtest/gtest.h>

namespace previrt::xen {
namespace {

std::string message(const xsd_sockmsg& header, const std::string& text) {
    std::string bytes(sizeof(header), 0);
    std::memcpy(bytes.data(), &header, sizeof(header));
    return bytes + text;
}

class Client : public testing::Test {
protected:
    Client() { client_.start(*store_.ring, 1); }

    std::string read(const std::string& name) {
        return std::string(client_.read(name, room_).value_or("none"));
    }
    // Nothing succeeds any more, and nothing is asked.
    void expect_broken() {
        EXPECT_EQ(read("a"), "none");
        store_.lie = {};
        store_.nodes["a"] = "1";
        const std::uint32_t before = store_.ring->req_prod;
        EXPECT_EQ(read("a"), "none");
        EXPECT_FALSE(client_.write("a", "2"));
        EXPECT_EQ(store_.ring->req_prod, before);
    }

    fake::Store store_;
    Xenstore client_;
    char room_[64] = {};
};

TEST_F(Client, ReadsAndWrites) {
    store_.nodes["a/b"] = "value";
    EXPECT_EQ(read("a/b"), "value");
    EXPECT_EQ(read("a/c"), "none");
    EXPECT_TRUE(client_.write("a/c", ""));
    EXPECT_EQ(read("a/c"), "");
    EXPECT_TRUE(client_.write("a/b", "another"));
    EXPECT_EQ(store_.nodes["a/b"], "another");
}

TEST_F(Client, FindsTheNamesBelow) {
    EXPECT_FALSE(client_.names_below("device/vif", room_));
    store_.nodes["device/vif/3/mac"] = "";
    store_.nodes["device/vif/4/mac"] = "";
    EXPECT_EQ(client_.names_below("device/vif", room_), std::string_view("3\0004\0", 4));
}

TEST_F(Client, WhatHasNoRoomIsPassedOver) {
    store_.nodes["long"] = std::string(sizeof(room_) + 1, 'x');
    store_.nodes["longer"] = std::string(XENSTORE_PAYLOAD_MAX, 'x');
    store_.nodes["right"] = std::string(sizeof(room_), 'y');
    EXPECT_EQ(read("long"), "none");
    EXPECT_EQ(read("longer"), "none");
    EXPECT_EQ(read("right"), std::string(sizeof(room_), 'y'));
}

TEST_F(Client, LongTextsGoThroughTheRingInPieces) {
    for (unsigned i = 0; i < 20; ++i) {
        const std::string value(3000 + i, static_cast<char>('a' + i));
        EXPECT_TRUE(client_.write("node", value));
        EXPECT_EQ(store_.nodes["node"], value);
    }
    EXPECT_FALSE(client_.write("node", std::string(XENSTORE_PAYLOAD_MAX, 'x'))); // with its name
    EXPECT_TRUE(client_.write("node", "short"));
}

TEST_F(Client, EventsComeAtAnyTime) {
    EXPECT_EQ(client_.events(), 0U);
    EXPECT_TRUE(client_.watch("a"));
    EXPECT_EQ(client_.events(), 1U); // at once
    EXPECT_EQ(client_.events(), 1U);
    store_.set("a", "1");
    EXPECT_EQ(read("a"), "1"); // behind the event
    EXPECT_EQ(client_.events(), 2U);
    store_.set("a", "2");
    store_.set("a", "3");
    EXPECT_EQ(client_.events(), 4U);
}

TEST_F(Client, AStoreThatDoesNotAnswerIsOut) {
    store_.is_silent = true;
    expect_broken();
}

TEST_F(Client, AnAnswerToAnotherQuestionBreaksIt) {
    store_.lie = [](xsd_sockmsg question) {
        ++question.req_id;
        question.len = 1;
        return message(question, "1");
    };
    expect_broken();
}

TEST_F(Client, AnAnswerOfAnotherKindBreaksIt) {
    store_.lie = [](xsd_sockmsg question) {
        question.type = XS_DIRECTORY;
        question.len = 1;
        return message(question, "1");
    };
    expect_broken();
}

TEST_F(Client, AnAnswerThatIsTooLongBreaksIt) {
    store_.lie = [](xsd_sockmsg question) {
        question.len = XENSTORE_PAYLOAD_MAX + 1;
        return message(question, std::string(question.len, 'x'));
    };
    expect_broken();
}

TEST_F(Client, AnAnswerWithoutItsEndBreaksIt) {
    store_.lie = [](xsd_sockmsg question) {
        question.len = 10;
        return message(question, "12345");
    };
    expect_broken();
}

TEST_F(Client, CountersThatRunAheadBreakIt) {
    store_.ring->rsp_prod = XENSTORE_RING_SIZE + 1;
    expect_broken();
}

TEST_F(Client, CountersThatGoBackBreakIt) {
    store_.ring->req_cons = ~std::uint32_t{0} - XENSTORE_RING_SIZE;
    expect_broken();
}

TEST_F(Client, WhatIsNoEventBreaksIt) {
    store_.say({.type = XS_READ, .req_id = 0, .tx_id = 0, .len = 1}, "1");
    store_.work();
    EXPECT_EQ(client_.events(), 0U);
    expect_broken();
}

} // namespace
} // namespace previrt::xen
