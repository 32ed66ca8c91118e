// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/kvm/privileged/contract/layout.hpp"
#include "monitor/kvm/privileged/parts.hpp"
#include "monitor/kvm/privileged/virtual_processor.hpp"

#include <atomic>
#include <optional>

namespace previrt {

// The VMM asks the monitor by a write to a port. Each of these throws InputError if the VMM broke its rules.

// Runs the VMM until it asks. nullopt: the monitor has stopped the guest.
std::optional<kvm_privileged::PortRequest> run_to_request(VirtualProcessor& processor,
                                                          const std::atomic<bool>& stopped);
// The request of the write that exited.
kvm_privileged::PortRequest request_of_exit(const VirtualProcessor& processor);
// PortRequest::release: the pages that the mailbox names.
void give_pages_back(const PrivilegedParts& parts, const VirtualProcessor& processor);
// PortRequest::announcement.
kvm_privileged::Announcement announcement_in(const kvm_regs& registers);

} // namespace previrt
