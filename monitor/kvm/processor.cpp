// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/kvm/processor.hpp"

#include "backends/kvm/deprivileged/contract/layout.hpp"
#include "host/input_error.hpp"
#include "monitor/guest/kick_signal.hpp"
#include "monitor/kvm/host.hpp"
#include "monitor/kvm/interface.hpp"
#include "monitor/kvm/segments.hpp"
#include "toolchain/image/places.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <span>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace previrt {

namespace {

using namespace kvm;

constexpr std::uint64_t cr0 = 0x80050033; // PG, AM, WP, NE, ET, MP, PE
constexpr std::uint64_t cr4 = 0x102a0;    // FSGSBASE, OSFXSR, PGE, PAE
constexpr std::uint64_t cr4_osxsave = 0x40000;
constexpr std::uint64_t efer = 0xd01;   // NXE, LMA, LME, SCE
constexpr std::uint64_t rflags = 0x202; // IF
constexpr std::uint16_t user_code = 0x33;
constexpr std::uint16_t user_data = 0x2b;

constexpr std::uint32_t msr_star = 0xc0000081;
constexpr std::uint32_t msr_lstar = 0xc0000082;
constexpr std::uint32_t msr_sfmask = 0xc0000084;
constexpr std::uint64_t star = (std::uint64_t{0x23} << 48U) | (std::uint64_t{0x10} << 32U);
constexpr std::uint64_t sfmask = 0x47500; // never IF: at CPL 3 nothing would set it again

struct Name {
    std::uint32_t ebx;
    std::uint32_t ecx;
    std::uint32_t edx;
};
constexpr std::uint32_t extended_state_leaf = 0xd;
constexpr Name intel{.ebx = 0x756e6547, .ecx = 0x6c65746e, .edx = 0x49656e69}; // GenuineIntel

kvm_segment system_segment(std::uint16_t selector, std::uint8_t type, std::uint64_t base,
                           std::uint64_t bytes) {
    kvm_segment segment{};
    segment.base = base;
    segment.limit = static_cast<std::uint32_t>(bytes - 1);
    segment.selector = selector;
    segment.type = type;
    segment.present = 1;
    return segment;
}

kvm_dtable table(std::uint64_t base, std::uint64_t bytes) {
    kvm_dtable result{};
    result.base = base;
    result.limit = static_cast<std::uint16_t>(bytes - 1);
    return result;
}

} // namespace

KvmProcessor::KvmProcessor(const Descriptor& kvm, const Descriptor& machine, unsigned number)
    : processor_(kvm_request(machine, KVM_CREATE_VCPU, "KVM_CREATE_VCPU", std::uintptr_t{number})),
      shared_(Mapping::of_descriptor(
          processor_,
          static_cast<std::size_t>(kvm_request(kvm, KVM_GET_VCPU_MMAP_SIZE, "KVM_GET_VCPU_MMAP_SIZE")))),
      number_(number) {
    set_features(kvm);
    receive_calling_signals();
}

// All features that KVM has, and the vendor name of a processor on which `syscall` of 32-bit code is an
// invalid opcode. With another name this KVM would enter level 0 at an address cut to 32 bits, where a
// program may have code. (CSTAR, which is 0, would make it a page that no program may have.) CPUID at level 3
// is the processor's own on most hosts, and this one where the host's processor faults it.
void KvmProcessor::set_features(const Descriptor& kvm) {
    constexpr unsigned most = 256; // the most that KVM gives
    KvmList<kvm_cpuid2> features(most);
    features->nent = most;
    kvm_request(kvm, KVM_GET_SUPPORTED_CPUID, "KVM_GET_SUPPORTED_CPUID", features.get());
    for (kvm_cpuid_entry2& leaf : std::span(features->entries, features->nent)) {
        if (leaf.function == 0) {
            leaf.ebx = intel.ebx;
            leaf.ecx = intel.ecx;
            leaf.edx = intel.edx;
        } else if (leaf.function == extended_state_leaf && leaf.index == 0) {
            components_ = (std::uint64_t{leaf.edx} << 32U) | leaf.eax;
        }
    }
    kvm_request(processor_, KVM_SET_CPUID2, "KVM_SET_CPUID2", features.get());
}

