// SPDX-License-Identifier: BSD-2-Clause
// Built for both the VMM and the monitor.
#include "backends/common/contract/packet_ring.hpp"

#include <algorithm>
#include <cstring>

namespace previrt::monitored {

namespace {

// In the attributes of a record.
struct Attributes {
    std::uint32_t is_verified;
    ethernet::Unfinished left;
};
static_assert(sizeof(Attributes) == sizeof(RecordHeader::attributes));

} // namespace

std::span<std::uint8_t> PacketWriter::reserve(std::uint32_t least) {
    const std::span<std::uint8_t> room = writer_.reserve(least);
    return room.first(std::min<std::size_t>(room.size(), most_room));
}

void PacketWriter::commit(std::uint32_t bytes, const PacketState& state) {
    const Attributes attributes{.is_verified = state.is_verified ? 1U : 0U, .left = state.left};
    RecordHeader header{.bytes = bytes, .attributes = {}};
    std::memcpy(header.attributes, &attributes, sizeof(attributes));
    writer_.commit(header);
    has_committed_ = true;
}

std::optional<RingPacket> PacketReader::next() {
    const std::optional<Record> record = reader_.next();
    if (!record) {
        return {};
    }
    Attributes attributes;
    std::memcpy(&attributes, record->header.attributes, sizeof(attributes));
    return RingPacket{.bytes = record->bytes,
                      .state = {.left = attributes.left, .is_verified = attributes.is_verified != 0}};
}

} // namespace previrt::monitored
