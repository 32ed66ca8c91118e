/* SPDX-License-Identifier: BSD-2-Clause
 * checks: 21
 *
 * INT n and INT3 from the kernel and from user mode. The gate's DPL must not be below the CPL, or #GP with
 * the vector's place in the IDT and bit 1 (IDT) as the error code; a gate that is not present gives #NP, one
 * beyond the limit #GP, likewise. INT pushes no error code whatever the vector. An interrupt gate clears IF,
 * a trap gate keeps it.
 */
#include "harness/check.h"
#include "harness/descriptors.h"
#include "harness/registers.h"
#include "harness/user.h"

enum { spare_vector = 0x90 };

static void check_refused(const char* what, struct exception exception, unsigned vector) {
    exception.frame.error_code &= 7;
    check_exception(what, &exception, vector, 2, at_instruction);
}

static void check_user_refused(const char* what, struct exception exception, const char* symbol) {
    exception.frame.error_code &= 7;
    check_user_exception(what, &exception, vector_protection, 2, symbol);
}

extern const char int_80[], after_int_80[], int_90[], int_3[], after_int_3[], int_0[];
asm(".pushsection .user, \"aw\"\n"
    "int_80: plain int $0x80\n"
    "after_int_80:\n"
    "int_90: plain int $0x90\n"
    "int_3: int3\n"
    "after_int_3:\n"
    "int_0: plain int $0\n"
    ".popsection");

static uint64_t handler_flags;
static uint64_t handler_cs;

static void record(struct frame* frame) {
    handler_flags = read_flags();
    handler_cs = frame->cs;
}

static void check_kernel(void) {
    static const struct {
        const char* what;
        unsigned type;
        uint64_t left;
    } gates[] = {{"interrupt gate: IF is clear in the handler", interrupt_gate, 0},
                 {"trap gate: IF stays set", trap_gate, flag_interrupt}};
    handlers[spare_vector] = record;
    for (unsigned i = 0; i < 2; ++i) {
        set_gate(spare_vector, vector_entry(spare_vector), gates[i].type, 0);
        enable_interrupts();
        asm volatile("int $0x90" : : : "memory");
        check_equal(gates[i].what, handler_flags & flag_interrupt, gates[i].left);
        check_equal("iret sets it again", read_flags() & flag_interrupt, flag_interrupt);
        disable_interrupts();
    }
    check_equal("saved CS", handler_cs, kernel_code);
    handlers[spare_vector] = 0;

    struct exception exception = exception_of("int $0x90", : "memory");
    check_exception("int 0x90", &exception, spare_vector, 0, behind_instruction);
    idt[spare_vector].type &= 0x7f;
    check_refused("int: not present", exception_of("int $0x90", : "memory"), vector_not_present);
    set_gate(spare_vector, vector_entry(spare_vector), 0x5, 0);
    check_refused("int: not a gate of long mode", exception_of("int $0x90", : "memory"), vector_protection);
    const struct table_pointer shorter = {sizeof idt - 1 - sizeof idt[0], (uintptr_t)idt};
    const struct table_pointer full = {sizeof idt - 1, (uintptr_t)idt};
    asm volatile("lidt %[idt]" : : [idt] "m"(shorter));
    check_refused("int: beyond the limit", exception_of("int $0xff", : "memory"), vector_protection);
    asm volatile("lidt %[idt]" : : [idt] "m"(full));
}

static void check_user(void) {
    prepare_user();
    struct exception exception = run_user(int_80, 0);
    check_user_exception("user: int 0x80, DPL 3", &exception, user_exit, 0, after_int_80);
    check_equal("saved CS", exception.frame.cs, user_code);
    check_equal("saved SS", exception.frame.ss, user_data);
    check_equal("saved RSP", exception.frame.rsp, user_stack_top);
    check_equal("saved IF", exception.frame.rflags & flag_interrupt, flag_interrupt);
    check_equal("the frame is at the top of RSP0", exception.frame_end, tss.rsp[0]);

    set_gate(spare_vector, vector_entry(spare_vector), interrupt_gate, 0);
    check_user_refused("user: int, DPL 0", run_user(int_90, 0), int_90);
    check_user_refused("user: int3, DPL 0", run_user(int_3, 0), int_3);
    set_gate(vector_breakpoint, vector_entry(vector_breakpoint), trap_gate, 3);
    exception = run_user(int_3, 0);
    check_user_exception("user: int3, DPL 3", &exception, vector_breakpoint, 0, after_int_3);
    set_gate(vector_divide, vector_entry(vector_divide), interrupt_gate, 0);
    check_user_refused("user: int 0, DPL 0", run_user(int_0, 0), int_0);
}

/* The entry of #GP would take the frame of int $13 for one with an error code. */
extern const char entry_without_error_code[];
asm("entry_without_error_code:\n"
    "	push $0\n"
    "	push $13\n"
    "	jmp common_entry");

static void check_error_code(void) {
    set_gate(vector_protection, entry_without_error_code, interrupt_gate, 0);
    struct exception exception = exception_of("int $13", : "memory");
    check_exception("int 13 pushes no error code", &exception, vector_protection, 0, behind_instruction);
    check_equal("saved CS", exception.frame.cs, kernel_code);
}

void guest(void) {
    load_descriptor_tables();
    check_kernel();
    check_user();
    check_error_code();
}
