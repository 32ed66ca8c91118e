// SPDX-License-Identifier: BSD-2-Clause
// The way of a frame from the cable to the descriptors.
#include "devices/dp83820/checksums.hpp"
#include "devices/dp83820/dp83820.hpp"
#include "devices/dp83820/frame_check.hpp"

#include <algorithm>

namespace previrt {

using namespace dp83820;
using namespace ethernet;

namespace {

constexpr std::array<std::uint8_t, shortest_frame> padding{};
constexpr std::uint32_t shortest_payload = 46;

// The length field of 802.3, if there is one, does not match the data.
bool has_wrong_length(Frame frame, std::uint32_t type_offset) {
    const std::uint32_t length = read_big_endian(frame, type_offset);
    const std::size_t payload = frame.size() - type_offset - 2;
    return length <= largest_length && (payload < length || payload > std::max(length, shortest_payload));
}

} // namespace

bool Dp83820::receive(const GuestMemory& memory, Frame frame, Checksums checksums, std::uint64_t now) {
    if (!link()) {
        ++statistics.lost_link_down;
        return true;
    }
    return take_in(memory, frame, checksums, now);
}

bool Dp83820::receives_at_once() const {
    const bool direct = receive_ring.engine == Engine::active && fifo.empty();
    const bool refused = receive_ring.engine == Engine::off || (filter.control & rfcr_rfen) == 0 || !link();
    return direct || refused;
}

bool Dp83820::can_receive(std::uint32_t bytes) const {
    return receives_at_once() || fifo.has_room(std::max(bytes, shortest_frame) + check_bytes);
}

// Tag and checksums, as bits of EXTSTS; nullopt if VRCR refuses the frame for them.
std::optional<std::uint32_t> Dp83820::inspect(Frame frame, Checksums checksums) {
    const std::uint32_t vrcr = stored[at::vrcr];
    const auto enabled = [vrcr](std::uint32_t bit) { return (vrcr & bit) != 0; };
    const bool tagged = enabled(vrcr_vtden) && frame.size() >= header_bytes + tag_bytes &&
                        read_little_endian(frame, addresses_bytes) == (stored[at::vdr] & 0xffffU);
    if (tagged ? enabled(vrcr_dvtf) : enabled(vrcr_dutf)) {
        ++statistics.refused_by_tag;
        return std::nullopt;
    }
    std::uint32_t extsts = tagged ? extsts_vpkt | read_little_endian(frame, header_bytes) : 0;
    if (enabled(vrcr_ipen)) {
        extsts |= verify_checksums(frame, checksums == Checksums::trusted);
    }
    if ((enabled(vrcr_ripe) && (extsts & extsts_iperr) != 0) ||
        (enabled(vrcr_rtcpe) && (extsts & extsts_tcperr) != 0) ||
        (enabled(vrcr_rudpe) && (extsts & extsts_udperr) != 0)) {
        ++statistics.refused_by_checksum;
        return std::nullopt;
    }
    return extsts;
}

// cmdsts, without the bits of each single descriptor; nullopt if RXCFG refuses the frame for its length.
std::optional<std::uint32_t> Dp83820::judge_length(Frame frame, bool tagged, std::uint64_t now) {
    const std::uint32_t rxcfg = stored[at::rxcfg];
    const std::uint32_t tag = tagged ? tag_bytes : 0;
    const bool too_long =
        frame.size() > largest_frame || (frame.size() > longest_standard + tag && (rxcfg & rxcfg_alp) == 0);
    const bool wrong_length = has_wrong_length(frame, addresses_bytes + tag);
    if (too_long) {
        count(Counter::too_long, now);
    }
    if (wrong_length) {
        count(Counter::in_range_length, now);
    }
    const bool error = too_long || (wrong_length && (rxcfg & rxcfg_airl) == 0);
    if (error) {
        count(Counter::receive_errors, now);
    }
    if (error && (rxcfg & rxcfg_aep) == 0) {
        ++statistics.refused_by_length;
        return std::nullopt;
    }
    return (error ? 0 : cmdsts_ok) | (too_long ? cmdsts_rx_long : 0) | (wrong_length ? cmdsts_rx_irl : 0);
}

bool Dp83820::take_in(const GuestMemory& memory, Frame frame, Checksums checksums, std::uint64_t now) {
    if (receive_ring.engine == Engine::off) {
        ++statistics.refused_receiver_off;
        return true;
    }
    const Destination destination = filter.accept(frame);
    if (destination == Destination::rejected) {
        ++statistics.refused_by_filter;
        return true;
    }
    const std::optional<std::uint32_t> extsts = inspect(frame, checksums);
    if (!extsts) {
        return true;
    }
    const bool tagged = (*extsts & extsts_vpkt) != 0;
    const std::optional<std::uint32_t> flags = judge_length(frame, tagged, now);
    if (!flags) {
        return true;
    }
    const bool cut = (*flags & cmdsts_rx_long) != 0;
    const Frame kept = cut ? frame.first(longest_standard + (tagged ? tag_bytes : 0)) : frame;
    const std::size_t missing = std::max<std::size_t>(kept.size(), shortest_frame) - kept.size();
    Arrival arrival{.status = {.cmdsts = *flags | (static_cast<std::uint32_t>(destination)
                                                   << cmdsts_rx_destination_shift),
                               .extsts = *extsts}};
    const bool stripped = tagged && (stored[at::vrcr] & vrcr_vtren) != 0;
    arrival.pieces.add(stripped ? kept.first(addresses_bytes) : kept);
    if (stripped) {
        arrival.pieces.add(kept.subspan(addresses_bytes + tag_bytes));
    }
    arrival.pieces.add(Frame(padding).first(missing));
    std::array<std::uint8_t, check_bytes> check{};
    if ((stored[at::rxcfg] & rxcfg_stripcrc) == 0 && !cut) {
        check = frame_check_sequence(frame_check(Frame(padding).first(missing), frame_check(kept)));
        arrival.pieces.add(check);
    }
    return store(memory, arrival, now);
}

} // namespace previrt
