// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "tests/unit/devices/dp83820/card.hpp"

namespace previrt {

// A driver that does to the card what Linux' ns83820 does, access by access, with 64-bit descriptors. It
// notes what Linux would tell of it.
class LinuxDriver {
public:
    explicit LinuxDriver(Card& its_card) : card(its_card) {}

    void probe();
    void open();
    void close();
    // False: the ring is full, and the stack has to wait.
    bool transmit(const std::vector<Bytes>& fragments, std::uint32_t extsts = 0);

    // Until nothing happens by itself: interrupts, tasklet, the VMM's batches, time. False if that has no
    // end.
    bool settle();

    ethernet::MacAddress address{};
    std::vector<Bytes> received;              // what the stack got
    std::vector<std::uint32_t> received_tags; // extsts of each
    std::vector<Bytes> sent;                  // what came out at the cable
    bool carrier = false;
    bool queue_stopped = false;
    std::uint64_t sent_packets = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t sent_errors = 0;
    std::uint64_t dropped = 0; // received without OK
    std::uint64_t overruns = 0;
    std::uint64_t interrupts = 0;

private:
    static constexpr unsigned receive_slots = 64;
    static constexpr unsigned transmit_slots = 128;
    static constexpr std::uint32_t stride = 32;
    static constexpr std::uint32_t receive_list = 0x1000;
    static constexpr std::uint32_t transmit_list = 0x2000;
    static constexpr std::uint32_t receive_buffers = 0x1'0000;
    static constexpr std::uint32_t transmit_buffers = 0x10'0000;
    static constexpr std::uint32_t buffer_stride = 0x1000;
    static constexpr std::uint32_t buffer_bytes = 1514;
    static constexpr std::uint32_t empty_marker = dp83820::cmdsts_own;
    static constexpr DescriptorLayout layout{.wide = true};

    static std::uint32_t receive_at(unsigned index) { return receive_list + (index * stride); }
    static std::uint32_t transmit_at(unsigned index) { return transmit_list + (index * stride); }
    void reset();
    void self_test(std::uint32_t enable, std::uint32_t done, std::uint32_t failed);
    void check_link();
    void set_multicast();
    void empty_receive_slot(unsigned index);
    [[nodiscard]] unsigned free_receive_slots() const;
    void refill();
    void kick_receiver();
    void interrupt();
    void tasklet();
    void walk_received();
    void walk_sent();

    Card& card;
    std::uint32_t cfg = 0;
    std::uint32_t mask = 0;
    bool up = false;
    bool receiver_idle = false;
    bool tasklet_due = false;
    unsigned next_receive = 0;
    unsigned next_empty = 0;
    unsigned transmit_done = 0;
    unsigned transmit_free = 0;
    unsigned transmit_interrupt = 0;
};

} // namespace previrt
