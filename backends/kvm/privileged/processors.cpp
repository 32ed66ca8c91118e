// SPDX-License-Identifier: BSD-2-Clause
#include "backends/kvm/privileged/processors.hpp"

#include "backends/kvm/privileged/domain.hpp"
#include "devices/io_apic/io_apic.hpp"
#include "devices/local_apic/local_apic.hpp"
#include "devices/pic8259/pic_pair.hpp"
#include "frontends/x86/firmware/mp_table.hpp"
#include "inplace-vmm/processor.hpp"
#include "inplace-vmm/stop.hpp"

namespace previrt::kvm_privileged {

extern "C" {
extern std::uint8_t several_processors;
extern std::uint32_t vmm_lock; // 1: a processor executes the VMM
void wait_for_vmm();
}

namespace {

// NOLINTBEGIN(misc-const-correctness): asm writes.
MpProcessors identify_processors() {
    std::uint32_t eax = 1;
    std::uint32_t ebx = 0;
    std::uint32_t ecx = 0;
    std::uint32_t edx = 0;
    asm volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
    constexpr std::uint32_t has_apic = 1U << 9U; // this processor's is off, which CPUID shows
    return {.count = static_cast<std::uint32_t>(handover.processors),
            .signature = eax,
            .features = edx | has_apic};
}
// NOLINTEND(misc-const-correctness)

bool try_to_take() {
    return __atomic_exchange_n(&vmm_lock, std::uint32_t{1}, __ATOMIC_ACQUIRE) == 0;
}

} // namespace

void start_processors() {
    if (handover.processors > 1) {
        several_processors = 1;
        write_mp_table(identify_processors());
    }
}

bool has_several_processors() {
    return several_processors != 0;
}

// A processor that another one resets within the VMM, and one whose handler of NMIs calls the VMM from within
// the VMM, would let all others wait for ever. The guest's processors may stand still meanwhile: each step
// counts as a millisecond at most.
extern "C" void wait_for_vmm() {
    constexpr std::uint64_t most_milliseconds = 60'000;
    const std::uint64_t millisecond = handover.clock.time_stamp_khz;
    std::uint64_t waited = 0;
    std::uint64_t last = processor::read_time_stamp();
    while (__atomic_load_n(&vmm_lock, __ATOMIC_RELAXED) != 0 || !try_to_take()) {
        asm volatile("pause");
        const std::uint64_t now = processor::read_time_stamp();
        const std::uint64_t step = now - last;
        waited += step < millisecond ? step : millisecond;
        last = now;
        if (waited > most_milliseconds * millisecond) {
            stop_guest("a processor does not leave the VMM");
        }
    }
}

void take_vmm() {
    if (has_several_processors()) {
        wait_for_vmm();
    }
}

void give_vmm() {
    __atomic_store_n(&vmm_lock, std::uint32_t{0}, __ATOMIC_RELEASE);
}

bool is_port_of_kvm(std::uint16_t port) {
    return has_several_processors() && PicPair::decodes(port);
}

bool is_memory_of_kvm(std::uint64_t physical) {
    return has_several_processors() && (physical - LocalApic::place < LocalApic::place_bytes ||
                                        physical - IoApic::place < IoApic::place_bytes);
}

// NOLINTBEGIN(misc-const-correctness): asm writes.
std::uint32_t read_port_of_kvm(std::uint16_t port, unsigned width) {
    std::uint32_t value = 0;
    switch (width) {
    case 1:
        asm volatile("inb %1, %b0" : "+a"(value) : "d"(port));
        break;
    case 2:
        asm volatile("inw %1, %w0" : "+a"(value) : "d"(port));
        break;
    default:
        asm volatile("inl %1, %0" : "=a"(value) : "d"(port));
    }
    return value;
}
// NOLINTEND(misc-const-correctness)

void write_port_of_kvm(std::uint16_t port, unsigned width, std::uint32_t value) {
    switch (width) {
    case 1:
        asm volatile("outb %b0, %1" : : "a"(value), "d"(port));
        break;
    case 2:
        asm volatile("outw %w0, %1" : : "a"(value), "d"(port));
        break;
    default:
        asm volatile("outl %0, %1" : : "a"(value), "d"(port));
    }
}

} // namespace previrt::kvm_privileged
