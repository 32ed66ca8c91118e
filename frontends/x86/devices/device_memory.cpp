// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/devices/device_memory.hpp"

#include "frontends/x86/devices/floating_bus.hpp"
#include "frontends/x86/devices/machine.hpp"
#include "frontends/x86/devices/processor_apic.hpp"
#include "frontends/x86/devices/sent_packets.hpp"
#include "inplace-vmm/backend/time.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <cstring>
#include <optional>

namespace previrt {

namespace {

void float_unless_claimed(std::uint64_t physical, std::size_t bytes) {
    if (pc.claims_memory(physical, bytes)) {
        stop_guest("an access to a device's memory that is not modelled, at", physical);
    }
    float_memory(physical, "an access outside RAM that no device claims, at");
}

Pc::MemoryPlace place_of(std::uint64_t physical, std::size_t bytes) {
    return {.processor = vcpu.number, .address = physical, .width = static_cast<unsigned>(bytes)};
}

} // namespace

void read_device(std::uint64_t physical, void* to, std::size_t bytes) {
    if (pc.is_disk_register(physical)) {
        disk_is_accessed(); // a driver that waits for the status may have disabled interrupts
    }
    const std::optional<std::uint64_t> value = pc.read_memory(place_of(physical, bytes), backend::now());
    device_was_read();
    if (value) {
        std::memcpy(to, &*value, bytes);
        return;
    }
    float_unless_claimed(physical, bytes);
    std::memset(to, 0xff, bytes);
}

void write_device(std::uint64_t physical, const void* from, std::size_t bytes) {
    std::uint64_t value = 0;
    std::memcpy(&value, from, bytes < sizeof(value) ? bytes : sizeof(value));
    const std::uint64_t now = backend::now();
    switch (pc.write_memory(place_of(physical, bytes), value, now)) {
    case Pc::Written::nothing:
        float_unless_claimed(physical, bytes);
        return;
    case Pc::Written::transmit_request:
        if (transmission_waits()) {
            return;
        }
        [[fallthrough]];
    case Pc::Written::network_card:
        network_card_was_written(now);
        return;
    case Pc::Written::disk:
        disk_is_accessed();
        return;
    case Pc::Written::io_apic:
        take_events();
        return;
    case Pc::Written::local_apic:
        break;
    }
    follow_task_priority();
    if (physical != LocalApic::place + apic_end_of_interrupt) { // EOI changes nothing that depends on time
        take_events();
    }
}

} // namespace previrt
