// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/xen/fixed_text.hpp"
#include "backends/xen/interface.hpp"
#include "backends/xen/xenstore.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace previrt::xen {

// Decimal digits alone.
std::optional<std::uint64_t> parse_number(std::string_view text, std::uint64_t most);

// The numbers of this domain's devices in a directory such as `device/vif`, in ascending order: the lowest
// ones for which there is room. Returns how many there are in all.
std::size_t find_devices(Xenstore& store, std::string_view directory, std::span<std::uint32_t> numbers);

// The two directories of a device in xenstore: this domain's, and the back-end's.
class DeviceNode {
public:
    static constexpr std::size_t longest_name = 256;

    // `directory` stays. False: the back-end is not named, or wrongly.
    bool find(Xenstore& store, std::string_view directory, std::uint32_t number);
    [[nodiscard]] std::uint16_t backend() const { return backend_; }

    std::optional<std::string_view> read(std::string_view name, std::span<char> room);
    bool write(std::string_view name, std::string_view value);
    bool write(std::string_view name, std::uint32_t value);
    std::optional<std::string_view> read_of_backend(std::string_view name, std::span<char> room);
    std::uint64_t number_of_backend(std::string_view name, std::uint64_t most, std::uint64_t otherwise);

    // Watches the back-end's state. False: the store refuses.
    bool watch_backend();
    // Calls `follow` with each XenbusState that xenstore has reported, until `follow` has closed the device.
    // A state that makes no sense is XenbusStateClosed.
    template <typename Follow>
    void follow_changes(const bool& is_closed, const Follow& follow) {
        while (!is_closed) {
            const std::optional<unsigned> state = changed_state();
            if (!state) {
                return;
            }
            follow(*state);
        }
    }

private:
    std::optional<unsigned> changed_state();
    using Name = FixedText<longest_name>;
    [[nodiscard]] Name of_domain(std::string_view name) const;
    [[nodiscard]] Name of_backend(std::string_view name) const;

    Xenstore* store_ = nullptr;
    std::string_view directory_;
    std::uint32_t number_ = 0;
    char backend_name_[longest_name] = {}; // its directory in xenstore
    std::size_t backend_length_ = 0;
    std::uint16_t backend_ = 0;
    std::uint32_t seen_events_ = 0;
};

} // namespace previrt::xen
