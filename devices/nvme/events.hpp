// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/nvme/identify.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace previrt::nvme {

enum class Event : std::uint8_t {
    write_to_invalid_doorbell,
    invalid_doorbell_value,
    temperature_threshold,
};
inline constexpr unsigned event_count = 3;

// Asynchronous events. After one of a type, no further one of that type is told until the driver has read the
// log page that belongs to it.
struct Events {
    std::array<std::uint16_t, most_event_requests> requests{}; // commands that wait for an event
    std::uint32_t request_count = 0;
    std::uint8_t raised = 0;       // a bit for each event
    std::uint8_t masked_pages = 0; // a bit for each log page

    void raise(Event event) { raised = static_cast<std::uint8_t>(raised | bit(event)); }
    // An event to be told, as dword 0 of the completion has it. `request` gets the command.
    std::optional<std::uint32_t> take(std::uint16_t& request);
    [[nodiscard]] bool has_next() const { return request_count != 0 && next().has_value(); }
    void unmask(std::uint32_t page);
    // False: there are too many.
    bool add_request(std::uint16_t command);
    // False: there is no such request.
    bool drop_request(std::uint16_t command);

private:
    static constexpr unsigned bit(Event event) { return 1U << static_cast<unsigned>(event); }
    [[nodiscard]] std::optional<Event> next() const;
};

static_assert(std::is_trivially_copyable_v<Events>);

} // namespace previrt::nvme
