// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/processor/stolen_time.hpp"

#include "frontends/x86/devices/dma_memory.hpp"
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/backend/time.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt {

namespace {

// KVM's struct kvm_steal_time.
struct Area {
    std::uint64_t nanoseconds;
    std::uint32_t version; // odd while the rest changes
    std::uint32_t flags;
    std::uint8_t preempted;
    std::uint8_t reserved[47];
};
static_assert(sizeof(Area) == 64);

constexpr std::uint64_t enabled = 1;
constexpr std::uint64_t address_bits = ~std::uint64_t{sizeof(Area) - 1};

[[gnu::section("processor")]] std::uint64_t shown;    // of the back-end's time
[[gnu::section("processor")]] std::uint64_t shown_at; // backend::now()

Area* area_at(std::uint64_t value) {
    return reinterpret_cast<Area*>(
        dma_memory.reach(dma_memory.context, value & address_bits, sizeof(Area), GuestMemory::Access::write));
}

} // namespace

std::optional<backend::CpuidLeaf> interface_leaf(std::uint32_t leaf) {
    constexpr std::uint32_t first = 0x40000000;
    constexpr std::uint32_t features = first + 1;
    constexpr std::uint32_t stolen_time = 1U << 5U;
    switch (leaf) {
    case first: // "KVMKVMKVM"
        return backend::CpuidLeaf{.eax = features, .ebx = 0x4b4d564b, .ecx = 0x564b4d56, .edx = 0x4d};
    case features:
        return backend::CpuidLeaf{
            .eax = backend::stolen_time() ? stolen_time : 0, .ebx = 0, .ecx = 0, .edx = 0};
    default:
        return {};
    }
}

std::optional<std::uint64_t> read_stolen_time_area() {
    return backend::stolen_time() ? std::optional(vcpu.stolen_time_area) : std::nullopt;
}

bool write_stolen_time_area(std::uint64_t value) {
    const std::optional<std::uint64_t> stolen = backend::stolen_time();
    if (!stolen || (value & ~(address_bits | enabled)) != 0 ||
        ((value & enabled) != 0 && area_at(value) == nullptr)) {
        return false;
    }
    vcpu.stolen_time_area = value;
    shown = *stolen;
    return true;
}

void show_stolen_time() {
    constexpr std::uint64_t pause = 1'000'000;
    if ((vcpu.stolen_time_area & enabled) == 0 || backend::now() - shown_at < pause) {
        return;
    }
    shown_at = backend::now();
    const std::uint64_t stolen = backend::stolen_time().value_or(shown);
    Area* const area = area_at(vcpu.stolen_time_area); // the balloon may have taken the memory
    if (stolen <= shown || area == nullptr) {
        return;
    }
    __atomic_store_n(&area->version, area->version | 1U, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    area->nanoseconds += stolen - shown;
    __atomic_store_n(&area->version, area->version + 1, __ATOMIC_RELEASE);
    shown = stolen;
}

} // namespace previrt
