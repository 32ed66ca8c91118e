// SPDX-License-Identifier: BSD-2-Clause
#include "backends/process/user_mode/vectors.hpp"

#include "backends/process/contract/user_state.hpp"
#include "backends/process/frame_offsets.h"
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/stop.hpp"

#include <algorithm>
#include <cstring>

namespace previrt::process {

namespace {

constexpr std::size_t control_place = 24; // MXCSR, and behind it the mask of its valid bits
constexpr std::size_t control_mask_place = 28;
constexpr std::size_t header_place = 512;
constexpr std::size_t header_bytes = 64;
constexpr std::size_t extended_place = header_place + header_bytes;
constexpr std::size_t common_bytes = extended_place + 256; // with the upper halves of AVX
constexpr std::uint64_t common_components = 7;
constexpr std::uint32_t extended_state_leaf = 0xd;

alignas(64) std::uint8_t checked[vector_bytes];
std::uint64_t components; // the enabled ones
std::size_t area_bytes;   // of all of them
std::uint32_t control_mask;

template <typename Value>
Value read_from(const std::uint8_t* place) {
    Value value{};
    std::memcpy(&value, place, sizeof(value));
    return value;
}

std::size_t end_of_components() {
    std::size_t end = extended_place;
    for (std::uint32_t component = 2; component < 63; ++component) {
        if (((components >> component) & 1U) != 0) {
            const backend::CpuidLeaf place = backend::host_cpuid(extended_state_leaf, component);
            end = std::max(end, std::size_t{place.eax} + place.ebx);
        }
    }
    return end;
}

// XRSTOR faults at an unknown header or MXCSR. Gives the number of bytes that have something in them.
std::size_t check(std::span<const std::uint8_t> area) {
    const std::uint64_t present = read_from<std::uint64_t>(area.data() + header_place) & components;
    const std::size_t bytes =
        (present & ~common_components) == 0 ? std::min(common_bytes, area_bytes) : area_bytes;
    if (bytes > area.size()) {
        stop_guest("the vector registers of user mode have no room");
    }
    std::memcpy(checked, area.data(), bytes);
    const std::uint32_t control = read_from<std::uint32_t>(checked + control_place) & control_mask;
    std::memcpy(checked + control_place, &control, sizeof(control));
    std::memset(checked + header_place, 0, header_bytes);
    std::memcpy(checked + header_place, &present, sizeof(present));
    return bytes;
}

void save(std::span<std::uint8_t> area) {
    asm volatile("xsaveopt64 (%0)" : : "r"(area.data()), "a"(SAVED_COMPONENTS), "d"(-1) : "memory");
}

} // namespace

void start_user_vectors() {
    const bool has_optimized_save = (backend::host_cpuid(extended_state_leaf, 1).eax & 1U) != 0;
    std::uint32_t low = 0;  // NOLINT(misc-const-correctness): asm writes
    std::uint32_t high = 0; // NOLINT(misc-const-correctness)
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    components = (std::uint64_t{high} << 32U) | (low & SAVED_COMPONENTS);
    area_bytes = end_of_components();
    if (!has_optimized_save || area_bytes > vector_bytes) {
        stop_guest("--isolate does not know how to save this processor's vector registers; their bytes:",
                   area_bytes);
    }
    save(checked);
    constexpr std::uint32_t least_mask = 0xffbf; // if the processor gives none
    const auto given = read_from<std::uint32_t>(checked + control_mask_place);
    control_mask = given == 0 ? least_mask : given;
}

void load_user_vectors(std::span<const std::uint8_t> area) {
    check(area);
    asm volatile("xrstor64 (%0)" : : "r"(checked), "a"(SAVED_COMPONENTS), "d"(-1) : "memory");
}

void copy_user_vectors(std::span<const std::uint8_t> area, std::span<std::uint8_t> to) {
    const std::size_t bytes = check(area);
    std::memcpy(to.data(), checked, bytes);
}

void save_user_vectors(std::span<std::uint8_t> area) {
    std::memset(area.data() + header_place, 0, header_bytes);
    save(area);
}

} // namespace previrt::process
