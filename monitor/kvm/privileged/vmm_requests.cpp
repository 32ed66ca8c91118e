// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/kvm/privileged/vmm_requests.hpp"

#include "host/input_error.hpp"
#include "monitor/guest/mapping.hpp"

#include <cstring>
#include <span>
#include <string>

namespace previrt {

using namespace kvm_privileged;

PortRequest request_of_exit(const VirtualProcessor& processor) {
    const std::span<const std::uint8_t> data = processor.port_data();
    std::uint32_t request = 0;
    if (data.size() != sizeof request) {
        throw InputError("the VMM asks with " + std::to_string(data.size()) + " bytes" + processor.place());
    }
    std::memcpy(&request, data.data(), sizeof request);
    return static_cast<PortRequest>(request);
}

std::optional<PortRequest> run_to_request(VirtualProcessor& processor, const std::atomic<bool>& stopped) {
    while (!stopped) {
        // The signal's reason is handled when the guest runs again.
        const kvm_run& exit = processor.exit();
        if (!processor.run() || exit.exit_reason == KVM_EXIT_INTR) {
            continue;
        }
        if (exit.exit_reason != KVM_EXIT_IO || exit.io.port != port_request || exit.io.size != 4) {
            throw InputError("the VMM broke down (exit " + std::to_string(exit.exit_reason) + ")" +
                             processor.place());
        }
        return request_of_exit(processor);
    }
    return std::nullopt;
}

void give_pages_back(const PrivilegedParts& parts, const VirtualProcessor& processor) {
    if (!release_pages(parts.ram, parts.mailbox.released_first, parts.mailbox.released_count)) {
        throw InputError("the VMM gives memory back that this machine does not take" + processor.place());
    }
}

Announcement announcement_in(const kvm_regs& registers) {
    return {.tag = registers.r9,
            .rdi = registers.rdi,
            .rsi = registers.rsi,
            .rdx = registers.r8,
            .rcx = registers.rcx};
}

} // namespace previrt
