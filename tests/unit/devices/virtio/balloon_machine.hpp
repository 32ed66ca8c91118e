// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/virtio_balloon/virtio_balloon.hpp"
#include "tests/unit/devices/virtio/virtio_machine.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace previrt {

// A balloon, RAM, and the steps of a driver.
class BalloonMachine : public VirtioMachine<VirtioBalloon> {
public:
    static constexpr std::uint64_t reporting = std::uint64_t{1} << 5U;
    static constexpr std::uint64_t all_features = reporting | indirect_tables | version_1;

    BalloonMachine() { balloon.start(); }

    void start(std::uint64_t features = all_features) { VirtioMachine::start(features); }
    void kick(std::uint16_t queue) {
        set(notify, 2, queue);
        serve();
    }
    void serve() { balloon.serve(ram.memory(), {.take = take, .context = this}); }

    VirtioBalloon& balloon = device;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> taken; // address and bytes

private:
    static void take(void* context, std::uint64_t address, std::uint64_t bytes) {
        static_cast<BalloonMachine*>(context)->taken.emplace_back(address, bytes);
    }
};

} // namespace previrt
