// SPDX-License-Identifier: BSD-2-Clause
// Annotated accesses to device registers. Each walks the guest's page tables: a walk costs less than knowing
// when a cached translation has changed.
#include "backends/kvm/privileged/processors.hpp"
#include "backends/kvm/privileged/site_frame.hpp"
#include "frontends/x86/devices/device_memory.hpp"
#include "frontends/x86/instructions/instruction.hpp"
#include "frontends/x86/instructions/instruction_reader.hpp"
#include "frontends/x86/paging/page_walk.hpp"
#include "frontends/x86/paging/physical_memory.hpp"
#include "inplace-vmm/backend/segment_bases.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/instruction_counts.hpp"
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

std::uint8_t* byte_of_site(const KnownSite& site, std::size_t number) {
    const PageWalk walk = walk_page(site.address + number, {});
    std::uint8_t* const byte = walk.faults ? nullptr : physical_memory(walk.physical, 1);
    if (byte == nullptr) {
        stop_guest("a site is not in memory, at", site.address);
    }
    return byte;
}

void write_first_bytes(const KnownSite& site, std::uint8_t first, std::uint8_t second) {
    const auto both = static_cast<std::uint16_t>(first | second << 8U);
    __atomic_store_n(reinterpret_cast<std::uint16_t*>(byte_of_site(site, 0)), both, __ATOMIC_SEQ_CST);
}

// Whether another processor would see two first bytes that do not belong together.
bool is_torn_for_others(const KnownSite& site) {
    constexpr std::uint64_t cache_line = 64;
    return has_several_processors() && site.address % cache_line == cache_line - 1;
}

bool can_be_given_back(const KnownSite& site) {
    return site.record.site_length() <= sizeof(site.bytes) && !is_torn_for_others(site);
}

// Puts the instruction back, so that it raises its exception at its own address. Another processor may be
// about to execute the site: it waits in a jump to itself. One that is in the VMM from here returns behind
// the site.
void give_back(const KnownSite& site, SiteFrame& frame) {
    const std::size_t length = site.record.site_length();
    if (!can_be_given_back(site)) {
        stop_guest("an annotated access that faults cannot be put back, at", site.address);
    }
    constexpr std::uint8_t jump = 0xeb;
    constexpr std::uint8_t to_itself = 0xfe;
    const bool has_others = has_several_processors();
    if (has_others) {
        write_first_bytes(site, jump, to_itself);
    }
    for (std::size_t i = has_others ? 2 : 0; i < length; ++i) {
        *byte_of_site(site, i) = site.bytes[i];
    }
    if (has_others) {
        write_first_bytes(site, site.bytes[0], site.bytes[1]);
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
    begin_entry(site.address);
    count_entry(Cause::site_call, site.record.kind);
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
    const bool is_of_kvm = is_memory_of_kvm(walk.physical);
    if (is_of_kvm && can_be_given_back(site)) {
        give_back(site, frame); // it can do without the VMM
        return;
    }
    std::uint64_t value =
        is_write ? read_register(instruction->reg, instruction->width, instruction->rex) : 0;
    if (is_of_kvm || physical_memory(walk.physical, instruction->width) != nullptr) {
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
    frame.site_end = site.end(); // never to the padding, which give_back() may be writing
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
