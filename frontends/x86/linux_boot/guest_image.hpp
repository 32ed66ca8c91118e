// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

namespace previrt {

// The processor's state at a kernel's first instruction: 64-bit mode, with these guest-physical addresses
// mapped to themselves.
struct BootState {
    std::uint64_t entry;
    std::uint64_t stack_top;
    std::uint64_t boot_params;
    std::uint64_t root;
    std::uint64_t descriptors;
    std::uint16_t descriptors_limit;

    static constexpr std::uint16_t code_selector = 0x10;
    static constexpr std::uint16_t data_selector = 0x18;
};

// Puts the packed kernel and a boot loader's data into the guest's RAM, and lists the kernel's sites. A bad
// package is refused with a message.
BootState place_guest(std::span<const std::uint8_t> package);
void rewrite_kernel();

// Linux first runs at physical addresses. The link address of the code at `address`.
std::uint64_t guest_link_address(std::uint64_t address);
std::uint64_t kernel_link_delta(); // link address - physical address

} // namespace previrt
