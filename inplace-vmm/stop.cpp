// SPDX-License-Identifier: BSD-2-Clause
#include "inplace-vmm/stop.hpp"

#include "inplace-vmm/backend/console.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/event_ring.hpp"
#include "inplace-vmm/package.hpp"
#include "inplace-vmm/print.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt {

[[gnu::section(".bss.cache")]] bool counters_are_wanted;

namespace {

constexpr const char* register_names[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                          "r8 ", "r9 ", "r10", "r11", "r12", "r13", "r14", "r15"};

void print_registers() {
    for (unsigned i = 0; i < 16; ++i) {
        Print() << (i % 4 == 0 ? "previrt-vmm:   " : " ") << register_names[i] << ' '
                << Hex{vcpu.registers.general[i], 16} << (i % 4 == 3 ? "\n" : "");
    }
    Print() << "previrt-vmm:   rip " << Hex{vcpu.registers.rip, 16} << " flags " << Hex{vcpu.registers.rflags}
            << " IF " << (vcpu.interrupt_flag ? 1U : 0U) << " cpl " << unsigned{vcpu.cpl} << " cs "
            << Hex{vcpu.cs} << " ss " << Hex{vcpu.ss} << '\n';
    Print() << "previrt-vmm:   cr0 " << Hex{vcpu.cr0} << " cr2 " << Hex{vcpu.cr2} << " cr3 " << Hex{vcpu.cr3}
            << " cr4 " << Hex{vcpu.cr4} << " efer " << Hex{vcpu.efer} << '\n';
    Print() << "previrt-vmm:   gdt " << Hex{vcpu.gdt.base} << " idt " << Hex{vcpu.idt.base} << '+'
            << Hex{vcpu.idt.limit} << " task " << Hex{vcpu.task.base} << '\n';
}

void print_state() {
    print_registers();
    print_events();
}

struct Reason {
    std::string_view text;
    const std::uint64_t* value;
    std::string_view detail;
};

void print_reason(Print& print, const Reason& reason) {
    print << reason.text;
    if (reason.value != nullptr) {
        print << " 0x" << Hex{*reason.value};
    }
    if (!reason.detail.empty()) {
        print << ": " << reason.detail;
    }
    print << '\n';
}

[[noreturn]] void stop(const Reason& reason) {
    [[gnu::section(".bss.cache")]] static bool stopping;
    if (!stopping) {
        stopping = true;
        {
            Print print;
            print << "\nprevirt-vmm: stopped at " << Hex{vcpu.instruction} << ": ";
            print_reason(print, reason);
        }
        print_state();
        if (counters_are_wanted) {
            print_counters();
        }
        {
            Print print;
            print << end_line_prefix << end_stopped << ", ";
            print_reason(print, reason);
        }
    }
    backend::crash();
}

} // namespace

void stop_guest(std::string_view reason) {
    stop({.text = reason, .value = nullptr, .detail = {}});
}

void stop_guest(std::string_view reason, std::uint64_t value) {
    stop({.text = reason, .value = &value, .detail = {}});
}

void stop_guest(std::string_view reason, std::uint64_t value, std::string_view detail) {
    stop({.text = reason, .value = &value, .detail = detail});
}

void tell_of_panic() {
    Print() << "\nprevirt-vmm: the guest's kernel panicked; what it did last:\n";
    print_state();
}

void end_guest(std::string_view word) {
    if (counters_are_wanted) {
        print_counters();
    }
    Print() << end_line_prefix << word << '\n';
    if (word == end_rebooted) {
        backend::reboot();
    }
    backend::power_off();
}

} // namespace previrt
