// SPDX-License-Identifier: BSD-2-Clause
// A guest that means no good. That the card writes nowhere else is shown by the sanitizers.
#include "tests/unit/devices/dp83820/card.hpp"

#include <random>

namespace previrt {
namespace {

using namespace dp83820;

class Hostile : public CardTest {
protected:
    Dp83820::Outcome transmit_once() {
        return card.nic
            .transmit(card.ram.memory(), Dp83820::TransmitRoom(room), Dp83820::SentChecksums::complete,
                      card.now)
            .outcome;
    }

    std::array<std::uint8_t, Dp83820::transmit_room> room{};
};

TEST_F(Hostile, ListsOutsideOfRam) {
    for (const std::uint64_t pointer :
         {card.ram.end(), card.ram.end() - 8, std::uint64_t{0xffff'fff8}, ~std::uint64_t{7}}) {
        card.write(at::txdp_hi, static_cast<std::uint32_t>(pointer >> 32U));
        card.write(at::txdp, static_cast<std::uint32_t>(pointer));
        card.write(at::rxdp_hi, static_cast<std::uint32_t>(pointer >> 32U));
        card.write(at::rxdp, static_cast<std::uint32_t>(pointer));
        EXPECT_TRUE(send().empty());
        enable_receiver();
        EXPECT_EQ(card.read(at::isr), isr_rmabt | isr_hibint);
        EXPECT_EQ(card.read(at::cr), 0U);
    }
    EXPECT_EQ(card.nic.statistics.bus_faults, 8U);
}

TEST_F(Hostile, BuffersOutsideOfRam) {
    for (const std::uint32_t buffer : {static_cast<std::uint32_t>(card.ram.end()) - 50, 0xffff'ffffU}) {
        card.write(at::txdp, transmit_at(0));
        card.write(at::rxdp, receive_at(0));
        layout.write(card.ram, transmit_at(0), transmit_at(1), buffer, cmdsts_own | 60U);
        layout.write(card.ram, receive_at(0), receive_at(1), buffer, 1514);
        EXPECT_TRUE(send().empty());
        EXPECT_EQ(transmit_cmdsts(0), cmdsts_own | 60U);
        enable_receiver();
        EXPECT_FALSE(card.receive(plain_frame(60)));
        EXPECT_EQ(receive_cmdsts(0), 1514U);
        EXPECT_EQ(card.read(at::isr), isr_rmabt | isr_hibint);
    }
}

TEST_F(Hostile, ALinkOutsideOfRam) {
    give_to_send(0, plain_frame(60));
    card.ram.store(transmit_at(0), 0xffff'0000U);
    EXPECT_EQ(send().size(), 1U);
    EXPECT_EQ(card.read(at::isr), isr_txok | isr_rmabt | isr_hibint);
    layout.write(card.ram, receive_at(0), 0xffff'0000, receive_buffer(0), 1514);
    enable_receiver();
    EXPECT_TRUE(card.receive(plain_frame(60)));
    EXPECT_EQ(received(0), plain_frame(60));
    EXPECT_EQ(card.read(at::isr), isr_rxok | isr_rmabt | isr_hibint);
}

// What was gathered before goes nowhere, and the next list starts anew.
TEST_F(Hostile, AFaultInTheMiddleOfAPacket) {
    give_to_send(0, Bytes(100, 0xee), cmdsts_more);
    layout.write(card.ram, transmit_at(1), transmit_at(2), 0xffff'0000, cmdsts_own | 60U);
    EXPECT_TRUE(send().empty());
    give_to_send(2, plain_frame(60));
    card.write(at::txdp, transmit_at(2));
    EXPECT_EQ(send(), std::vector<Bytes>{plain_frame(60)});
}

TEST_F(Hostile, ADescriptorThatIsItsOwnSuccessor) {
    layout.write(card.ram, transmit_at(0), transmit_at(0), transmit_buffer(0),
                 cmdsts_own | cmdsts_more | 60U);
    layout.write(card.ram, receive_at(0), receive_at(0), receive_buffer(0), 1);
    EXPECT_TRUE(send().empty());
    enable_receiver();
    EXPECT_TRUE(card.receive(plain_frame(60)));
    EXPECT_EQ(card.read(at::cr), 0U);
    EXPECT_EQ(received(0), Bytes{plain_frame(60)[0]});
}

// A guest on another processor that gives back each descriptor as soon as it is done: a call ends
// nevertheless.
TEST_F(Hostile, ARingThatIsRefilledWhileItIsRead) {
    struct Refiller {
        Ram* ram;
        unsigned reads = 0;

        static std::uint8_t* reach(void* context, std::uint64_t address, std::uint64_t bytes,
                                   GuestMemory::Access access) {
            Refiller& self = *static_cast<Refiller*>(context);
            self.reads += access == GuestMemory::Access::read ? 1 : 0;
            if (address == transmit_at(0)) {
                self.ram->store(transmit_at(0) + 8, cmdsts_own | cmdsts_more);
            } else if (address == receive_at(0)) {
                self.ram->store(receive_at(0) + 8, std::uint32_t{0});
            }
            return self.ram->at(address, bytes);
        }
    };
    Refiller refiller{.ram = &card.ram};
    const GuestMemory memory{.reach = Refiller::reach, .context = &refiller};
    layout.write(card.ram, transmit_at(0), transmit_at(0), transmit_buffer(0), cmdsts_own | cmdsts_more);
    layout.write(card.ram, receive_at(0), receive_at(0), receive_buffer(0), 0);
    card.write(at::cr, cr_txe | cr_rxe);
    EXPECT_EQ(
        card.nic.transmit(memory, Dp83820::TransmitRoom(room), Dp83820::SentChecksums::complete, card.now)
            .outcome,
        Dp83820::Outcome::consumed);
    EXPECT_LE(refiller.reads, 3 * Dp83820::most_descriptors);
    refiller.reads = 0;
    EXPECT_TRUE(card.nic.receive(memory, plain_frame(60), Dp83820::Checksums::unverified, card.now));
    EXPECT_LE(refiller.reads, 3 * Dp83820::most_descriptors);
    EXPECT_TRUE(card.nic.receive_requested()); // the frame still waits
    refiller.reads = 0;
    card.nic.serve_receiver(memory, card.now);
    EXPECT_LE(refiller.reads, 3 * Dp83820::most_descriptors);
    EXPECT_TRUE(card.nic.receive_requested());
}

TEST_F(Hostile, EndlessPacketsAreTooLongInTheEnd) {
    constexpr unsigned slots = 64;
    for (unsigned round = 0; round < 4; ++round) {
        for (unsigned i = 0; i < slots; ++i) {
            layout.write(card.ram, transmit_at(i), transmit_at((i + 1) % slots), transmit_buffer(0),
                         cmdsts_own | cmdsts_more | 60U);
        }
        EXPECT_TRUE(send().empty());
    }
    layout.write(card.ram, transmit_at(0), transmit_at(1), transmit_buffer(0), cmdsts_own | 60U);
    EXPECT_TRUE(send().empty());
    EXPECT_EQ(transmit_cmdsts(0), cmdsts_tx_fifo_underrun | 60U);
    give_to_send(1, plain_frame(60));
    EXPECT_EQ(send(), std::vector<Bytes>{plain_frame(60)});
}

TEST_F(Hostile, BuffersOverTheirOwnDescriptors) {
    layout.write(card.ram, receive_at(0), receive_at(1), receive_at(0), 1514);
    layout.write(card.ram, receive_at(1), receive_at(2), receive_at(0) - 100, 1514);
    enable_receiver();
    EXPECT_TRUE(card.receive(plain_frame(1514)));
    card.serve_receiver();
    layout.write(card.ram, transmit_at(0), transmit_at(0), transmit_at(0), cmdsts_own | 1000U);
    card.write(at::txdp, transmit_at(0));
    EXPECT_EQ(send().size(), 1U);
}

TEST_F(Hostile, SmallestBuffersForTheLargestFrame) {
    constexpr unsigned slots = 0x2400;
    const DescriptorLayout narrow;
    const std::uint32_t list = 0x10'0000;
    for (unsigned i = 0; i < slots; ++i) {
        narrow.write(card.ram, list + (i * 16), list + ((i + 1) * 16), receive_buffer(0) + i, 1);
    }
    card.write(at::rxdp, list);
    card.write(at::cr, cr_rxe);
    EXPECT_TRUE(card.receive(plain_frame(9000)));
    EXPECT_TRUE(card.nic.receive_requested()); // not all in one call
    card.serve_receiver();
    EXPECT_EQ(card.nic.statistics.received_frames, 1U);
    EXPECT_EQ(card.get(receive_buffer(0), 9000), plain_frame(9000));
}

TEST_F(Hostile, DescriptorsOfNoise) {
    std::mt19937 generator(4);
    const auto random = [&] { return static_cast<std::uint32_t>(generator()); };
    for (unsigned round = 0; round < 3000; ++round) {
        for (std::uint32_t at_word = 0; at_word < 64; ++at_word) {
            const std::uint32_t word = random() % 3 == 0 ? random() : random() % (1U << 21U);
            card.ram.store(transmit_at(0) + (4 * at_word), word);
            card.ram.store(receive_at(0) + (4 * at_word), word);
        }
        card.write(at::cfg, (random() % 2 == 0 ? cfg_m64addr : 0) | (random() % 2 == 0 ? cfg_extsts_en : 0));
        card.write(at::txdp_hi, 0); // it follows the links
        card.write(at::txdp, transmit_at(0));
        card.write(at::rxdp_hi, 0);
        card.write(at::rxdp, receive_at(0));
        card.write(at::vtcr, random());
        card.write(at::vrcr, random());
        card.write(at::cr, cr_txe | cr_rxe);
        card.sent();
        card.receive(plain_frame(14 + (random() % 2000)));
        card.serve_receiver();
    }
    EXPECT_GT(card.nic.statistics.bus_faults, 0U);
    EXPECT_GT(card.nic.statistics.sent_frames, 0U);
    EXPECT_GT(card.nic.statistics.received_frames, 0U);
}

} // namespace
} // namespace previrt
