// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "tests/unit/devices/virtio/hostile_driver.hpp"

#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>

namespace previrt {

// A driver that means no good, of a device that exchanges packets with the host (packet_machine.hpp). It
// changes what it sends while the device reads it.
template <typename Machine>
class HostilePackets : public HostileDriver<Machine> {
public:
    using HostileDriver<Machine>::HostileDriver;

    // Packets.
    [[nodiscard]] std::uint64_t received() const { return received_; }
    [[nodiscard]] std::uint64_t given() const { return given_; }

protected:
    using typename Machine::Packet;
    using HostileDriver<Machine>::choose;

    ~HostilePackets() = default;

    // Puts something into RAM that the device may take for the driver's.
    virtual void write_message() = 0;
    // The host's next one for the guest.
    virtual Packet make_packet() = 0;
    // What the host got.
    virtual void check(const Packet& packet) = 0;

private:
    void step() override {
        interfere();
        if (choose(16) == 0) {
            this->access_registers();
        }
        const auto queue = static_cast<std::uint16_t>(choose(Machine::linux_queues));
        if (choose(3) == 0) {
            this->offer(queue, static_cast<std::uint16_t>(choose(Machine::entries)));
        }
        if (this->for_guest.size() < 3) {
            this->for_guest.push_back(make_packet());
        }
        this->room_for = choose(4);
        this->set(notify, 2, queue);
        const std::size_t before = this->for_guest.size();
        this->device.serve(this->memory(), this->host());
        given_ += before - this->for_guest.size();
        received_ += this->sent.size();
        for (const Packet& packet : this->sent) {
            check(packet);
        }
        this->sent.clear();
        this->start_again_if_failed();
    }

    void interfere() override {
        this->scribble();
        write_message();
    }

    std::uint64_t received_ = 0;
    std::uint64_t given_ = 0;
};

template <typename Driver>
void expect_that_it_gets_far() {
    std::uint64_t received = 0;
    std::uint64_t given = 0;
    std::uint64_t failures = 0;
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
        Driver driver(seed);
        driver.run(25'000);
        received += driver.received();
        given += driver.given();
        failures += driver.failures();
    }
    EXPECT_GT(received, 100U);
    EXPECT_GT(given, 100U);
    EXPECT_GT(failures, 1'000U);
}

} // namespace previrt
