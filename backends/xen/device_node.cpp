// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/device_node.hpp"

#include <algorithm>

extern "C" {
#include <xen/io/xenbus.h>
}

namespace previrt::xen {

std::optional<std::uint64_t> parse_number(std::string_view text, std::uint64_t most) {
    std::uint64_t number = 0;
    for (const char character : text) {
        const auto digit = static_cast<std::uint64_t>(character - '0');
        if (character < '0' || character > '9' || digit > most || number > (most - digit) / 10) {
            return {};
        }
        number = (number * 10) + digit;
    }
    return text.empty() ? std::nullopt : std::optional(number);
}

std::size_t find_devices(Xenstore& store, std::string_view directory, std::span<std::uint32_t> numbers) {
    char room[1024];
    std::string_view names = store.names_below(directory, room).value_or("");
    std::size_t count = 0;
    while (!names.empty()) {
        const std::string_view name(names.begin(), std::ranges::find(names, '\0'));
        names.remove_prefix(std::min(name.size() + 1, names.size()));
        const auto number = parse_number(name, ~std::uint32_t{0});
        if (!number) {
            continue;
        }
        // Each goes to its place among those before it; the last one may lose its own.
        auto moving = static_cast<std::uint32_t>(*number);
        for (std::size_t i = 0; i < std::min(count, numbers.size()); ++i) {
            if (moving < numbers[i]) {
                std::swap(moving, numbers[i]);
            }
        }
        if (count < numbers.size()) {
            numbers[count] = moving;
        }
        ++count;
    }
    return count;
}

bool DeviceNode::find(Xenstore& store, std::string_view directory, std::uint32_t number) {
    store_ = &store;
    directory_ = directory;
    number_ = number;
    char room[longest_name];
    const auto domain = read("backend-id", room);
    const auto backend = parse_number(domain.value_or(""), DOMID_FIRST_RESERVED - 1);
    const auto place = read("backend", room);
    constexpr std::size_t longest_place = longest_name - 32; // leaves room for a name behind it
    if (!backend || !place || !place->starts_with('/') || place->size() > longest_place) {
        return false;
    }
    backend_ = static_cast<std::uint16_t>(*backend);
    backend_length_ = place->size();
    std::ranges::copy(*place, backend_name_);
    return true;
}

DeviceNode::Name DeviceNode::of_domain(std::string_view name) const {
    Name path;
    path << directory_ << "/" << number_ << "/" << name;
    return path;
}

DeviceNode::Name DeviceNode::of_backend(std::string_view name) const {
    Name path;
    path << std::string_view(backend_name_, backend_length_) << "/" << name;
    return path;
}

std::optional<std::string_view> DeviceNode::read(std::string_view name, std::span<char> room) {
    return store_->read(of_domain(name).view(), room);
}

bool DeviceNode::write(std::string_view name, std::string_view value) {
    return store_->write(of_domain(name).view(), value);
}

bool DeviceNode::write(std::string_view name, std::uint32_t value) {
    FixedText<16> text;
    text << value;
    return write(name, text.view());
}

std::optional<std::string_view> DeviceNode::read_of_backend(std::string_view name, std::span<char> room) {
    return store_->read(of_backend(name).view(), room);
}

std::uint64_t DeviceNode::number_of_backend(std::string_view name, std::uint64_t most,
                                            std::uint64_t otherwise) {
    char room[32];
    return parse_number(read_of_backend(name, room).value_or(""), most).value_or(otherwise);
}

bool DeviceNode::watch_backend() {
    seen_events_ = store_->events();
    return store_->watch(of_backend("state").view());
}

std::optional<unsigned> DeviceNode::changed_state() {
    const std::uint32_t events = store_->events();
    if (events == seen_events_) {
        return {};
    }
    seen_events_ = events;
    return static_cast<unsigned>(number_of_backend("state", XenbusStateReconfigured, XenbusStateClosed));
}

} // namespace previrt::xen
