// SPDX-License-Identifier: BSD-2-Clause
// XSAVE and kin on a host whose XCR0 cannot be changed: their sites call the VMM while it is not the guest's.
#include "frontends/x86/processor/extended_state.hpp"

#include "frontends/x86/processor/control_registers.hpp"
#include "frontends/x86/processor/exceptions.hpp"
#include "frontends/x86/sites/sites.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/vcpu.hpp"
#include "tests/unit/vmm/load_package.hpp"
#include "tests/unit/vmm/make_package.hpp"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>

namespace previrt {

namespace {

constexpr std::uint64_t sites_at = 0x180000;
constexpr std::uint64_t area_at = 0x190000;
constexpr std::uint64_t gdt_at = 0x191000;
constexpr std::uint64_t idt_at = 0x192000;
constexpr std::uint64_t stack_top = 0x195000;
constexpr std::uint64_t host_xcr0 = 0xe7;
constexpr std::size_t site_bytes = 7;

using Code = std::vector<std::uint8_t>;
const Code xsave{0x2e, 0x2e, 0x2e, 0x48, 0x0f, 0xae, 0x27}; // xsave64 (%rdi)
const Code xsaveopt{0x2e, 0x2e, 0x2e, 0x48, 0x0f, 0xae, 0x37};
const Code xsaveopt_elsewhere{0x2e, 0x2e, 0x2e, 0x48, 0x0f, 0xae, 0x36}; // (%rsi)
const Code xrstor{0x2e, 0x2e, 0x2e, 0x48, 0x0f, 0xae, 0x2f};

std::uint8_t* memory(std::uint64_t address) {
    return backend::guest_ram() + address;
}

std::uint64_t address_of(std::size_t site) {
    return sites_at + (site * 16);
}

class ExtendedState : public testing::Test {
protected:
    ExtendedState() {
        const auto stop = load_package(make_tiny_package());
        EXPECT_FALSE(stop) << *stop;
        fake::host.xcr0 = host_xcr0;
        fake::host.cpuid[{1, 0}].ecx = 1U << 26U;
        fake::host.cpuid[{0xd, 0}].eax = host_xcr0;
        vcpu.cr4 &= ~std::uint64_t{cr4_osxsave};
        vcpu.xcr0 = 1;
        follow_extended_control();
        make_handlers();
    }

    static void put(std::size_t number, SiteKind kind, const Code& code) {
        KnownSite site{.address = address_of(number),
                       .record = {.site = 0,
                                  .kind = static_cast<std::uint8_t>(kind),
                                  .form = encode_form(Shape::memory, 8, false),
                                  .operand = 0,
                                  .lengths = 3 << 4 | 4},
                       .bytes = {}};
        std::memcpy(site.bytes, code.data(), code.size());
        ASSERT_TRUE(add_site(site));
        std::memcpy(memory(site.address), code.data(), code.size());
        ASSERT_TRUE(rewrite_site(site, {memory(site.address), site_bytes}, Placement::fixed));
    }

    static void set(std::uint64_t value) {
        write_control_register(4, vcpu.cr4 | cr4_osxsave);
        write_extended_control(0, value);
        ASSERT_FALSE(exception_is_raised());
    }

    [[nodiscard]] static Code code_of(std::size_t site) {
        return {memory(address_of(site)), memory(address_of(site)) + site_bytes};
    }

    [[nodiscard]] static bool calls(std::size_t site) {
        const Code code = code_of(site);
        return code[0] == 0xe8 || (code[0] == 0xff && code[1] == 0x14);
    }

    // With all ones in EDX:EAX.
    static void execute(SiteKind kind, std::uint64_t area) {
        Instruction instruction{};
        instruction.kind = kind;
        instruction.address = 0x1000;
        instruction.next = 0x1007;
        instruction.width = 8;
        instruction.effective = area;
        vcpu.registers.general[rax] = ~std::uint64_t{0};
        vcpu.registers.general[rdx] = ~std::uint64_t{0};
        fake::host.state_instruction.reset();
        execute_site(instruction);
    }

    // The vector.
    static std::uint64_t raised(SiteKind kind, std::uint64_t area) {
        execute(kind, area);
        EXPECT_FALSE(fake::host.state_instruction);
        EXPECT_EQ(vcpu.registers.rip, 0x1000U);
        EXPECT_TRUE(exception_is_raised());
        deliver_raised();
        return vcpu.registers.rip;
    }

