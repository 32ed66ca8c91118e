// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/kvm/deprivileged/contract/layout.hpp"

#include <cstdint>

// As backends/kvm/deprivileged/contract/layout.hpp, but the guest's RAM is at its own guest-physical
// addresses.
namespace previrt::kvm_privileged {

using kvm::handover_address;
using kvm::image_address;
using kvm::page_shift;
using kvm::page_size;
using kvm::table_entries;

// ---- guest-physical

constexpr std::uint64_t most_ram = std::uint64_t{3} << 30U;
constexpr std::uint64_t vmm_memory = std::uint64_t{1} << 32U;

// ---- ports, which a PC does not use

constexpr std::uint16_t port_output = 0x5650;  // an ioeventfd: the output ring has bytes
constexpr std::uint16_t port_packets = 0x5658; // an ioeventfd: packets, or room for some
// With several processors an ioeventfd: there is an earlier deadline than the monitor knows.
constexpr std::uint16_t port_attention = 0x565c;
// An ioeventfd each: requests, or room for completions.
constexpr std::uint16_t port_of_disk(unsigned disk) {
    return static_cast<std::uint16_t>(0x5660 + (disk * 4));
}
constexpr std::uint16_t port_request = 0x5654; // 4 bytes, one of these, for the monitor
enum class PortRequest : std::uint32_t {
    answer = 1,   // to the monitor's question
    attention,    // an interrupt waits for the guest, or the timer has to be set
    ended,        // the guest has ended, and the console says how
    release,      // memory: the mailbox says which
    announcement, // the tag in R9, RDX in R8; RDI, RSI, RCX. RAX is the answer
    lines,        // with several processors: the mailbox has the state of the interrupt lines
};

// ---- virtual

// All memory, from guest-physical 0 on, in the last 512 GiB. All of Linux's address spaces share the table
// for these, and Linux documents the first 444 GiB as an unused hole.
constexpr std::uint64_t map_address = 0xffffff8000000000;
constexpr unsigned map_most_tables = 444; // of 1 GiB each

// In the table of the last 2 MiB, behind the image.
constexpr unsigned output_index = 503; // two pages each
constexpr unsigned input_index = 505;
constexpr unsigned mailbox_index = 507;
constexpr std::uint64_t output_address = image_address + (std::uint64_t{output_index} << page_shift);
constexpr std::uint64_t input_address = image_address + (std::uint64_t{input_index} << page_shift);
constexpr std::uint64_t mailbox_address = image_address + (std::uint64_t{mailbox_index} << page_shift);

} // namespace previrt::kvm_privileged
