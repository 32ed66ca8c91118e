// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/kvm/privileged/devices.hpp"

#include <atomic>
#include <utility>

namespace previrt {

namespace {

constexpr std::uint32_t room = sizeof(monitored::ConsoleRing::bytes);

} // namespace

OwnDevices::OwnDevices(monitored::ConsoleRing& output, monitored::ConsoleRing& input,
                       std::function<void()> output_came)
    : output_(output), input_(input), output_came_(std::move(output_came)) {}

void OwnDevices::start(std::uint64_t since_1970, std::uint64_t memory_bytes, std::uint64_t now) {
    pc_.start(since_1970, memory_bytes, now);
}

void OwnDevices::look(std::uint64_t now) {
    take_input();
    give_output();
    pc_.advance(Pc::boot_processor, now);
}

bool OwnDevices::interrupt_requested() const {
    return pc_.pic.interrupt_requested();
}

std::uint8_t OwnDevices::acknowledge() {
    return pc_.pic.acknowledge();
}

std::uint64_t OwnDevices::deadline(std::uint64_t /*now*/) const {
    return pc_.next_event(Pc::boot_processor).value_or(kvm_privileged::never);
}

std::optional<std::uint32_t> OwnDevices::read(std::uint16_t port, unsigned width, std::uint64_t now) {
    return pc_.read(port, width, now);
}

bool OwnDevices::write(std::uint16_t port, unsigned width, std::uint32_t value, std::uint64_t now) {
    return pc_.write(port, width, value, now);
}

// The guest can write the rings too: counters are believed only within the ring's size.
void OwnDevices::take_input() {
    const std::uint32_t produced = std::atomic_ref(input_.produced).load(std::memory_order_acquire);
    std::uint32_t consumed = std::atomic_ref(input_.consumed).load(std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < room && consumed != produced && pc_.uart.can_receive(); ++i) {
        pc_.uart.receive(static_cast<std::uint8_t>(
            std::atomic_ref(input_.bytes[consumed++ % room]).load(std::memory_order_relaxed)));
    }
    std::atomic_ref(input_.consumed).store(consumed, std::memory_order_release);
    pc_.update_lines();
}

void OwnDevices::give_output() {
    std::uint32_t produced = std::atomic_ref(output_.produced).load(std::memory_order_relaxed);
    bool came = false;
    while (produced - std::atomic_ref(output_.consumed).load(std::memory_order_acquire) < room) {
        const std::optional<std::uint8_t> character = pc_.uart.take_transmitted();
        if (!character) {
            break;
        }
        std::atomic_ref(output_.bytes[produced++ % room])
            .store(static_cast<char>(*character), std::memory_order_relaxed);
        came = true;
    }
    if (came) {
        std::atomic_ref(output_.produced).store(produced, std::memory_order_release);
        output_came_();
    }
    pc_.update_lines();
}

} // namespace previrt
