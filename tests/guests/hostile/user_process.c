/* SPDX-License-Identifier: BSD-2-Clause
 *
 * User mode that looks for its kernel, and user mode that lies to the VMM: with --isolate it is in a host
 * process of its own, beside a stub and memory by which the VMM and the stub talk, which it can write to.
 */
#include "hostile.h"

#include "harness/paging.h"
#include "harness/pic.h"
#include "harness/timer.h"
#include "harness/user.h"

#define user_stub UINT64_C(0x782ef000) /* backends/process/contract/layout.hpp */

extern const char user_load[], user_store[], user_rights[], user_attack[];
/* RDI: where. It ends with the exit's vector if nothing stopped it. */
asm(".pushsection .user, \"aw\"\n"
    "user_load: mov (%rdi), %rax\n"
    "	plain int $0x80\n"
    "user_store: mov %rax, (%rdi)\n"
    "	plain int $0x80\n"
    ".popsection");

/* What a program should not see: the VMM, its memory, the guest's RAM, and this kernel. A store is the last
 * of all: it would destroy them. */
static const uint64_t kernels[] = {vmm_image, vmm_image + 0x1000,    vmm_map,
                                   guest_ram, guest_ram + 0x1000000, UINT64_C(0x1000000)};

static unsigned reached(const char* code) {
    unsigned count = 0;
    for (unsigned i = 0; i < sizeof kernels / sizeof kernels[0]; ++i) {
        const struct exception exception = run_user(code, kernels[i]);
        const bool is_refused = exception.frame.vector == vector_page_fault && exception.cr2 == kernels[i];
        count += !is_refused;
    }
    return count;
}

CASE user_reaches_kernel(void) {
    prepare_user();
    print("places of the kernel's that a load of user mode reaches: %u\n", reached(user_load));
}
CASE user_is_kept_from_kernel(void) {
    prepare_user();
    check_equal("places of the kernel's that a load of user mode reaches", reached(user_load), 0);
    check_equal("and a store", reached(user_store), 0);
    check_equal("or a jump",
                run_user((const char*)user_load - user_address(user_load) + vmm_image, 0).frame.vector,
                vector_page_fault);
}

/* On a processor with protection keys, user mode is left without a right to any page. Any other has no such instruction. */
asm(".pushsection .user, \"aw\"\n"
    "user_rights: mov $-1, %eax\n"
    "	xor %ecx, %ecx\n"
    "	xor %edx, %edx\n"
    "	.byte 0x0f, 0x01, 0xef\n" /* wrpkru */
    "	plain int $0x80\n"
    ".popsection");

CASE user_takes_all_rights(void) {
    prepare_user();
    const uint64_t vector = run_user(user_rights, 0).frame.vector;
    check("user mode ends as the processor has it", vector == user_exit || vector == vector_invalid_opcode);
    check_equal("the next program has all rights", run_user(user_load, user_address(user_rights)).frame.vector, user_exit);
    check_equal("places of the kernel's that it reaches", reached(user_load), 0);
    check_equal("and a store", reached(user_store), 0);
}

/* RDI: a seed. The state is filled with what comes of it, sometimes with addresses of its own and words that
 * the stub and the VMM use, and then the stub is entered anywhere, or where it stops. */
asm(".pushsection .user, \"aw\"\n"
    "	.macro another_random\n"
    "	mov %rax, %rdx\n shl $13, %rdx\n xor %rdx, %rax\n"
    "	mov %rax, %rdx\n shr $7, %rdx\n xor %rdx, %rax\n"
    "	mov %rax, %rdx\n shl $17, %rdx\n xor %rdx, %rax\n"
    "	.endm\n"
    "user_attack: mov %rdi, %rax\n"
    "	mov $0x78300000, %ebx\n"
    "	mov $0x20000 / 8, %ecx\n"
    "1:	another_random\n"
    "	mov %rax, %rsi\n"
    "	test $7, %al\n" /* an address in the state, or in the stub, or a small number */
    "	jnz 2f\n"
    "	and $0x1fff8, %esi\n add $0x78300000, %esi\n"
    "2:	cmp $0x11, %al\n"
    "	jne 3f\n"
    "	shr $20, %esi\n and $0x3ff, %esi\n add $0x782ef000, %esi\n"
    "3:	test $0x60, %al\n"
    "	jnz 4f\n"
    "	shr $8, %esi\n and $31, %esi\n"
    "4:	mov %rsi, (%rbx)\n"
    "	add $8, %rbx\n"
    "	dec %ecx\n"
    "	jnz 1b\n"
    /* where it stops: mov $0x1000, %eax; syscall */
    "	mov $0x782ef000, %ebp\n"
    "5:	inc %ebp\n"
    "	cmpl $0x001000b8, (%rbp)\n"
    "	jne 5b\n"
    "	cmpw $0x050f, 5(%rbp)\n"
    "	jne 5b\n"
    "	another_random\n"
    "	test $1, %al\n"
    "	jz 6f\n"
    "	mov %rax, %rbp\n shr $30, %rbp\n and $0x3ff, %ebp\n add $0x782ef000, %ebp\n"
    "6:	another_random\n"
    "	mov %rax, %rdi\n and $7, %edi\n"
    "	mov %rax, %rsi\n shr $8, %rsi\n and $31, %esi\n"
    "	mov %rax, %rdx\n shr $16, %rdx\n and $0x1fff8, %edx\n add $0x78300000, %edx\n"
    "	mov %rax, %r10\n shr $40, %r10\n and $0x1fff8, %r10d\n add $0x78300000, %r10d\n"
    "	test $0x30, %al\n"
    "	jnz 7f\n"
    "	mov $23, %esi\n" /* the VMM's own signal */
    "7:	mov %rax, %rbx\n and $63, %ebx\n"
    "	bt $41, %rax\n"
    "	jnc 8f\n"
    "	mov %rax, %rsp\n"
    "8:	jmp *%rbp\n"
    ".popsection");

enum { attacks = 1000, period = 1193 /* 1 ms */ };
static volatile unsigned ticks;

/* The second finds it where it does not come back by itself. */
static void tick(struct frame* frame) {
    end_of_interrupt(0);
    if ((frame->cs & 3) == 3 && ++ticks == 2) {
        leave_user(frame);
    }
}

static void attack(uint64_t seed) {
    prepare_user();
    quiet_timer();
    handlers[first_irq_vector] = tick;
    unmask_irq(0);
    start_periodic(period);
    uint64_t state = seed;
    for (unsigned i = 0; i < attacks; ++i) {
        ticks = 0;
        run_user(user_attack, next_random(&state));
    }
    ticks = 2; /* the next ones change nothing */
    print("the kernel has its processor back each time\n");
    check_equal("places of the kernel's that a load of user mode reaches", reached(user_load), 0);
    check_equal("and a store", reached(user_store), 0);
}

CASE user_attacks_first_seed(void) {
    attack(0x9e3779b97f4a7c15);
}
CASE user_attacks_second_seed(void) {
    attack(0xd1b54a32d192ed03);
}
CASE user_attacks_third_seed(void) {
    attack(0x8cb92ba72f3d8dd7);
}

DEFINE_GUEST
