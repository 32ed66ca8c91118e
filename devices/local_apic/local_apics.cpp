// SPDX-License-Identifier: BSD-2-Clause
#include "devices/local_apic/local_apics.hpp"

#include <algorithm>

namespace previrt {

namespace {

bool is_for(const InterruptMessage& message, unsigned processor, unsigned sender, const LocalApic& apic) {
    switch (message.destination) {
    case InterruptMessage::Destination::self:
        return processor == sender;
    case InterruptMessage::Destination::all:
        return true;
    case InterruptMessage::Destination::all_but_self:
        return processor != sender;
    default:
        return apic.is_addressed(message);
    }
}

} // namespace

void LocalApics::start(unsigned processors) {
    count = std::min(processors, most);
    for (unsigned i = 0; i < count; ++i) {
        apics[i].start(static_cast<std::uint8_t>(i), i == 0);
    }
}

LocalApics::Written LocalApics::write(unsigned processor, std::uint64_t offset, std::uint32_t value,
                                      std::uint64_t now) {
    LocalApic& apic = of(processor);
    if (!apic.write(offset, value, now)) {
        return {.is_modelled = false, .ended = std::nullopt};
    }
    if (offset == apic_end_of_interrupt) {
        return {.is_modelled = true, .ended = apic.end_interrupt()};
    }
    const std::optional<InterruptMessage> message =
        offset == apic_command_low ? apic.command() : std::nullopt;
    return {.is_modelled = !message || deliver(*message, processor), .ended = std::nullopt};
}

bool LocalApics::deliver_to(unsigned processor, const InterruptMessage& message) {
    notified |= std::uint64_t{1} << processor;
    return apics[processor].receive(message);
}

// The first of those with the lowest priority.
bool LocalApics::deliver_to_lowest(const InterruptMessage& message) {
    std::optional<unsigned> lowest;
    for (unsigned i = 0; i < count; ++i) {
        const bool takes_part = apics[i].is_enabled() && !apics[i].waits_for_start;
        if (takes_part && apics[i].is_addressed(message) &&
            (!lowest || apics[i].processor_priority() < apics[*lowest].processor_priority())) {
            lowest = i;
        }
    }
    return !lowest || deliver_to(*lowest, message);
}

bool LocalApics::deliver(const InterruptMessage& message, unsigned sender) {
    using enum InterruptMessage::Destination;
    const bool has_address = message.destination == physical || message.destination == logical;
    if (has_address && message.mode == deliver_lowest_priority) {
        return deliver_to_lowest(message);
    }
    bool is_modelled = true;
    for (unsigned i = 0; i < count; ++i) {
        if (is_for(message, i, sender, apics[i])) {
            is_modelled = deliver_to(i, message) && is_modelled;
        }
    }
    return is_modelled;
}

} // namespace previrt
