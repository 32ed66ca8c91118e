// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/console_ring.hpp"
#include "backends/kvm/privileged/contract/mailbox.hpp"
#include "devices/platform/pc.hpp"

#include <cstdint>
#include <span>

namespace previrt {

// The parts of its machine that a guest in privileged mode uses.
struct PrivilegedParts {
    std::span<std::uint8_t> ram;
    kvm_privileged::ImageHeader header;
    std::uint64_t vmm_root; // of the VMM's page tables, guest-physical
    unsigned map_tables;    // see KvmLayout
    kvm_privileged::Mailbox& mailbox;
    Pc& devices; // the VMM takes the devices' state from here
    std::uint64_t devices_physical;
    monitored::ConsoleRing& output;
    monitored::ConsoleRing& input;
    bool strict; // an access that no device answers ends the guest
};

} // namespace previrt
