// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/xen/interface.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

extern "C" {
#include <xen/io/xs_wire.h>
}

namespace previrt::xen {

// A client of xenstored, by the ring that xenstored shares with this domain (docs/misc/xenstore.txt and
// xenstore-ring.txt of Xen). Each request waits for its answer. Names are relative to this domain's directory
// unless they begin with a slash. nullopt, false: the store refuses, or the answer does not fit, or the store
// is broken; after that no request succeeds.
class Xenstore {
public:
    void start(xenstore_domain_interface& ring, std::uint32_t port);

    // The answer is in `room`.
    std::optional<std::string_view> read(std::string_view name, std::span<char> room);
    // The names in a directory, each with a NUL behind it.
    std::optional<std::string_view> names_below(std::string_view name, std::span<char> room);
    bool write(std::string_view name, std::string_view value);
    // A change there, or above, makes an event; the first event comes at once.
    bool watch(std::string_view name);
    // The number of events that have come. Makes no request.
    std::uint32_t events();

private:
    using Parts = std::span<const std::string_view>;

    std::optional<std::string_view> ask(std::uint32_t type, Parts parts, std::span<char> room);
    bool ask(std::uint32_t type, Parts parts);
    bool send(const void* bytes, std::size_t size);
    bool receive(void* bytes, std::size_t size);
    bool skip(std::size_t size);
    bool receive_header(xsd_sockmsg& header);
    bool receive_event(const xsd_sockmsg& header);
    std::uint32_t room_to_send();
    std::uint32_t received();
    bool wait();

    xenstore_domain_interface* ring_ = nullptr;
    std::uint32_t port_ = 0;
    std::uint32_t produced_ = 0;
    std::uint32_t consumed_ = 0;
    std::uint32_t last_question_ = 0;
    std::uint32_t events_ = 0;
    bool is_broken_ = true;
};

} // namespace previrt::xen
