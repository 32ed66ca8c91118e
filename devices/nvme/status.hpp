// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt::nvme {

// Status code type and status code.
enum class Status : std::uint16_t {
    success = 0x000,
    invalid_opcode = 0x001,
    invalid_field = 0x002,
    data_transfer_error = 0x004,
    internal_error = 0x006,
    abort_requested = 0x007,
    invalid_namespace = 0x00b,
    command_sequence_error = 0x00c,
    prp_offset_invalid = 0x013,
    namespace_is_write_protected = 0x020,
    lba_out_of_range = 0x080,
    capacity_exceeded = 0x081,
    completion_queue_invalid = 0x100,
    invalid_queue_identifier = 0x101,
    invalid_queue_size = 0x102,
    asynchronous_event_request_limit_exceeded = 0x105,
    invalid_interrupt_vector = 0x108,
    invalid_log_page = 0x109,
    invalid_queue_deletion = 0x10c,
    feature_identifier_not_saveable = 0x10d,
    feature_not_namespace_specific = 0x10f,
    write_fault = 0x280,
    unrecovered_read_error = 0x281,
};

// The status field of a completion, without the phase tag.
constexpr std::uint16_t status_field(Status status) {
    constexpr std::uint16_t more = 1U << 13U; // the error log has an entry
    constexpr std::uint16_t do_not_retry = 1U << 14U;
    if (status == Status::success) {
        return 0;
    }
    return static_cast<std::uint16_t>(static_cast<std::uint16_t>(status) | more |
                                      (status == Status::abort_requested ? 0U : do_not_retry));
}

} // namespace previrt::nvme
