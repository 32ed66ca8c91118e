// SPDX-License-Identifier: BSD-2-Clause
#include "tests/backends/ptrace/child.hpp"

#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <linux/audit.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

namespace previrt::traced {

user_regs_struct child_registers;

namespace {

// own_memory begins with a page of code, which the child executes when this program wants a system call. The
// signals' stack follows.
constexpr std::array<std::uint8_t, 3> stub = {0x0f, 0x05, 0xcc}; // syscall; int3
constexpr std::uint64_t stub_breakpoint = own_memory + 2;
constexpr std::uint64_t page_size = 4096;
constexpr std::uint64_t signal_stack = own_memory + page_size;
constexpr std::uint64_t host_end = 0x7ffffffff000; // of what a process can map

// By which Linux tells of exceptions.
constexpr std::array exception_signals = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};

pid_t child;

void request(__ptrace_request what, std::uint64_t address, std::uint64_t data) {
    if (ptrace(what, child, address, data) < 0) {
        stop_guest("the host refuses a request of ptrace; errno:", static_cast<std::uint64_t>(errno));
    }
}

std::uint64_t address_of(const void* place) {
    return reinterpret_cast<std::uint64_t>(place);
}

void map_own_memory() {
    constexpr int may_read_write_execute = PROT_READ | PROT_WRITE | PROT_EXEC;
    void* const place = mmap(reinterpret_cast<void*>(own_memory), own_memory_bytes, may_read_write_execute,
                             MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (address_of(place) != own_memory) {
        stop_guest("the host does not map memory at", own_memory);
    }
    std::ranges::copy(stub, static_cast<std::uint8_t*>(place));
}

// Linux writes to a place of the C library's whenever it has preempted the process, and ends the process
// once that place is unmapped.
void stop_writes_of_host() {
    auto* const place = static_cast<std::uint8_t*>(__builtin_thread_pointer()) + __rseq_offset;
    if (__rseq_size != 0 &&
        syscall(SYS_rseq, place, sizeof(struct rseq), RSEQ_FLAG_UNREGISTER, RSEQ_SIG) != 0) {
        _exit(EXIT_FAILURE);
    }
}

// In the child. An exception becomes a signal, whose handler is the stub's breakpoint.
[[noreturn]] void prepare_child() {
    stop_writes_of_host();
    stack_t stack{};
    stack.ss_sp = reinterpret_cast<void*>(signal_stack);
    stack.ss_size = own_memory_bytes - page_size;
    sigaltstack(&stack, nullptr);
    struct sigaction action{};
    action.sa_sigaction = reinterpret_cast<void (*)(int, siginfo_t*, void*)>(stub_breakpoint);
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (const int signal : exception_signals) {
        sigaction(signal, &action, nullptr);
    }
    mprotect(reinterpret_cast<void*>(own_memory), page_size, PROT_READ | PROT_EXEC);
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    _exit(EXIT_FAILURE); // it is led elsewhere before
}

// Gives the signal; SIGTRAP with bit 7 is a system call.
int wait_for_stop() {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFSTOPPED(status)) {
        stop_guest("the guest's process has ended; its status:", static_cast<std::uint64_t>(status));
    }
    return WSTOPSIG(status);
}

// The child goes on, with this signal if it is not 0, up to the stub's breakpoint.
void run_to_breakpoint(int signal) {
    request(PTRACE_CONT, 0, static_cast<std::uint64_t>(signal));
    int came = wait_for_stop();
    while (came == SIGALRM) { // too late for the last run, and the next begins with a look at the clock
        request(PTRACE_CONT, 0, 0);
        came = wait_for_stop();
    }
    if (came != SIGTRAP) {
        stop_guest("the guest's process stops at the VMM's own code, with signal",
                   static_cast<std::uint64_t>(came));
    }
}

// ptrace tells the signal alone. The frame that Linux pushes for the signal's handler has the exception, so
// the handler is entered, and left again: that clears the vector registers, which are restored.
Stop read_exception(int signal) {
    static std::array<std::uint8_t, 16384> vector_registers;
    iovec place{.iov_base = vector_registers.data(), .iov_len = vector_registers.size()};
    request(PTRACE_GETREGSET, NT_X86_XSTATE, address_of(&place));
    run_to_breakpoint(signal);
    request(PTRACE_SETREGSET, NT_X86_XSTATE, address_of(&place));
    user_regs_struct in_handler{};
    request(PTRACE_GETREGS, 0, address_of(&in_handler));
    ucontext_t frame{};
    std::memcpy(&frame, reinterpret_cast<const void*>(in_handler.rdx), sizeof(frame));
    const auto value = [&](int number) {
        return static_cast<std::uint64_t>(frame.uc_mcontext.gregs[number]);
    };
    return {.reason = StopReason::exception,
            .vector = static_cast<std::uint8_t>(value(REG_TRAPNO)),
            .error_code = static_cast<std::uint32_t>(value(REG_ERR)),
            .address = value(REG_CR2)};
}

// The host has a system call of its own at `int $0x80`. To a processor it is an interrupt that level 3 may
// not make.
Stop read_software_interrupt() {
    constexpr std::uint64_t instruction_bytes = 2;
    constexpr std::uint32_t vector_80_in_idt = (0x80 * 8) | 2;
    if (child_registers.cs != user_code) {
        stop_guest("system calls of 32-bit code are not modelled here; RIP", child_registers.rip);
    }
    child_registers.rip -= instruction_bytes;
    return {.reason = StopReason::exception,
            .vector = general_protection,
            .error_code = vector_80_in_idt,
            .address = 0};
}

Stop read_system_call() {
    __ptrace_syscall_info information{};
    request(PTRACE_GET_SYSCALL_INFO, sizeof(information), address_of(&information));
    child_registers.rax = child_registers.orig_rax;
    if (information.arch != AUDIT_ARCH_X86_64) {
        return read_software_interrupt();
    }
    return {.reason = StopReason::system_call, .vector = 0, .error_code = 0, .address = 0};
}

} // namespace