void KvmProcessor::prepare(const ImageHeader& header, std::uint64_t root, UserMode user_mode) {
    kvm_sregs state{};
    kvm_request(processor_, KVM_GET_SREGS, "KVM_GET_SREGS", &state);
    state.cr0 = cr0;
    state.cr3 = root;
    state.cr4 = cr4 | (components_ != 0 ? cr4_osxsave : 0);
    state.efer = efer;
    constexpr std::uint8_t level = 3;
    constexpr std::uint8_t task_type = 0xb; // busy
    constexpr std::uint8_t local_table_type = 0x2;
    state.cs = code_segment(user_code, level);
    state.ss = state.ds = state.es = state.fs = state.gs = data_segment(user_data, level);
    state.tr = system_segment(selector_task, task_type, header.task, header.task_bytes);
    state.ldt =
        system_segment(selector_local_table, local_table_type, header.local_table, header.local_table_bytes);
    state.gdt = table(header.global_table, header.global_table_bytes);
    state.idt = table(header.interrupt_table, header.interrupt_table_bytes);
    kvm_request(processor_, KVM_SET_SREGS, "KVM_SET_SREGS", &state);

    if (components_ != 0) {
        kvm_xcrs extended{};
        extended.nr_xcrs = 1;
        extended.xcrs[0].value = components_;
        kvm_request(processor_, KVM_SET_XCRS, "KVM_SET_XCRS", &extended);
    }

    const bool isolated = user_mode == UserMode::isolated;
    const std::array<std::pair<std::uint32_t, std::uint64_t>, 3> values = {
        {{msr_lstar, isolated ? header.isolated_system_call : header.system_call},
         {msr_sfmask, sfmask},
         {msr_star, star}}};
    KvmList<kvm_msrs> msrs(values.size());
    for (const auto& [index, value] : values) {
        msrs->entries[msrs->nmsrs].index = index;
        msrs->entries[msrs->nmsrs].data = value;
        ++msrs->nmsrs;
    }
    if (kvm_request(processor_, KVM_SET_MSRS, "KVM_SET_MSRS", msrs.get()) != int{values.size()}) {
        throw InputError("the host's KVM refuses the MSRs of SYSCALL");
    }

    kvm_regs registers{};
    registers.rip = number_ == 0 ? header.entry : header.processor_entry;
    registers.rflags = rflags;
    kvm_request(processor_, KVM_SET_REGS, "KVM_SET_REGS", &registers);
    if (number_ != 0) {
        wait_for_interrupt();
    }
}

bool KvmProcessor::show_stolen_time(std::uint64_t physical) const {
    constexpr std::uint32_t msr_stolen_time = 0x4b564d03;
    constexpr std::uint64_t enabled = 1;
    KvmList<kvm_msrs> msrs(1);
    msrs->nmsrs = 1;
    msrs->entries[0].index = msr_stolen_time;
    msrs->entries[0].data = physical | enabled;
    return kvm_request(processor_, KVM_SET_MSRS, "KVM_SET_MSRS", msrs.get()) == 1;
}

// As if by HLT. The local APIC takes no interrupt until it is enabled.
void KvmProcessor::wait_for_interrupt() const {
    constexpr std::size_t spurious_vector = 0xf0;
    constexpr std::uint32_t enabled = 0x1ff;
    kvm_lapic_state state{};
    kvm_request(processor_, KVM_GET_LAPIC, "KVM_GET_LAPIC", &state);
    std::memcpy(&state.regs[spurious_vector], &enabled, sizeof enabled);
    kvm_request(processor_, KVM_SET_LAPIC, "KVM_SET_LAPIC", &state);
    kvm_mp_state halted{.mp_state = KVM_MP_STATE_HALTED};
    kvm_request(processor_, KVM_SET_MP_STATE, "KVM_SET_MP_STATE", &halted);
}

