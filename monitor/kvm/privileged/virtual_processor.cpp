// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/kvm/privileged/virtual_processor.hpp"

#include "host/input_error.hpp"
#include "monitor/kvm/host.hpp"
#include "toolchain/image/places.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cpuid.h>
#include <csignal>
#include <cstring>
#include <sys/ioctl.h>
#include <system_error>

namespace previrt {

VirtualProcessor::VirtualProcessor(const Descriptor& kvm, const Descriptor& machine, unsigned number)
    : processor_(kvm_request(machine, KVM_CREATE_VCPU, "KVM_CREATE_VCPU", std::uintptr_t{number})),
      shared_(Mapping::of_descriptor(
          processor_,
          static_cast<std::size_t>(kvm_request(kvm, KVM_GET_VCPU_MMAP_SIZE, "KVM_GET_VCPU_MMAP_SIZE")))) {}

bool VirtualProcessor::run() {
    if (ioctl(processor_.number(), KVM_RUN, 0) == 0) {
        return true;
    }
    if (errno != EINTR && errno != EAGAIN) {
        throw InputError("KVM_RUN: " + std::generic_category().message(errno) + place());
    }
    take_signals();
    return false;
}

void VirtualProcessor::take_signals() {
    signal_came_ = true;
    const timespec at_once{};
    while (sigtimedwait(&signals_, nullptr, &at_once) > 0) {
    }
}

void VirtualProcessor::wait() {
    sigwaitinfo(&signals_, nullptr);
    signal_came_ = true;
}

bool VirtualProcessor::try_to_finish_instruction() {
    exit().immediate_exit = 1;
    const bool went_on = ioctl(processor_.number(), KVM_RUN, 0) == 0;
    exit().immediate_exit = 0;
    if (went_on && exit().exit_reason != KVM_EXIT_MMIO) {
        throw InputError("KVM did not stop behind an instruction as it was told" + place());
    }
    return !went_on;
}

void VirtualProcessor::finish_instruction() {
    if (!try_to_finish_instruction()) {
        throw InputError("an instruction accesses unclaimed memory once more than expected" + place());
    }
}

// KVM must complete the instruction. The value that it then reads does no harm, because the instruction runs
// again, and repeats its writes.
void VirtualProcessor::undo_instruction() {
    const kvm_regs before = registers();
    int accesses = 1;
    while (!try_to_finish_instruction()) {
        constexpr int most = 4096; // KVM does up to 1024 elements of a string at once
        if (++accesses > most) {
            throw InputError("an instruction accesses unclaimed memory without end" + place());
        }
    }
    set_registers(before);
}

void VirtualProcessor::let_signal_in(int signal) {
    sigemptyset(&signals_);
    sigaddset(&signals_, signal);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    sigset_t held;
    pthread_sigmask(SIG_BLOCK, nullptr, &held);
    sigdelset(&held, signal);
    // The kernel's signal set has 8 bytes, the C library's more.
    constexpr std::size_t kernel_set = 8;
    KvmList<kvm_signal_mask> mask(kernel_set, 1);
    mask->len = kernel_set;
    std::memcpy(&mask->sigset[0], &held, kernel_set);
    kvm_request(processor_, KVM_SET_SIGNAL_MASK, "KVM_SET_SIGNAL_MASK", mask.get());
}

std::span<std::uint8_t> VirtualProcessor::port_data() const {
    const auto& io = exit().io;
    const std::size_t bytes = std::size_t{io.size} * io.count;
    const std::span<std::uint8_t> all = shared_.bytes();
    return all.subspan(std::min<std::size_t>(io.data_offset, all.size()))
        .first(std::min(bytes, all.size() - std::min<std::size_t>(io.data_offset, all.size())));
}

kvm_regs VirtualProcessor::registers() const {
    kvm_regs registers{};
    kvm_request(processor_, KVM_GET_REGS, "KVM_GET_REGS", &registers);
    return registers;
}

void VirtualProcessor::set_registers(const kvm_regs& registers) {
    kvm_request(processor_, KVM_SET_REGS, "KVM_SET_REGS", &registers);
}

namespace {

bool has_svm() {
    unsigned highest = 0;
    unsigned vendor = 0;
    unsigned rest = 0;
    constexpr unsigned hygon = 0x6f677948;
    return __get_cpuid(0, &highest, &vendor, &rest, &rest) != 0 &&
           (vendor == signature_AMD_ebx || vendor == hygon);
}

} // namespace

kvm_sregs VirtualProcessor::system_registers() const {
    kvm_sregs registers{};
    kvm_request(processor_, KVM_GET_SREGS, "KVM_GET_SREGS", &registers);
    // KVM reports the TSS as busy, SVM does not. QEMU's emulation reads no I/O bitmap of a busy TSS.
    constexpr unsigned busy = 2;
    if (has_svm()) {
        registers.tr.type &= static_cast<std::uint8_t>(~busy);
    }
    return registers;
}

void VirtualProcessor::set_system_registers(const kvm_sregs& registers) {
    kvm_request(processor_, KVM_SET_SREGS, "KVM_SET_SREGS", &registers);
}

void VirtualProcessor::interrupt(std::uint8_t vector) {
    kvm_interrupt request{.irq = vector};
    kvm_request(processor_, KVM_INTERRUPT, "KVM_INTERRUPT", &request);
}

std::optional<std::uint64_t> VirtualProcessor::translate(std::uint64_t address) const {
    kvm_translation translation{};
    translation.linear_address = address;
    kvm_request(processor_, KVM_TRANSLATE, "KVM_TRANSLATE", &translation);
    return translation.valid != 0 ? std::optional<std::uint64_t>(translation.physical_address) : std::nullopt;
}

std::uint32_t VirtualProcessor::state() const {
    kvm_mp_state state{};
    kvm_request(processor_, KVM_GET_MP_STATE, "KVM_GET_MP_STATE", &state);
    return state.mp_state;
}

void VirtualProcessor::set_state(std::uint32_t state) {
    kvm_mp_state wanted{.mp_state = state};
    kvm_request(processor_, KVM_SET_MP_STATE, "KVM_SET_MP_STATE", &wanted);
}

bool has_emulated_processor() {
    constexpr unsigned leaf = 0x4000'0000; // of hypervisors
    std::array<unsigned, 4> answer{};
    __cpuid(leaf, answer[0], answer[1], answer[2], answer[3]);
    return std::memcmp(&answer[1], "TCGTCGTCGTCG", 3 * sizeof(unsigned)) == 0;
}

std::string VirtualProcessor::place() const {
    kvm_regs registers{};
    if (ioctl(processor_.number(), KVM_GET_REGS, &registers) != 0) {
        return "";
    }
    return " at RIP " + hex(registers.rip) + ", RSP " + hex(registers.rsp);
}

} // namespace previrt