void start_child() {
    map_own_memory();
    child = fork();
    if (child < 0) {
        stop_guest("the host makes no process");
    }
    if (child == 0) {
        prepare_child();
    }
    if (wait_for_stop() != SIGSTOP) {
        stop_guest("the guest's process does not begin");
    }
    request(PTRACE_SETOPTIONS, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD);
    request(PTRACE_GETREGS, 0, address_of(&child_registers));
    constexpr std::uint64_t end = own_memory + own_memory_bytes;
    if (call_in_child({.number = SYS_munmap, .arguments = {0, own_memory}}) != 0 ||
        call_in_child({.number = SYS_munmap, .arguments = {end, host_end - end}}) != 0) {
        stop_guest("the guest's process keeps memory of the host's");
    }
}

Stop run_child() {
    child_registers.orig_rax = ~std::uint64_t{0}; // no system call is to be repeated
    request(PTRACE_SETREGS, 0, address_of(&child_registers));
    request(PTRACE_SYSEMU, 0, 0); // a system call stops the child and does not reach the host
    const int signal = wait_for_stop();
    request(PTRACE_GETREGS, 0, address_of(&child_registers));
    constexpr int system_call_bit = 0x80;
    if (signal == (SIGTRAP | system_call_bit)) {
        return read_system_call();
    }
    if (std::ranges::find(exception_signals, signal) != exception_signals.end()) {
        return read_exception(signal);
    }
    return {.reason = StopReason::event, .vector = 0, .error_code = 0, .address = 0};
}

std::int64_t call_in_child(const HostCall& call) {
    constexpr std::uint64_t no_flags = 2; // but the one that is always set
    user_regs_struct registers = child_registers;
    registers.rip = own_memory;
    registers.cs = user_code;
    registers.ss = user_data;
    registers.eflags = no_flags;
    registers.orig_rax = ~std::uint64_t{0};
    registers.rax = call.number;
    registers.rdi = call.arguments[0];
    registers.rsi = call.arguments[1];
    registers.rdx = call.arguments[2];
    registers.r10 = call.arguments[3];
    registers.r8 = call.arguments[4];
    registers.r9 = call.arguments[5];
    request(PTRACE_SETREGS, 0, address_of(&registers));
    run_to_breakpoint(0);
    request(PTRACE_GETREGS, 0, address_of(&registers));
    return static_cast<std::int64_t>(registers.rax);
}

void interrupt_child() {
    kill(child, SIGALRM);
}

} // namespace previrt::traced