ProcessorEnd KvmProcessor::run(std::span<std::uint8_t> memory, Backing backing) {
    thread_ = pthread_self();
    prctl(PR_SET_TIMERSLACK, 1);
    while (!stopped_) {
        if (ioctl(processor_.number(), KVM_RUN, 0) != 0) {
            if (errno == EINTR || errno == EAGAIN) {
                ++exits_[KVM_EXIT_INTR];
                continue;
            }
            return {.guest_rang = false,
                    .failure = "KVM_RUN: " + std::generic_category().message(errno) + place()};
        }
        ++exits_[reinterpret_cast<const kvm_run*>(shared_.bytes().data())->exit_reason];
        if (const std::optional<std::uint64_t> pages = rang(doorbell_release)) {
            if (!release_pages(memory, *pages & 0xffff'ffff, *pages >> 32U, backing)) {
                return {.guest_rang = false,
                        .failure = "it gives memory back that this machine does not take" + place()};
            }
        } else if (const std::optional<ProcessorEnd> exit = judge_exit()) {
            return *exit;
        }
    }
    return {};
}

std::optional<std::uint64_t> KvmProcessor::rang(std::uint64_t doorbell) const {
    const auto* const shared = reinterpret_cast<const kvm_run*>(shared_.bytes().data());
    std::uint64_t value = 0;
    if (shared->exit_reason != KVM_EXIT_MMIO || shared->mmio.is_write == 0 ||
        shared->mmio.phys_addr != doorbells + doorbell || shared->mmio.len != sizeof value) {
        return std::nullopt;
    }
    std::memcpy(&value, shared->mmio.data, sizeof value);
    return value;
}

// An exit that KVM does not handle. Besides two doorbells, and signals, the VMM causes none.
std::optional<ProcessorEnd> KvmProcessor::judge_exit() const {
    const auto* const shared = reinterpret_cast<const kvm_run*>(shared_.bytes().data());
    const auto failed = [&](const std::string& reason) {
        return ProcessorEnd{.guest_rang = false, .failure = reason + place()};
    };
    switch (shared->exit_reason) {
    case KVM_EXIT_INTR:
        return std::nullopt;
    case KVM_EXIT_MMIO:
        if (shared->mmio.is_write != 0 && shared->mmio.phys_addr == doorbells + doorbell_end) {
            return ProcessorEnd{.guest_rang = true, .failure = {}};
        }
        return failed(std::string(shared->mmio.is_write != 0 ? "a write to" : "a read from") +
                      " physical address " + hex(shared->mmio.phys_addr) + ", where nothing is,");
    case KVM_EXIT_IO:
        return failed("an access to port " + hex(shared->io.port));
    case KVM_EXIT_SHUTDOWN:
        return failed("a triple fault");
    case KVM_EXIT_FAIL_ENTRY:
        return failed("its state is refused (" + hex(shared->fail_entry.hardware_entry_failure_reason) + ")");
    case KVM_EXIT_INTERNAL_ERROR:
        return failed("an internal error of KVM (" + std::to_string(shared->internal.suberror) + ")");
    default:
        return failed("an exit for reason " + std::to_string(shared->exit_reason));
    }
}

std::string KvmProcessor::place() const {
    kvm_regs registers{};
    if (ioctl(processor_.number(), KVM_GET_REGS, &registers) != 0) {
        return "";
    }
    return " at RIP " + hex(registers.rip) + ", RSP " + hex(registers.rsp);
}

void KvmProcessor::stop() {
    stopped_ = true;
    // If the signal comes before KVM_RUN, this makes KVM_RUN return at once.
    std::atomic_ref(reinterpret_cast<kvm_run*>(shared_.bytes().data())->immediate_exit) = 1;
    if (const pthread_t thread = thread_; thread != pthread_t{}) {
        pthread_kill(thread, calling_signal());
    }
}

} // namespace previrt
