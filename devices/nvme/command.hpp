// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>

namespace previrt::nvme {

// An entry of a submission queue.
struct Command {
    std::uint8_t opcode;
    std::uint8_t flags; // FUSE and PSDT
    std::uint16_t identifier;
    std::uint32_t namespace_id;
    std::uint64_t reserved;
    std::uint64_t metadata;
    std::uint64_t prp1;
    std::uint64_t prp2;
    std::array<std::uint32_t, 6> words; // CDW10 to CDW15

    [[nodiscard]] constexpr std::uint32_t cdw10() const { return words[0]; }
    [[nodiscard]] constexpr std::uint32_t cdw11() const { return words[1]; }
    [[nodiscard]] constexpr std::uint32_t cdw12() const { return words[2]; }
    [[nodiscard]] std::uint64_t starting_lba() const { return words[0] | (std::uint64_t{words[1]} << 32U); }
    [[nodiscard]] std::uint32_t blocks() const { return (words[2] & 0xffffU) + 1; }
};
static_assert(sizeof(Command) == 64);

// An entry of a completion queue.
struct Completion {
    std::uint32_t result;
    std::uint32_t reserved;
    std::uint16_t submission_head;
    std::uint16_t submission_queue;
    std::uint32_t identifier_and_status; // the phase tag is bit 16
};
static_assert(sizeof(Completion) == 16);

inline constexpr unsigned command_shift = 6; // the sizes of entries as CC and Identify have them
inline constexpr unsigned completion_shift = 4;

enum class AdminOpcode : std::uint8_t {
    delete_submission_queue = 0x00,
    create_submission_queue = 0x01,
    get_log_page = 0x02,
    delete_completion_queue = 0x04,
    create_completion_queue = 0x05,
    identify = 0x06,
    abort = 0x08,
    set_features = 0x09,
    get_features = 0x0a,
    asynchronous_event_request = 0x0c,
};

enum class IoOpcode : std::uint8_t {
    flush = 0x00,
    write = 0x01,
    read = 0x02,
    write_zeroes = 0x08,
    dataset_management = 0x09,
};

inline constexpr std::uint32_t all_namespaces = 0xffff'ffff;
inline constexpr std::uint32_t only_namespace = 1;

} // namespace previrt::nvme
