// SPDX-License-Identifier: BSD-2-Clause
#include "devices/dp83820/descriptor.hpp"

#include "devices/dp83820/registers.hpp"

namespace previrt::dp83820 {

namespace {

using GuestWord [[gnu::may_alias]] = std::uint32_t;

// Atomic, so that the compiler reads memory once that the guest may change.
std::uint32_t load(const std::uint8_t* place) {
    return __atomic_load_n(reinterpret_cast<const GuestWord*>(place), __ATOMIC_ACQUIRE);
}

GuestWord* word_at(std::uint8_t* place) {
    return reinterpret_cast<GuestWord*>(place);
}

} // namespace

DescriptorFormat DescriptorFormat::of(std::uint32_t cfg) {
    return {.wide = (cfg & cfg_m64addr) != 0, .extended = (cfg & cfg_extsts_en) != 0};
}

std::uint64_t DescriptorFormat::pointer_at(const std::uint8_t* place) const {
    return load(place) | (wide ? static_cast<std::uint64_t>(load(place + 4)) << 32U : 0);
}

std::uint64_t DescriptorFormat::link_at(const std::uint8_t* place) const {
    return pointer_at(place) & ~(descriptor_alignment - 1);
}

std::optional<Descriptor> DescriptorFormat::read(const GuestMemory& memory, std::uint64_t address) const {
    const std::uint8_t* const place = memory.to_read(address, size());
    if (place == nullptr) {
        return std::nullopt;
    }
    const std::uint32_t cmdsts = load(place + cmdsts_offset()); // first: OWN vouches for the rest
    return Descriptor{.link = link_at(place),
                      .buffer = pointer_at(place + buffer_offset()),
                      .cmdsts = cmdsts,
                      .extsts = extended ? load(place + extsts_offset()) : 0};
}

std::optional<std::uint64_t> DescriptorFormat::read_link(const GuestMemory& memory,
                                                         std::uint64_t address) const {
    const std::uint8_t* const place = memory.to_read(address, size());
    if (place == nullptr) {
        return std::nullopt;
    }
    return link_at(place);
}

bool DescriptorFormat::write_back(const GuestMemory& memory, std::uint64_t address, std::uint32_t cmdsts,
                                  std::optional<std::uint32_t> extsts) const {
    std::uint8_t* const place = memory.to_write(address, size());
    if (place == nullptr) {
        return false;
    }
    if (extended && extsts) {
        __atomic_store_n(word_at(place + extsts_offset()), *extsts, __ATOMIC_RELAXED);
    }
    __atomic_store_n(word_at(place + cmdsts_offset()), cmdsts, __ATOMIC_RELEASE);
    return true;
}

} // namespace previrt::dp83820
