// SPDX-License-Identifier: BSD-2-Clause
// Annotated accesses to device registers. Each walks the guest's page tables: a walk costs less than knowing
// when a cached translation has changed.
#include "backends/kvm/privileged/site_frame.hpp"
#include "frontends/x86/devices/device_memory.hpp"
#include "frontends/x86/instructions/instruction.hpp"
#include "frontends/x86/instructions/instruction_reader.hpp"
#include "frontends/x86/paging/page_walk.hpp"
#include "frontends/x86/paging/physical_memory.hpp"
#include "inplace-vmm/backend/segment_bases.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/processor.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <cstring>

namespace previrt::kvm_privileged {

namespace {

// NOLINTBEGIN(misc-const-correctness): asm writes.
std::uint64_t read_cr3() {
    std::uint64_t value = 0;
    asm volatile("movq %%cr3, %0" : "=r"(value));
    return value;
}

// The code was written at another address than it runs at.
void serialize() {
    std::uint64_t value = 0;
    asm volatile("movq %%cr2, %0\n\tmovq %0, %%cr2" : "=r"(value) : : "memory");
}
// NOLINTEND(misc-const-correctness)

template <typename Value>
void move(std::uint64_t address, std::uint64_t& value, bool is_write) {
    auto* const place = reinterpret_cast<volatile Value*>(address);
    if (is_write) {
        *place = static_cast<Value>(value);
    } else {
        value = *place;
    }
}

// Through the guest's page tables, which are the current ones.
void access_memory(const Instruction& instruction, std::uint64_t& value, bool is_write) {
    switch (instruction.width) {
    case 1:
        move<std::uint8_t>(instruction.effective, value, is_write);
        break;
    case 2:
        move<std::uint16_t>(instruction.effective, value, is_write);
        break;
    case 4:
        move<std::uint32_t>(instruction.effective, value, is_write);
        break;
    default:
        move<std::uint64_t>(instruction.effective, value, is_write);
    }
}

// Puts the instruction back, so that it raises its exception at its own address.
void give_back(const KnownSite& site, SiteFrame& frame) {
    const std::size_t length = site.record.site_length();
    if (length > sizeof(site.bytes)) {
        stop_guest("an annotated access that faults is longer than what is kept of it, at", site.address);
    }
    for (std::size_t i = 0; i < length; ++i) {
        const PageWalk walk = walk_page(site.address + i, {});
        std::uint8_t* const byte = walk.faults ? nullptr : physical_memory(walk.physical, 1);
        if (byte == nullptr) {
            stop_guest("a site is not in memory, at", site.address);
        }
        *byte = site.bytes[i];
    }
    serialize();
    frame.site_end = site.address;
}

bool may_fault(const Instruction& instruction, const PageWalk& walk) {
    // A user page: with SMAP the access depends on RFLAGS.AC.
    return walk.faults || walk.user ||
           bytes_in_page(instruction.effective, instruction.width) < instruction.width;
}

} // namespace

void access_register(SiteFrame& frame) {
    const KnownSite& site = site_called(frame.site_end, Shape::memory);
    ++counters.calls[site.record.kind];
    const Instruction* const instruction = decode_site(site, site.address);
    if (instruction == nullptr || !instruction->operand_is_memory || !is_canonical(instruction->effective)) {
        give_back(site, frame);
        return;
    }
    vcpu.cr3 = read_cr3();
    const bool is_write = site.kind() == SiteKind::mmio_write;
    PageWalk walk{};
    do {
        walk = walk_page(instruction->effective, {.write = is_write});
        if (may_fault(*instruction, walk)) {
            give_back(site, frame);
            return;
        }
    } while (physical_memory(walk.physical, instruction->width) == nullptr && !mark_accessed(walk, is_write));
    std::uint64_t value =
        is_write ? read_register(instruction->reg, instruction->width, instruction->rex) : 0;
    if (physical_memory(walk.physical, instruction->width) != nullptr) {
        access_memory(*instruction, value, is_write);
    } else if (is_write) {
        write_device(walk.physical, &value, instruction->width);
    } else {
        read_device(walk.physical, &value, instruction->width);
    }
    if (!is_write) {
        write_register(instruction->reg, value, instruction->width, instruction->rex);
        std::memcpy(frame.general, vcpu.registers.general, sizeof frame.general);
    }
}

} // namespace previrt::kvm_privileged

namespace previrt::backend {

namespace {

constexpr std::uint32_t msr_fs_base = 0xc0000100;
constexpr std::uint32_t msr_gs_base = 0xc0000101;

} // namespace

std::uint64_t read_fs_base() {
    return processor::read_msr(msr_fs_base);
}

std::uint64_t read_gs_base(bool /*user*/) {
    return processor::read_msr(msr_gs_base);
}

} // namespace previrt::backend
