// SPDX-License-Identifier: BSD-2-Clause
#include "bench/idle/echo.hpp"

#include "ethernet/internet_checksum.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

namespace previrt::echo {

namespace {

using namespace ethernet;

constexpr std::array<std::uint8_t, 4> mac_start = {0x52, 0x54, 0x00, 0x09};
constexpr std::array<std::uint8_t, 2> address_start = {10, 9};
constexpr std::size_t number_in_mac = mac_start.size();
constexpr std::size_t number_in_address = address_start.size();
constexpr std::size_t mac_bytes = sizeof(MacAddress);
constexpr std::size_t address_bytes = 4;

// Offsets in a frame without a tag, of IPv4 without options.
constexpr std::size_t ip = header_bytes;
constexpr std::size_t ip_bytes = 20;
constexpr std::size_t ip_length = ip + 2;
constexpr std::size_t ip_fragment = ip + 6;
constexpr std::size_t ip_time_to_live = ip + 8;
constexpr std::size_t ip_protocol = ip + 9;
constexpr std::size_t ip_checksum = ip + 10;
constexpr std::size_t ip_source = ip + 12;
constexpr std::size_t ip_destination = ip + 16;
constexpr std::size_t icmp = ip + ip_bytes;
constexpr std::size_t icmp_code = icmp + 1;
constexpr std::size_t icmp_checksum = icmp + 2;
constexpr std::size_t icmp_sequence = icmp + 6;
constexpr std::size_t icmp_bytes = 8;

constexpr std::uint8_t version_and_header = 0x45;
constexpr std::uint8_t protocol_icmp = 1;
constexpr std::uint8_t usual_time_to_live = 64;
constexpr std::uint16_t more_or_later_fragment = 0x3fff;

void write_checksum(std::span<std::uint8_t> frame, std::size_t start, std::size_t bytes, std::size_t at) {
    write_big_endian(frame, at, 0);
    const auto sum = static_cast<std::uint16_t>(~internet_sum(frame.subspan(start, bytes)));
    std::memcpy(frame.data() + at, &sum, sizeof sum);
}

bool is_right(ethernet::Frame frame, std::size_t start, std::size_t bytes) {
    return internet_sum(frame.subspan(start, bytes)) == all_ones;
}

bool starts_with(ethernet::Frame frame, std::size_t offset, std::span<const std::uint8_t> bytes) {
    return std::ranges::equal(frame.subspan(offset, bytes.size()), bytes);
}

} // namespace

MacAddress mac_of(Station station) {
    MacAddress mac{};
    std::ranges::copy(mac_start, mac.begin());
    write_big_endian(mac, number_in_mac, station);
    return mac;
}

std::string text_of_mac(Station station) {
    const MacAddress mac = mac_of(station);
    std::array<char, 3 * mac_bytes> text{};
    std::snprintf(text.data(), text.size(), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
                  mac[4], mac[5]);
    return text.data();
}

std::string text_of_address(Station station) {
    return std::to_string(address_start[0]) + "." + std::to_string(address_start[1]) + "." +
           std::to_string(station >> 8U) + "." + std::to_string(station & 0xffU);
}

Frame make(Kind kind, Station to, Station from) {
    Frame frame{};
    std::ranges::copy(mac_of(to), frame.begin());
    std::ranges::copy(mac_of(from), frame.begin() + mac_bytes);
    write_big_endian(frame, addresses_bytes, type_ipv4);
    frame[ip] = version_and_header;
    write_big_endian(frame, ip_length, frame_bytes - ip);
    frame[ip_time_to_live] = usual_time_to_live;
    frame[ip_protocol] = protocol_icmp;
    for (const auto& [station, offset] : {std::pair(from, ip_source), std::pair(to, ip_destination)}) {
        std::ranges::copy(address_start, frame.begin() + static_cast<std::ptrdiff_t>(offset));
        write_big_endian(frame, offset + number_in_address, station);
    }
    write_checksum(frame, ip, ip_bytes, ip_checksum);
    frame[icmp] = static_cast<std::uint8_t>(kind);
    write_big_endian(frame, icmp_sequence, 1); // an answer with nothing but zeros has two checksums, 0 and ~0
    write_checksum(frame, icmp, frame_bytes - icmp, icmp_checksum);
    return frame;
}

std::optional<Received> read(ethernet::Frame frame, Station own) {
    if (frame.size() < icmp + icmp_bytes || read_big_endian(frame, addresses_bytes) != type_ipv4 ||
        frame[ip] != version_and_header || frame[ip_protocol] != protocol_icmp ||
        (read_big_endian(frame, ip_fragment) & more_or_later_fragment) != 0) {
        return std::nullopt;
    }
    const std::size_t length = read_big_endian(frame, ip_length);
    if (length < ip_bytes + icmp_bytes || length > frame.size() - ip || !is_right(frame, ip, ip_bytes) ||
        !is_right(frame, icmp, length - ip_bytes) || !starts_with(frame, ip_source, address_start) ||
        !starts_with(frame, ip_destination, address_start) ||
        read_big_endian(frame, ip_destination + number_in_address) != own) {
        return std::nullopt;
    }
    const auto kind = static_cast<Kind>(frame[icmp]);
    if ((kind != Kind::request && kind != Kind::answer) || frame[icmp_code] != 0) {
        return std::nullopt;
    }
    return Received{.kind = kind, .from = read_big_endian(frame, ip_source + number_in_address)};
}

void turn_into_answer(std::span<std::uint8_t> frame) {
    std::swap_ranges(frame.begin(), frame.begin() + mac_bytes, frame.begin() + mac_bytes);
    const auto source = frame.begin() + static_cast<std::ptrdiff_t>(ip_source);
    std::swap_ranges(source, source + address_bytes, source + address_bytes);
    frame[icmp] = static_cast<std::uint8_t>(Kind::answer);
    const std::size_t length = read_big_endian(frame, ip_length);
    write_checksum(frame, icmp, length - ip_bytes, icmp_checksum);
}

} // namespace previrt::echo
