// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/xenstore.hpp"

#include "backends/xen/event_ports.hpp"

#include <algorithm>
#include <cstring>

namespace previrt::xen {

static_assert(sizeof(xsd_sockmsg) == 16 && offsetof(xsd_sockmsg, len) == 12);
static_assert(offsetof(xenstore_domain_interface, rsp) == XENSTORE_RING_SIZE);
static_assert(offsetof(xenstore_domain_interface, req_cons) == std::size_t{2} * XENSTORE_RING_SIZE);
static_assert(offsetof(xenstore_domain_interface, rsp_prod) ==
              offsetof(xenstore_domain_interface, req_cons) + 12);

namespace {

constexpr std::uint32_t ring_bytes = XENSTORE_RING_SIZE;
constexpr char nul = '\0';
constexpr std::string_view end_of_text(&nul, 1);

} // namespace

void Xenstore::start(xenstore_domain_interface& ring, std::uint32_t port) {
    ring_ = &ring;
    port_ = port;
    produced_ = __atomic_load_n(&ring.req_prod, __ATOMIC_RELAXED);
    consumed_ = __atomic_load_n(&ring.rsp_cons, __ATOMIC_RELAXED);
    is_broken_ = false;
}

bool Xenstore::wait() {
    constexpr std::uint64_t longest = 10'000'000'000;
    is_broken_ = is_broken_ || !wait_for(port_, longest);
    return !is_broken_;
}

// The VMM keeps its own counter, and believes the store's only within the ring's size.
std::uint32_t Xenstore::room_to_send() {
    const std::uint32_t used = produced_ - __atomic_load_n(&ring_->req_cons, __ATOMIC_ACQUIRE);
    is_broken_ = is_broken_ || used > ring_bytes;
    return is_broken_ ? 0 : ring_bytes - used;
}

std::uint32_t Xenstore::received() {
    const std::uint32_t available = __atomic_load_n(&ring_->rsp_prod, __ATOMIC_ACQUIRE) - consumed_;
    is_broken_ = is_broken_ || available > ring_bytes;
    return is_broken_ ? 0 : available;
}

bool Xenstore::send(const void* bytes, std::size_t size) {
    const auto* from = static_cast<const char*>(bytes);
    while (size != 0) {
        const std::uint32_t at = MASK_XENSTORE_IDX(produced_);
        const std::size_t now = std::min({size, std::size_t{room_to_send()}, std::size_t{ring_bytes - at}});
        if (now == 0) {
            if (!wait()) {
                return false;
            }
            continue;
        }
        std::memcpy(ring_->req + at, from, now);
        from += now;
        size -= now;
        produced_ += static_cast<std::uint32_t>(now);
        __atomic_store_n(&ring_->req_prod, produced_, __ATOMIC_RELEASE);
        notify(port_);
    }
    return true;
}

bool Xenstore::receive(void* bytes, std::size_t size) {
    auto* to = static_cast<char*>(bytes);
    while (size != 0) {
        const std::uint32_t at = MASK_XENSTORE_IDX(consumed_);
        const std::size_t now = std::min({size, std::size_t{received()}, std::size_t{ring_bytes - at}});
        if (now == 0) {
            if (!wait()) {
                return false;
            }
            continue;
        }
        std::memcpy(to, ring_->rsp + at, now);
        to += now;
        size -= now;
        consumed_ += static_cast<std::uint32_t>(now);
        __atomic_store_n(&ring_->rsp_cons, consumed_, __ATOMIC_RELEASE);
        notify(port_);
    }
    return true;
}

bool Xenstore::skip(std::size_t size) {
    char piece[64];
    while (size != 0) {
        const std::size_t now = std::min(size, sizeof(piece));
        if (!receive(piece, now)) {
            return false;
        }
        size -= now;
    }
    return true;
}

bool Xenstore::receive_header(xsd_sockmsg& header) {
    if (!receive(&header, sizeof(header))) {
        return false;
    }
    is_broken_ = header.len > XENSTORE_PAYLOAD_MAX;
    return !is_broken_;
}

// It does not matter which watch it belongs to.
bool Xenstore::receive_event(const xsd_sockmsg& header) {
    ++events_;
    return skip(header.len);
}

std::optional<std::string_view> Xenstore::ask(std::uint32_t type, Parts parts, std::span<char> room) {
    std::size_t bytes = 0;
    for (const std::string_view part : parts) {
        bytes += part.size();
    }
    if (is_broken_ || bytes > XENSTORE_PAYLOAD_MAX) {
        return {};
    }
    xsd_sockmsg header{
        .type = type, .req_id = ++last_question_, .tx_id = 0, .len = static_cast<std::uint32_t>(bytes)};
    bool sent = send(&header, sizeof(header));
    for (const std::string_view part : parts) {
        sent = sent && send(part.data(), part.size());
    }
    if (!sent) {
        return {};
    }
    while (receive_header(header)) {
        if (header.type == XS_WATCH_EVENT) {
            receive_event(header);
            continue;
        }
        if (header.req_id != last_question_ || (header.type != type && header.type != XS_ERROR)) {
            is_broken_ = true;
            return {};
        }
        if (header.type == XS_ERROR || header.len > room.size()) {
            skip(header.len);
            return {};
        }
        if (receive(room.data(), header.len)) {
            return std::string_view(room.data(), header.len);
        }
    }
    return {};
}

bool Xenstore::ask(std::uint32_t type, Parts parts) {
    constexpr std::size_t longest_answer = 16; // "OK", and its NUL
    char answer[longest_answer];
    return ask(type, parts, answer).has_value();
}

std::optional<std::string_view> Xenstore::read(std::string_view name, std::span<char> room) {
    const std::string_view parts[] = {name, end_of_text};
    return ask(XS_READ, parts, room);
}

std::optional<std::string_view> Xenstore::names_below(std::string_view name, std::span<char> room) {
    const std::string_view parts[] = {name, end_of_text};
    return ask(XS_DIRECTORY, parts, room);
}

bool Xenstore::write(std::string_view name, std::string_view value) {
    const std::string_view parts[] = {name, end_of_text, value};
    return ask(XS_WRITE, parts);
}

bool Xenstore::watch(std::string_view name) {
    const std::string_view parts[] = {name, end_of_text, "watch", end_of_text};
    return ask(XS_WATCH, parts);
}

std::uint32_t Xenstore::events() {
    xsd_sockmsg header{};
    while (!is_broken_ && received() != 0 && receive_header(header)) {
        is_broken_ = header.type != XS_WATCH_EVENT || !receive_event(header);
    }
    return events_;
}

} // namespace previrt::xen
