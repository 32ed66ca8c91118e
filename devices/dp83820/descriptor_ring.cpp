// SPDX-License-Identifier: BSD-2-Clause
#include "devices/dp83820/descriptor_ring.hpp"

namespace previrt::dp83820 {

DescriptorRing::Look DescriptorRing::look(const GuestMemory& memory, DescriptorFormat format,
                                          std::uint32_t ours, Descriptor& descriptor) {
    if (done) {
        const std::optional<std::uint64_t> link = format.read_link(memory, pointer);
        if (!link) {
            return Look::fault;
        }
        if (*link == 0) {
            return Look::exhausted;
        }
        write_pointer(*link);
    }
    const std::optional<Descriptor> copy = format.read(memory, pointer);
    if (!copy) {
        return Look::fault;
    }
    descriptor = *copy;
    return (descriptor.cmdsts & cmdsts_own) == ours ? Look::ready : Look::exhausted;
}

DescriptorRing::Look DescriptorRing::finish(const GuestMemory& memory, DescriptorFormat format,
                                            std::uint64_t link, std::uint32_t cmdsts,
                                            std::optional<std::uint32_t> extsts) {
    if (!format.write_back(memory, pointer, cmdsts, extsts)) {
        return Look::fault;
    }
    if (link == 0) {
        done = true;
        return Look::exhausted;
    }
    write_pointer(link);
    return Look::ready;
}

} // namespace previrt::dp83820
