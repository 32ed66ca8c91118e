// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/device_memory.hpp"

#include "frontends/x86/machine.hpp"
#include "frontends/x86/processor_apic.hpp"
#include "frontends/x86/sent_packets.hpp"
#include "inplace-vmm/backend.hpp"
#include "inplace-vmm/stop.hpp"

#include <cstring>
#include <optional>

namespace previrt {

void read_device(std::uint64_t physical, void* to, std::size_t bytes) {
    const std::optional<std::uint64_t> value =
        pc.read_memory(physical, static_cast<unsigned>(bytes), backend::now());
    device_was_read();
    if (!value) {
        stop_guest("an access outside RAM that no device claims, at", physical);
    }
    std::memcpy(to, &*value, bytes);
}

void write_device(std::uint64_t physical, const void* from, std::size_t bytes) {
    std::uint64_t value = 0;
    std::memcpy(&value, from, bytes < sizeof(value) ? bytes : sizeof(value));
    const std::uint64_t now = backend::now();
    switch (pc.write_memory(physical, static_cast<unsigned>(bytes), value, now)) {
    case Pc::Written::nothing:
        stop_guest("an access outside RAM that no device claims, at", physical);
    case Pc::Written::transmit_request:
        if (transmission_waits()) {
            return;
        }
        [[fallthrough]];
    case Pc::Written::network_card:
        network_card_was_written(now);
        return;
    case Pc::Written::local_apic:
        break;
    }
    follow_task_priority();
    if (physical != LocalApic::place + apic_end_of_interrupt) { // it changes nothing that time comes to
        take_events();
    }
}

} // namespace previrt
