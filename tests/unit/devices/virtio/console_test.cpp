// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/devices/virtio/console_machine.hpp"

#include <gtest/gtest.h>
#include <string>
#include <string_view>

namespace previrt {
namespace {

using console_port::Event;

// Of the specification.
enum Message : std::uint16_t {
    device_ready = 0,
    device_add = 1,
    port_ready = 3,
    console_port_is = 4,
    port_open = 6,
    port_name = 7
};

struct Control {
    std::uint32_t id;
    std::uint16_t event;
    std::uint16_t value;
    bool operator==(const Control&) const = default;
};

class Console : public testing::Test, protected ConsoleMachine {
protected:
    static constexpr std::uint64_t controls = 16 * page;
    static constexpr std::uint64_t answers = 20 * page;
    static constexpr std::uint64_t data = 32 * page;
    static constexpr std::uint32_t nobody = ~std::uint32_t{0}; // Linux's, if no port is meant

    void give_answer_buffers(std::uint16_t count) {
        for (std::uint16_t i = 0; i < count; ++i) {
            describe(control_receive_queue, i, answers + (i * std::uint64_t{64}), 64, write);
            offer(control_receive_queue, i);
        }
    }
    void send_control(std::uint32_t id, Message event, std::uint16_t value) {
        ram.store(controls, id);
        ram.store(controls + 4, std::uint16_t{event});
        ram.store(controls + 6, value);
        describe(control_transmit_queue, 0, controls, 8);
        offer(control_transmit_queue, 0);
        kick(control_transmit_queue);
    }
    Control answer(unsigned number) {
        const std::uint64_t at = answers + (number * std::uint64_t{64});
        return {ram.load<std::uint32_t>(at), ram.load<std::uint16_t>(at + 4),
                ram.load<std::uint16_t>(at + 6)};
    }
    std::uint32_t written(std::uint16_t queue, unsigned entry) {
        return ram.load<std::uint32_t>(used + (queue * queue_stride) + 8 + (std::uint64_t{8} * entry));
    }
    void store(std::uint64_t address, std::string_view text) {
        std::memcpy(ram.at(address, text.size()), text.data(), text.size());
    }
    std::string load(std::uint64_t address, std::size_t bytes) {
        const std::uint8_t* const first = ram.at(address, bytes);
        return {first, first + bytes};
    }
    void give_buffer(std::uint16_t queue, std::uint32_t bytes = page) {
        describe(queue, 0, data, bytes, write);
        offer(queue, 0);
    }
    // A program of the guest has it.
    void open_port(std::uint32_t port = 1) {
        send_control(port, port_ready, 1);
        send_control(port, port_open, 1);
    }
    void write_port(std::string_view text, std::uint16_t queue = port_transmit_queue) {
        store(data, text);
        describe(queue, 0, data, static_cast<std::uint32_t>(text.size()));
        offer(queue, 0);
        kick(queue);
    }
};

TEST_F(Console, FunctionAndRegistersAreThoseOfTheSpecification) {
    Pci pci;
    const PciFunction* const function = VirtioConsole::add_function(pci, 2);
    ASSERT_NE(function, nullptr);
    EXPECT_EQ(function->read(0, 4), 0x1043'1af4U);
    EXPECT_EQ(get(device_feature, 4), 2U | 1U << 28U);
    EXPECT_EQ(get(num_queues, 2), 16U);
    EXPECT_EQ(get(0x40, 2), 0U); // columns
    EXPECT_EQ(get(0x42, 2), 0U); // rows
    EXPECT_EQ(get(0x44, 4), 7U); // ports
    EXPECT_EQ(refused, 0U);
    EXPECT_FALSE(console.read(0x40, 4));
    EXPECT_FALSE(console.read(0x48, 4));
    EXPECT_FALSE(console.write(0x48, 4, 'x'));
}

TEST_F(Console, DriverLearnsOfThePorts) {
    start();
    give_answer_buffers(8);
    kick(control_receive_queue);
    EXPECT_EQ(used_index(control_receive_queue), 0U);
    send_control(nobody, device_ready, 1);
    ASSERT_EQ(used_index(control_receive_queue), 2U);
    EXPECT_EQ(answer(0), (Control{0, device_add, 1}));
    EXPECT_EQ(answer(1), (Control{1, device_add, 1}));
    EXPECT_EQ(written(control_receive_queue, 0), 8U);
    EXPECT_TRUE(console.interrupt_line());

    send_control(0, port_ready, 1);
    send_control(1, port_ready, 1);
    ASSERT_EQ(used_index(control_receive_queue), 6U);
    EXPECT_EQ(answer(2), (Control{0, console_port_is, 1}));
    EXPECT_EQ(answer(3), (Control{0, port_open, 1}));
    EXPECT_EQ(answer(4), (Control{1, port_name, 1}));
    EXPECT_EQ(written(control_receive_queue, 4), 14U); // no zero behind it
    EXPECT_EQ(load(answers + (std::uint64_t{4} * 64) + 8, 6), "a port");
    EXPECT_EQ(answer(5), (Control{1, port_open, 1}));
    EXPECT_FALSE(needs_reset());
}

TEST_F(Console, MessagesWaitForBuffers) {
    start();
    send_control(nobody, device_ready, 1);
    give_answer_buffers(1);
    kick(control_receive_queue);
    EXPECT_EQ(answer(0), (Control{0, device_add, 1}));
    offer(control_receive_queue, 0);
    kick(control_receive_queue);
    EXPECT_EQ(answer(0), (Control{1, device_add, 1}));
    EXPECT_EQ(used_index(control_receive_queue), 2U);
}

TEST_F(Console, MessagesThatMeanNothingAreIgnored) {
    start();
    give_answer_buffers(8);
    send_control(2, port_ready, 1); // there is no such port
    send_control(7, port_ready, 1);
    send_control(nobody, port_open, 1);
    send_control(nobody, device_ready, 0); // the driver has failed
    send_control(1, port_ready, 0);
    send_control(1, Message{99}, 1);
    EXPECT_EQ(used_index(control_receive_queue), 0U);
    EXPECT_EQ(used_index(control_transmit_queue), 6U);
    EXPECT_FALSE(needs_reset());
}

TEST_F(Console, BytesReachTheHost) {
    start();
    write_port("hello");
    write_port("console", console_transmit_queue);
    EXPECT_EQ(sent,
              (std::vector<Packet>{packet(1, Event::bytes, "hello"), packet(0, Event::bytes, "console")}));
    EXPECT_EQ(used_index(port_transmit_queue), 1U);
    EXPECT_EQ(used_index(console_transmit_queue), 1U);
    EXPECT_TRUE(console.interrupt_line());
    EXPECT_FALSE(console.waits_for_room());
}

TEST_F(Console, ManyBytesGoInPieces) {
    start();
    std::string text(70'000, '?');
    for (std::size_t i = 0; i < text.size(); ++i) {
        text[i] = static_cast<char>((i * 7) + (i / 256));
    }
    room_for = 1;
    write_port(text);
    EXPECT_EQ(used_index(port_transmit_queue), 0U);
    EXPECT_TRUE(console.waits_for_room());
    room_for = 2;
    serve(); // without a notification
    EXPECT_EQ(used_index(port_transmit_queue), 0U);
    room_for = 3;
    serve();
    EXPECT_EQ(used_index(port_transmit_queue), 1U);
    EXPECT_FALSE(console.waits_for_room());
    ASSERT_EQ(sent.size(), 3U);
    EXPECT_EQ(sent[0], packet(1, Event::bytes, text.substr(0, 32'768)));
    EXPECT_EQ(sent[1], packet(1, Event::bytes, text.substr(32'768, 32'768)));
    EXPECT_EQ(sent[2], packet(1, Event::bytes, text.substr(65'536)));
    write_port("the next");
    EXPECT_EQ(used_index(port_transmit_queue), 1U);
    room_for = 4;
    serve();
    EXPECT_EQ(sent.back(), packet(1, Event::bytes, "the next"));
}

TEST_F(Console, HostIsAskedOnlyForBytesThatAProgramWants) {
    start();
    give_buffer(port_receive_queue);
    kick(port_receive_queue);
    EXPECT_TRUE(sent.empty());
    open_port();
    EXPECT_EQ(sent, std::vector<Packet>{packet(1, Event::wants)});
    serve();
    EXPECT_EQ(sent.size(), 1U); // once
    for_guest.push_back(packet(1, Event::bytes, "input"));
    serve();
    EXPECT_TRUE(for_guest.empty());
    EXPECT_EQ(load(data, 5), "input");
    EXPECT_EQ(written(port_receive_queue, 0), 5U);
    EXPECT_TRUE(console.interrupt_line());
    EXPECT_EQ(sent.size(), 1U); // there is no buffer
    offer(port_receive_queue, 0);
    kick(port_receive_queue);
    EXPECT_EQ(sent.size(), 2U);
}

TEST_F(Console, QuestionsWaitForRoomAtTheHost) {
    start();
    give_buffer(port_receive_queue);
    room_for = 0;
    open_port();
    EXPECT_TRUE(sent.empty());
    room_for = 1;
    serve();
    EXPECT_EQ(sent.size(), 1U);
}

TEST_F(Console, LongPacketsAreCutToTheDriversBuffers) {
    start();
    give_buffer(port_receive_queue, 3);
    open_port();
    for_guest.push_back(packet(1, Event::bytes, "hello"));
    serve();
    EXPECT_EQ(load(data, 3), "hel");
    EXPECT_EQ(for_guest.size(), 1U);
    EXPECT_EQ(sent.size(), 1U);
    offer(port_receive_queue, 0);
    serve();
    EXPECT_EQ(load(data, 2), "lo");
    EXPECT_EQ(written(port_receive_queue, 1), 2U);
    EXPECT_TRUE(for_guest.empty());
}

TEST_F(Console, EndComesBehindTheLastBytes) {
    start();
    give_answer_buffers(8);
    open_port();
    const std::uint16_t before = used_index(control_receive_queue); // name, open
    EXPECT_EQ(before, 2U);
    for_guest.push_back(packet(1, Event::bytes, "last"));
    for_guest.push_back(packet(1, Event::ended));
    serve();
    EXPECT_EQ(used_index(control_receive_queue), before); // no buffer for the bytes
    give_buffer(port_receive_queue);
    kick(port_receive_queue);
    EXPECT_EQ(load(data, 4), "last");
    ASSERT_EQ(used_index(control_receive_queue), before + 1U);
    EXPECT_EQ(answer(2), (Control{1, port_open, 0}));
    // Nothing more is asked for, and the next driver learns that it is closed.
    sent.clear();
    offer(port_receive_queue, 0);
    kick(port_receive_queue);
    EXPECT_TRUE(sent.empty());
    send_control(1, port_ready, 1);
    EXPECT_EQ(answer(4), (Control{1, port_open, 0}));
}

TEST_F(Console, BytesForAClosedPortAreDropped) {
    start();
    give_buffer(port_receive_queue);
    open_port();
    send_control(1, port_open, 0);
    for_guest.push_back(packet(1, Event::bytes, "late"));
    for_guest.push_back(packet(2, Event::bytes, "no such port"));
    for_guest.push_back(packet(99, Event::bytes, "none at all"));
    for_guest.push_back(packet(1, Event::wants)); // the device's word
    for_guest.push_back(packet(1, Event::bytes));
    for_guest.emplace_back(7);
    serve();
    EXPECT_TRUE(for_guest.empty());
    EXPECT_EQ(used_index(port_receive_queue), 0U);
    EXPECT_FALSE(needs_reset());
    sent.clear();
    send_control(1, port_open, 1);
    EXPECT_EQ(sent, std::vector<Packet>{packet(1, Event::wants)}); // for the next reader
}

TEST_F(Console, BytesOfAPortThatTheHostDoesNotHaveAreLost) {
    console = {};
    console.start();
    console.insert(0, "");
    start();
    write_port("hello");
    EXPECT_TRUE(sent.empty());
    EXPECT_EQ(used_index(port_transmit_queue), 1U);
    EXPECT_FALSE(console.waits_for_room());
}

TEST_F(Console, WithoutTheFeatureThereIsTheConsole) {
    start(indirect_tables | version_1);
    give_answer_buffers(2);
    give_buffer(console_receive_queue);
    send_control(nobody, device_ready, 1);
    EXPECT_EQ(used_index(control_receive_queue), 0U);
    EXPECT_EQ(sent, std::vector<Packet>{packet(0, Event::wants)});
    for_guest.push_back(packet(0, Event::bytes, "typed"));
    serve();
    EXPECT_EQ(load(data, 5), "typed");
    write_port("shown", console_transmit_queue);
    EXPECT_EQ(sent.back(), packet(0, Event::bytes, "shown"));
}

TEST_F(Console, NextDriverBeginsAnew) {
    start();
    give_buffer(port_receive_queue, 2);
    open_port();
    for_guest.push_back(packet(1, Event::bytes, "hello"));
    serve();
    set(device_status, 1, 0);
    EXPECT_EQ(get(device_status, 1), 0U);
    for (std::uint16_t queue = 0; queue < linux_queues; ++queue) {
        ram.store<std::uint16_t>(available + (queue * queue_stride) + 2, 0);
    }
    start();
    serve();
    EXPECT_TRUE(for_guest.empty()); // nobody has the port any more
    give_buffer(port_receive_queue);
    sent.clear();
    open_port();
    EXPECT_EQ(sent, std::vector<Packet>{packet(1, Event::wants)});
    for_guest.push_back(packet(1, Event::bytes, "whole"));
    serve();
    EXPECT_EQ(load(data, 5), "whole");
}

TEST_F(Console, ResetLastsUntilAllIsSent) {
    start();
    room_for = 0;
    write_port("the last words");
    EXPECT_TRUE(console.waits_for_room());
    const std::uint32_t status = get(device_status, 1);
    set(device_status, 1, 0);
    EXPECT_EQ(get(device_status, 1), status);
    for_guest.push_back(packet(1, Event::ended)); // is for the next driver
    serve();
    EXPECT_EQ(get(device_status, 1), status);
    room_for = 1;
    serve();
    EXPECT_EQ(sent, std::vector<Packet>{packet(1, Event::bytes, "the last words")});
    EXPECT_EQ(get(device_status, 1), 0U);
    EXPECT_FALSE(console.waits_for_room());
    EXPECT_EQ(for_guest.size(), 1U);
    EXPECT_EQ(refused, 0U);
}

TEST_F(Console, ResetOfABrokenDeviceDoesNotWait) {
    start();
    room_for = 0;
    write_port("hello");
    set(device_status, 1, 0);
    describe(port_transmit_queue, 0, ram_bytes, 10);
    room_for = 1;
    serve();
    EXPECT_EQ(get(device_status, 1), 0U);
    EXPECT_TRUE(sent.empty());
}

TEST_F(Console, NothingMovesBeforeItIsRunning) {
    accept(all_features);
    for (std::uint16_t queue = 0; queue < linux_queues; ++queue) {
        enable_queue(queue);
    }
    write_port("early");
    for_guest.push_back(packet(1, Event::ended));
    serve();
    EXPECT_TRUE(sent.empty());
    EXPECT_EQ(for_guest.size(), 1U);
    set(device_status, 1, 15);
    kick(port_transmit_queue);
    EXPECT_EQ(sent.size(), 1U);
    EXPECT_TRUE(for_guest.empty());
}

// Buffers that cannot be: the device says so, and does nothing more until its reset.
class BrokenConsole : public Console, public testing::WithParamInterface<unsigned> {};

TEST_P(BrokenConsole, NeedsAReset) {
    start();
    std::uint16_t queue = port_transmit_queue;
    switch (GetParam()) {
    case 0: // not to be read
        describe(queue, 0, data, 10, write);
        break;
    case 1: // outside RAM
        describe(queue, 0, ram_bytes - 5, 10);
        break;
    case 2:
        describe(queue, 0, ~std::uint64_t{0} - 5, 10);
        break;
    case 3:                                     // more than there can be
        for (std::uint16_t i = 0; i < 7; ++i) { // all of it is RAM
            describe(queue, i, 0, 0x30000, i < 6 ? next : 0, static_cast<std::uint16_t>(i + 1));
        }
        break;
    case 4: // a message that is too short
        queue = control_transmit_queue;
        describe(queue, 0, controls, 7);
        break;
    case 5: // no room for a message
        send_control(nobody, device_ready, 1);
        queue = control_receive_queue;
        describe(queue, 0, answers, 7, write);
        break;
    case 6: // none for a name
        send_control(1, port_ready, 1);
        queue = control_receive_queue;
        describe(queue, 0, answers, 13, write);
        break;
    default:
        open_port();
        for_guest.push_back(packet(1, Event::bytes, "hello"));
        queue = port_receive_queue;
    }
    switch (GetParam()) {
    case 7: // not to be written
        describe(queue, 0, data, 10);
        break;
    case 8: // outside RAM
        describe(queue, 0, ram_bytes - 4, 10, write);
        break;
    case 9: // no room
        describe(queue, 0, data, 0, write);
        break;
    default:
        break;
    }
    offer(queue, 0);
    kick(queue);
    EXPECT_TRUE(needs_reset());
    EXPECT_EQ(used_index(queue), 0U);
    sent.clear();
    kick(port_transmit_queue);
    EXPECT_TRUE(sent.empty());
}
INSTANTIATE_TEST_SUITE_P(All, BrokenConsole, testing::Range(0U, 10U));

} // namespace
} // namespace previrt
