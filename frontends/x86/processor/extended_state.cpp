// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/processor/extended_state.hpp"

#include "frontends/x86/paging/guest_memory.hpp"
#include "frontends/x86/paging/page_walk.hpp"
#include "frontends/x86/processor/cpuid.hpp"
#include "frontends/x86/processor/exceptions.hpp"
#include "frontends/x86/sites/site_code.hpp"
#include "frontends/x86/sites/site_operands.hpp"
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/print.hpp"
#include "inplace-vmm/rewriter.hpp"
#include "inplace-vmm/site_list.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <algorithm>
#include <optional>

namespace previrt {

[[gnu::section("processor")]] bool some_state_is_lost = false;

namespace {

[[gnu::section(".bss.cache")]] bool is_native = false;

// A guest may copy XSAVEOPT over XSAVE; executing it as XSAVEOPT stores the same as XSAVE, or less.
bool is_same_or_less(SiteKind copied, SiteKind site) {
    return copied == site || (copied == SiteKind::xsaveopt && site == SiteKind::xsave);
}

// The site's own instruction, or that of another site, which a guest may copy there: Linux's alternatives.
bool holds_instruction(const KnownSite& site, std::span<const std::uint8_t> code) {
    const std::optional<Instruction> own = decode_instruction(site.kind(), site.address, site.instruction());
    return std::ranges::any_of(known_sites(), [&](const KnownSite& other) {
        if (!is_extended_state(other.kind()) || !is_same_or_less(other.kind(), site.kind()) ||
            other.record.site_length() != code.size() ||
            !std::equal(code.begin(), code.end(), std::begin(other.bytes))) {
            return false;
        }
        const std::optional<Instruction> copied =
            decode_instruction(other.kind(), site.address, other.instruction());
        return own && copied && own->width == copied->width && own->memory == copied->memory;
    });
}

// Other code at a site stays: the guest has put it there.
void change_sites(bool to_native) {
    is_native = is_native && to_native; // the rewriter reads it
    for (const KnownSite& site : known_sites()) {
        const std::size_t length = site.record.site_length();
        std::uint8_t code[sizeof(site.bytes)];
        if (!is_extended_state(site.kind()) || length > sizeof(code) ||
            peek_guest(site.address, code, length, Privilege::supervisor) != length) {
            continue;
        }
        if (to_native && is_rewritten(site, {code, length})) {
            write_site_code(site.address, {site.bytes, length});
        } else if (!to_native && holds_instruction(site, {code, length})) {
            // The guest may copy from here.
            if (rewrite_site(site, {code, length}, Placement::copied)) {
                write_site_code(site.address, {code, length});
            }
        }
    }
    is_native = to_native;
}

struct Header {
    std::uint64_t components;
    std::uint64_t compacted;
};

// An area in memory whose components are not compacted: CPUID does not offer compaction.
bool may_load(std::uint64_t area) {
    constexpr std::uint64_t header_offset = 512;
    Header header{};
    if (!read_guest(area + header_offset, header)) {
        return false;
    }
    if ((header.components & ~vcpu.xcr0) != 0 || header.compacted != 0) {
        raise_exception(general_protection, 0);
        return false;
    }
    return true;
}

} // namespace

bool is_extended_state(SiteKind kind) {
    return kind == SiteKind::xsave || kind == SiteKind::xsaveopt || kind == SiteKind::xrstor;
}

bool extended_state_is_native() {
    return is_native;
}

void follow_extended_control() {
    const bool is_enabled = (vcpu.cr4 & cr4_osxsave) != 0;
    const std::uint64_t in_force = is_enabled ? backend::read_xcr0() : 0;
    some_state_is_lost = (in_force & offered_xcr0_bits() & ~vcpu.xcr0) != 0;
    const bool becomes_native = is_enabled && in_force == vcpu.xcr0;
    if (vcpu.number != 0) { // processors share the sites, which follow the boot processor
        constexpr std::uint64_t after_reset = 1;
        if (is_enabled && vcpu.xcr0 != after_reset && becomes_native != is_native) {
            stop_guest("processors with different XCR0 are not modelled:", vcpu.xcr0);
        }
        return;
    }
    if (becomes_native != is_native) {
        change_sites(becomes_native);
    }
}

void execute_extended_state(const Instruction& instruction) {
    constexpr std::uint64_t alignment = 64;
    if ((vcpu.cr4 & cr4_osxsave) == 0) {
        raise_exception(invalid_opcode);
        return;
    }
    if ((vcpu.cr0 & cr0_ts) != 0) {
        raise_exception(device_not_available);
        return;
    }
    if (!is_canonical(instruction.effective) || instruction.effective % alignment != 0) {
        raise_exception(general_protection, 0);
        return;
    }
    if (instruction.kind == SiteKind::xrstor && !may_load(instruction.effective)) {
        return;
    }
    constexpr std::uint64_t low_half = 0xffffffff;
    backend::execute_state_instruction(
        {.kind = instruction.kind,
         .wide = instruction.width == 8,
         .address = instruction.address,
         .next = instruction.next,
         .area = instruction.effective,
         .mask = ((general(rax) & low_half) | (general(rdx) << 32U)) & vcpu.xcr0});
    vcpu.registers.rip = instruction.address;
}

void say_that_state_is_lost() {
    some_state_is_lost = false;
    Print()
        << "previrt-vmm: programs see vector registers that the guest's kernel does not enable; its XCR0 is "
           "0x"
        << Hex{vcpu.xcr0} << ", theirs 0x" << Hex{backend::read_xcr0()} << '\n';
}

} // namespace previrt
