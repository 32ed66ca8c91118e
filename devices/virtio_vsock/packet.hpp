// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace previrt::vsock {

// Section 5.10.6 of the specification of virtio 1.2. A packet is this header and `len` bytes of payload.
struct [[gnu::packed]] Header {
    std::uint64_t src_cid;
    std::uint64_t dst_cid;
    std::uint32_t src_port;
    std::uint32_t dst_port;
    std::uint32_t len;
    std::uint16_t type;
    std::uint16_t op;
    std::uint32_t flags;
    std::uint32_t buf_alloc; // the sender's room for this stream, in bytes
    std::uint32_t fwd_cnt;   // bytes of the stream that the sender's program has taken
};
constexpr std::uint32_t header_bytes = 44;
static_assert(sizeof(Header) == header_bytes && offsetof(Header, fwd_cnt) == 40);
static_assert(std::is_trivially_copyable_v<Header>);

// Linux sends no more in one packet; the specification has no bound.
constexpr std::uint32_t most_payload = 65536;
constexpr std::uint32_t longest_packet = header_bytes + most_payload;

constexpr std::uint64_t host_cid = 2;
constexpr std::uint16_t type_stream = 1;

enum Operation : std::uint16_t {
    op_request = 1,
    op_response = 2,
    op_rst = 3,
    op_shutdown = 4,
    op_rw = 5,
    op_credit_update = 6,
    op_credit_request = 7,
};

// Flags of op_shutdown: its sender receives, or sends, no more.
constexpr std::uint32_t shutdown_receive = 1;
constexpr std::uint32_t shutdown_send = 2;

} // namespace previrt::vsock
