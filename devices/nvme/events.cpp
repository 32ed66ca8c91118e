// SPDX-License-Identifier: BSD-2-Clause
#include "devices/nvme/events.hpp"

#include "devices/nvme/log_pages.hpp"

namespace previrt::nvme {

namespace {

constexpr LogPage page_of(Event event) {
    return event == Event::temperature_threshold ? LogPage::health : LogPage::error_information;
}

constexpr unsigned page_bit(LogPage page) {
    return 1U << static_cast<unsigned>(page);
}

constexpr std::uint32_t told(Event event) {
    const std::uint32_t page = static_cast<std::uint32_t>(page_of(event)) << 16U;
    switch (event) {
    case Event::write_to_invalid_doorbell:
        return page;
    case Event::invalid_doorbell_value:
        return page | (1U << 8U);
    case Event::temperature_threshold:
        break;
    }
    constexpr std::uint32_t health_type = 1;
    return page | (1U << 8U) | health_type;
}

} // namespace

std::optional<Event> Events::next() const {
    for (unsigned i = 0; i < event_count; ++i) {
        const auto event = static_cast<Event>(i);
        if ((raised & bit(event)) != 0 && (masked_pages & page_bit(page_of(event))) == 0) {
            return event;
        }
    }
    return std::nullopt;
}

std::optional<std::uint32_t> Events::take(std::uint16_t& request) {
    const std::optional<Event> event = next();
    if (!event || request_count == 0) {
        return std::nullopt;
    }
    raised = static_cast<std::uint8_t>(raised & ~bit(*event));
    masked_pages = static_cast<std::uint8_t>(masked_pages | page_bit(page_of(*event)));
    request = requests[0];
    drop_request(request);
    return told(*event);
}

void Events::unmask(std::uint32_t page) { // one that there is
    masked_pages = static_cast<std::uint8_t>(masked_pages & ~(1U << page));
}

bool Events::add_request(std::uint16_t command) {
    if (request_count == requests.size()) {
        return false;
    }
    requests[request_count++] = command;
    return true;
}

bool Events::drop_request(std::uint16_t command) {
    for (std::uint32_t i = 0; i < request_count; ++i) {
        if (requests[i] == command) {
            for (std::uint32_t k = i + 1; k < request_count; ++k) {
                requests[k - 1] = requests[k];
            }
            --request_count;
            return true;
        }
    }
    return false;
}

} // namespace previrt::nvme