    // The handler of each vector has the vector's number for its address.
    static void make_handlers() {
        constexpr std::uint64_t selector = 8;
        constexpr std::uint64_t long_code = 0x00af9b000000ffff;
        constexpr std::uint64_t interrupt_gate = 0x8e;
        std::memcpy(memory(gdt_at + selector), &long_code, sizeof(long_code));
        vcpu.gdt = {.base = gdt_at, .limit = 15};
        for (std::uint64_t vector = 0; vector < 32; ++vector) {
            const std::uint64_t gate = vector | selector << 16U | interrupt_gate << 40U;
            std::memcpy(memory(idt_at + (vector * 16)), &gate, sizeof(gate));
        }
        vcpu.idt = {.base = idt_at, .limit = 511};
        vcpu.registers.general[rsp] = stack_top;
    }
};

TEST_F(ExtendedState, SitesAreNativeWhileTheGuestsXcr0IsTheHosts) {
    put(0, SiteKind::xsave, xsave);
    put(1, SiteKind::xrstor, xrstor);
    EXPECT_TRUE(calls(0) && calls(1));
    set(7);
    EXPECT_TRUE(calls(0) && calls(1));
    set(host_xcr0);
    EXPECT_EQ(code_of(0), xsave);
    EXPECT_EQ(code_of(1), xrstor);
    set(3);
    EXPECT_TRUE(calls(0) && calls(1));
    set(host_xcr0);
    EXPECT_EQ(code_of(0), xsave);
    write_control_register(4, vcpu.cr4 & ~std::uint64_t{cr4_osxsave});
    EXPECT_TRUE(calls(0) && calls(1));
}

TEST_F(ExtendedState, WhatTheGuestHasCopiedOverASiteIsOne) {
    put(0, SiteKind::xsave, xsave);
    put(1, SiteKind::xsaveopt, xsaveopt);
    put(2, SiteKind::xsave, xsave);
    put(3, SiteKind::xsaveopt, xsaveopt_elsewhere);
    put(4, SiteKind::xsaveopt, xsaveopt);
    set(host_xcr0);
    std::ranges::copy(xsaveopt, memory(address_of(0)));
    std::ranges::copy(xsaveopt_elsewhere, memory(address_of(2)));
    std::ranges::copy(xsave, memory(address_of(4)));
    set(3);
    EXPECT_TRUE(calls(0));
    EXPECT_EQ(code_of(2), xsaveopt_elsewhere) << "another operand than the record's";
    EXPECT_EQ(code_of(4), xsave) << "it stores more than the record's instruction";
    set(host_xcr0);
    EXPECT_EQ(code_of(0), xsave);
    EXPECT_EQ(code_of(2), xsaveopt_elsewhere);
}

TEST_F(ExtendedState, TheMaskIsCutDown) {
    set(3);
    execute(SiteKind::xsave, area_at);
    ASSERT_TRUE(fake::host.state_instruction);
    EXPECT_EQ(fake::host.state_instruction->mask, 3U);
    EXPECT_EQ(fake::host.state_instruction->area, area_at);
    EXPECT_EQ(fake::host.state_instruction->next, 0x1007U);
    EXPECT_EQ(vcpu.registers.rip, 0x1000U) << "it is yet to be executed";
    EXPECT_FALSE(exception_is_raised());
}

TEST_F(ExtendedState, WhatIsNotOfferedFaults) {
    EXPECT_EQ(raised(SiteKind::xsave, area_at), invalid_opcode) << "without CR4.OSXSAVE";
    set(3);
    EXPECT_EQ(raised(SiteKind::xsavec, area_at), invalid_opcode);
    EXPECT_EQ(raised(SiteKind::xsave, area_at + 8), general_protection);
    EXPECT_EQ(raised(SiteKind::xsave, std::uint64_t{1} << 63U), general_protection);
    EXPECT_EQ(raised(SiteKind::xrstor, std::uint64_t{1} << 40U), page_fault);
    vcpu.cr0 |= cr0_ts;
    EXPECT_EQ(raised(SiteKind::xrstor, area_at), device_not_available);
    vcpu.cr0 &= ~std::uint64_t{cr0_ts};

    auto* const header = reinterpret_cast<std::uint64_t*>(memory(area_at) + 512);
    header[0] = 4;
    EXPECT_EQ(raised(SiteKind::xrstor, area_at), general_protection);
    header[0] = 3;
    header[1] = std::uint64_t{1} << 63U;
    EXPECT_EQ(raised(SiteKind::xrstor, area_at), general_protection);
    header[1] = 0;
    execute(SiteKind::xrstor, area_at);
    EXPECT_TRUE(fake::host.state_instruction);
}

TEST_F(ExtendedState, LostRegistersAreSaidOfOnce) {
    set(host_xcr0);
    EXPECT_FALSE(some_state_is_lost);
    set(3);
    ASSERT_TRUE(some_state_is_lost);
    say_that_state_is_lost();
    EXPECT_FALSE(some_state_is_lost);
    EXPECT_NE(fake::host.console.find("its XCR0 is 0x3, theirs 0xe7"), std::string::npos)
        << fake::host.console;
}

} // namespace

} // namespace previrt
