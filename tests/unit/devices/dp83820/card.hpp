// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/dp83820/configuration_space.hpp"
#include "devices/dp83820/dp83820.hpp"
#include "tests/unit/devices/dp83820/descriptor_layout.hpp"
#include "tests/unit/devices/dp83820/frames.hpp"
#include "tests/unit/devices/dp83820/ram.hpp"

#include <algorithm>
#include <gtest/gtest.h>

namespace previrt {

// The card in its slot, beside RAM and at the end of a cable.
class Card {
public:
    explicit Card(dp83820::Transceiver transceiver = dp83820::Transceiver::copper, std::uint64_t ram_base = 0)
        : ram(std::uint64_t{2} << 20U, ram_base) {
        function = dp83820::add_function(pci, 3);
        nic.start(card_address, transceiver);
    }

    std::uint32_t read(std::uint32_t offset) {
        const std::optional<std::uint32_t> value = nic.read(offset, *function, now);
        EXPECT_TRUE(value.has_value()) << "register " << std::hex << offset << " is not modelled";
        return value.value_or(0xdead'beef);
    }
    void write(std::uint32_t offset, std::uint32_t value) {
        EXPECT_TRUE(nic.write(offset, value, now))
            << "value " << std::hex << value << " of register " << offset << " is not modelled";
    }
    void set(std::uint32_t offset, std::uint32_t bits) { write(offset, read(offset) | bits); }
    void clear(std::uint32_t offset, std::uint32_t bits) { write(offset, read(offset) & ~bits); }

    // What goes out by the cable until the transmitter is idle.
    std::vector<Bytes> sent() {
        std::vector<Bytes> frames;
        while (true) {
            const Dp83820::Transmitted result = nic.transmit(ram.memory(), Dp83820::TransmitRoom(room),
                                                             Dp83820::SentChecksums::complete, now);
            if (result.outcome == Dp83820::Outcome::idle) {
                return frames;
            }
            if (result.outcome == Dp83820::Outcome::frame) {
                frames.emplace_back(result.frame.begin(), result.frame.end());
            }
        }
    }
    bool receive(const Bytes& frame, Dp83820::Checksums checksums = Dp83820::Checksums::unverified) {
        return nic.receive(ram.memory(), frame, checksums, now);
    }
    void serve_receiver() {
        while (nic.receive_requested()) {
            nic.serve_receiver(ram.memory(), now);
        }
    }
    [[nodiscard]] bool line() const { return nic.interrupt_line(now); }

    void put(std::uint64_t address, std::span<const std::uint8_t> bytes) {
        std::ranges::copy(bytes, ram.at(address, bytes.size()));
    }
    Bytes get(std::uint64_t address, std::uint64_t bytes) {
        const std::uint8_t* const place = ram.at(address, bytes);
        return {place, place + bytes};
    }

    Pci pci;
    PciFunction* function = nullptr;
    Ram ram;
    Dp83820 nic{};
    std::uint64_t now = 1'000'000;

private:
    std::array<std::uint8_t, Dp83820::transmit_room> room{};
};

// A card whose descriptors a test writes one by one.
class CardTest : public testing::Test {
protected:
    static constexpr std::uint32_t transmit_list = 0x1000;
    static constexpr std::uint32_t receive_list = 0x8000;
    static constexpr std::uint32_t stride = 32;
    static constexpr std::uint32_t transmit_buffers = 0x2'0000;
    static constexpr std::uint32_t receive_buffers = 0x8'0000;
    static constexpr std::uint32_t buffer_stride = 0x2800;

    static constexpr std::uint32_t transmit_at(unsigned index) { return transmit_list + (index * stride); }
    static constexpr std::uint32_t receive_at(unsigned index) { return receive_list + (index * stride); }
    static constexpr std::uint32_t transmit_buffer(unsigned index) {
        return transmit_buffers + (index * buffer_stride);
    }
    static constexpr std::uint32_t receive_buffer(unsigned index) {
        return receive_buffers + (index * buffer_stride);
    }

    void SetUp() override {
        using namespace dp83820;
        card.set(at::cfg, cfg_extsts_en);
        card.write(at::rxcfg, rxcfg_stripcrc | rxcfg_airl | rxcfg_alp);
        card.write(at::rfcr, rfcr_rfen | rfcr_aab | rfcr_aam | rfcr_aau);
        card.write(at::txdp, transmit_at(0));
        card.write(at::rxdp, receive_at(0));
        card.read(at::isr);
        card.now += 1'000'000;
    }

    // The descriptor at `index`, which leads to the next.
    void give_to_send(unsigned index, const Bytes& bytes, std::uint32_t flags = 0, std::uint32_t extsts = 0) {
        card.put(transmit_buffer(index), bytes);
        layout.write(card.ram, transmit_at(index), transmit_at(index + 1), transmit_buffer(index),
                     dp83820::cmdsts_own | flags | static_cast<std::uint32_t>(bytes.size()), extsts);
    }
    void give_to_receive(unsigned index, std::uint32_t bytes, std::uint32_t flags = 0) {
        layout.write(card.ram, receive_at(index), receive_at(index + 1), receive_buffer(index),
                     flags | bytes);
        layout.write(card.ram, receive_at(index + 1), 0, 0, dp83820::cmdsts_own);
    }
    std::vector<Bytes> send() {
        card.write(dp83820::at::cr, dp83820::cr_txe);
        return card.sent();
    }
    void enable_receiver() {
        card.write(dp83820::at::cr, dp83820::cr_rxe);
        card.serve_receiver();
    }
    std::uint32_t transmit_cmdsts(unsigned index) { return layout.cmdsts(card.ram, transmit_at(index)); }
    std::uint32_t receive_cmdsts(unsigned index) { return layout.cmdsts(card.ram, receive_at(index)); }
    std::uint32_t receive_extsts(unsigned index) { return layout.extsts(card.ram, receive_at(index)); }
    Bytes received(unsigned index) {
        return card.get(receive_buffer(index), receive_cmdsts(index) & dp83820::cmdsts_size);
    }

    Card card;
    DescriptorLayout layout;
};

} // namespace previrt
