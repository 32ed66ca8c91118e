// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace previrt {

// In the order of the registers' numbers in ModRM.
struct Registers {
    std::uint64_t general[16]; // rax rcx rdx rbx rsp rbp rsi rdi r8..r15
    std::uint64_t rip;
    std::uint64_t rflags; // arithmetic and debug flags; the Vcpu has the others
};

enum : std::uint8_t { rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15 };

enum RFlags : std::uint64_t {
    flag_carry = 1U << 0U,
    flag_reserved_one = 1U << 1U,
    flag_zero = 1U << 6U,
    flag_trap = 1U << 8U,
    flag_interrupt = 1U << 9U,
    flag_direction = 1U << 10U,
    flag_iopl = 3U << 12U,
    flag_nested_task = 1U << 14U,
    flag_resume = 1U << 16U,
    flag_virtual_8086 = 1U << 17U,
    flag_alignment = 1U << 18U,
    flag_virtual_interrupt = 3U << 19U,
    flag_identification = 1U << 21U,
};

constexpr std::uint64_t debug_single_step = 1U << 14U; // DR6.BS

// Flags that the guest may set by popf and iret, and that the real RFLAGS holds for it.
constexpr std::uint64_t arithmetic_flags = 0x08d5 | flag_direction;
constexpr std::uint64_t native_flags = arithmetic_flags | flag_trap | flag_resume | flag_identification;
// In user mode the real RFLAGS holds these too, since any popf may set them. The real RFLAGS must not hold a
// kernel's AC if the kernel runs at level 3: the processor would check alignment.
constexpr std::uint64_t native_user_flags = flag_nested_task | flag_alignment;

struct DescriptorTable {
    std::uint64_t base;
    std::uint16_t limit;
};

// LDTR and TR: a selector and the loaded fields of its descriptor.
struct SystemSegment {
    std::uint16_t selector;
    std::uint64_t base;
    std::uint32_t limit;
    bool present;
};

// Raised and not delivered yet.
struct PendingException {
    bool raised;
    std::uint8_t vector;
    std::uint32_t error_code;
};

// A program's instruction that runs alone because a breakpoint is armed, with the state before it.
struct WatchedStep {
    static constexpr unsigned breakpoints = 4;

    bool under_way;
    bool is_guests; // TF is set by the guest too
    Registers registers;
    std::uint8_t code[15];
    std::uint64_t code_bytes;
    std::uint64_t watched[breakpoints];
    std::uint64_t watched_bytes[breakpoints]; // that could be read
};

// One of the two roots of a guest's state: all of one virtual processor, except the part that the real
// processor holds while it runs (FPU, data segments). Assembly and rewritten code address it absolutely. It
// has no pointers.
struct Vcpu {
    Registers registers;

    // 8 bytes each, because rewritten code reads them.
    std::uint64_t cr0;
    std::uint64_t cr2;
    std::uint64_t cr3;
    std::uint64_t cr4;
    std::uint64_t cr8;
    std::uint64_t debug[8];
    std::uint64_t cs;
    std::uint64_t ss;

    // Quick system calls (mode_changes.h) write the first two of these together, and the second and third.
    bool interrupt_flag; // valid while the VMM runs; while the guest runs, the back-end's cell holds it
    std::uint8_t cpl;
    std::uint8_t gs_exchanged; // 0xff: the active GS base is the one that the back-end keeps for user mode
    bool interrupt_shadow;     // events wait for the end of the next instruction
    bool events_held;          // the cell says disabled although the flag is set, until the next entry
    bool stepping;        // one instruction, to the end of its interrupt shadow; the guest has not set TF
    bool step_after_site; // the guest's TF is set: #DB follows the emulated instruction
    bool nmi_blocked;     // from the delivery of an NMI to the next iret
    bool descriptors_may_differ; // the guest may have written to its GDT
    bool stack_may_be_missing;   // the processor has started, and not enabled interrupts yet
    std::uint64_t system_flags;  // IOPL, NT, AC
    std::uint64_t instruction;   // the emulated one: its faults are reported at this address

