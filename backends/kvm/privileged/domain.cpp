// SPDX-License-Identifier: BSD-2-Clause
// The guest's hand-over from the monitor, and requests for more.
#include "backends/kvm/privileged/domain.hpp"

#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/backend/released_memory.hpp"

namespace previrt::kvm_privileged {

std::uint8_t* part_of_vmm(const kvm::Part& part) {
    return pointer_to(handover.vmm_memory + part.offset);
}

std::span<const std::uint8_t> package() {
    return {part_of_vmm(handover.package), handover.package.bytes};
}

void request_of_monitor(PortRequest request) {
    asm volatile("outl %0, %1" : : "a"(static_cast<std::uint32_t>(request)), "d"(port_request) : "memory");
}

} // namespace previrt::kvm_privileged

namespace previrt::backend {

using namespace kvm_privileged;

std::uint8_t* guest_ram() {
    return pointer_to(0);
}

bool can_release_memory() {
    return true;
}

void release_memory(std::uint64_t first_frame, std::uint64_t count) {
    mailbox.released_first = first_frame;
    mailbox.released_count = count;
    request_of_monitor(PortRequest::release);
}

void prepare_write(std::uint64_t /*guest_frame*/) {} // it is always writable

std::uint64_t guest_ram_bytes() {
    return handover.guest_memory;
}

} // namespace previrt::backend