    // By segment register. While the real register holds null, this is the guest's selector: a segment of the
    // kernel, which user mode must not have, or a null selector with its RPL.
    std::uint16_t kernel_selector[6];

    DescriptorTable gdt;
    DescriptorTable idt;
    SystemSegment ldt;
    SystemSegment task;

    std::uint64_t efer;
    std::uint64_t star;
    std::uint64_t lstar;
    std::uint64_t cstar;
    std::uint64_t syscall_mask;
    std::uint64_t sysenter_cs;
    std::uint64_t sysenter_esp;
    std::uint64_t sysenter_eip;
    std::uint64_t page_attributes;
    std::uint64_t misc_enable;
    std::uint64_t debug_control;
    std::uint64_t xcr0;
    std::uint64_t northbridge_configuration;
    std::uint64_t stolen_time_area; // the register of KVM's interface

    // If the VMM exchanges the bases itself: user mode's while the kernel runs, and the kernel's.
    std::uint64_t user_gs_base;
    std::uint64_t kernel_gs_base;

    PendingException pending;
    WatchedStep step;
    std::uint32_t number;  // of the processor; 0 is the boot processor
    std::uint32_t version; // of this layout
};
static_assert(std::is_trivially_copyable_v<Vcpu>);
static_assert(offsetof(Vcpu, cpl) == offsetof(Vcpu, interrupt_flag) + 1);
static_assert(offsetof(Vcpu, gs_exchanged) == offsetof(Vcpu, cpl) + 1);

extern "C" Vcpu vcpu;

enum Cr0 : std::uint64_t {
    cr0_pe = 1U << 0U,
    cr0_mp = 1U << 1U,
    cr0_em = 1U << 2U,
    cr0_ts = 1U << 3U,
    cr0_et = 1U << 4U,
    cr0_ne = 1U << 5U,
    cr0_wp = 1U << 16U,
    cr0_am = 1U << 18U,
    cr0_nw = 1U << 29U,
    cr0_cd = 1U << 30U,
    cr0_pg = 1U << 31U,
};

enum Cr4 : std::uint64_t {
    cr4_vme = 1U << 0U,
    cr4_pvi = 1U << 1U,
    cr4_tsd = 1U << 2U,
    cr4_de = 1U << 3U,
    cr4_pse = 1U << 4U,
    cr4_pae = 1U << 5U,
    cr4_mce = 1U << 6U,
    cr4_pge = 1U << 7U,
    cr4_pce = 1U << 8U,
    cr4_osfxsr = 1U << 9U,
    cr4_osxmmexcpt = 1U << 10U,
    cr4_umip = 1U << 11U,
    cr4_fsgsbase = 1U << 16U,
    cr4_osxsave = 1U << 18U,
};

enum Efer : std::uint64_t {
    efer_sce = 1U << 0U,
    efer_lme = 1U << 8U,
    efer_lma = 1U << 10U,
    efer_nxe = 1U << 11U,
};

enum Vector : std::uint8_t {
    divide_error = 0,
    debug_exception = 1,
    non_maskable_interrupt = 2,
    breakpoint = 3,
    overflow = 4,
    invalid_opcode = 6,
    device_not_available = 7,
    double_fault = 8,
    invalid_tss = 10,
    segment_not_present = 11,
    stack_fault = 12,
    general_protection = 13,
    page_fault = 14,
    x87_error = 16,
    alignment_check = 17,
    machine_check = 18,
    simd_error = 19,
};

constexpr bool has_error_code(std::uint8_t vector) {
    return vector == double_fault || (vector >= invalid_tss && vector <= page_fault) ||
           vector == alignment_check || vector == 21;
}

constexpr bool is_canonical(std::uint64_t address) {
    return address + (std::uint64_t{1} << 47U) < (std::uint64_t{1} << 48U);
}

} // namespace previrt
