// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/processor/processor_start.hpp"

#include "frontends/x86/devices/machine.hpp"
#include "frontends/x86/devices/port_access.hpp"
#include "frontends/x86/devices/processor_apic.hpp"
#include "frontends/x86/paging/page_walk.hpp"
#include "frontends/x86/paging/physical_memory.hpp"
#include "frontends/x86/paging/shadow/tables.hpp"
#include "frontends/x86/paging/written_memory.hpp"
#include "frontends/x86/processor/cpuid.hpp"
#include "frontends/x86/processor/descriptors.hpp"
#include "frontends/x86/processor/flags.hpp"
#include "frontends/x86/processor/msr.hpp"
#include "frontends/x86/processor/segment_registers.hpp"
#include "frontends/x86/start_up/interpreter.hpp"
#include "inplace-vmm/backend/events.hpp"
#include "inplace-vmm/backend/page_tables.hpp"
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/backend/processors.hpp"
#include "inplace-vmm/print.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

namespace previrt {

namespace {

using start_up::StartingProcessor;

// Guest-physical; ~0: the processor would fault. No access crosses the end of a page that is mapped
// elsewhere.
std::uint64_t physical_of(const StartingProcessor& processor, std::uint64_t linear, start_up::Access access) {
    if ((processor.cr0 & cr0_pg) == 0) {
        return linear;
    }
    vcpu.cr0 = processor.cr0; // as the walk has to see them
    vcpu.cr4 = processor.cr4;
    vcpu.efer = processor.efer;
    const Access kind{.write = access == start_up::Access::write, .fetch = access == start_up::Access::fetch};
    PageWalk walk{};
    do {
        walk = walk_page_from(processor.cr3 & frame_mask, linear, kind);
        if (walk.faults) {
            return ~std::uint64_t{0};
        }
    } while (!mark_accessed(walk, kind.write));
    return walk.physical;
}

// Calls `action` for the parts of an access that lie in one page each. False: one of them is not RAM.
template <typename Action>
bool for_each_part(const StartingProcessor& processor, std::uint64_t linear, std::uint64_t bytes,
                   start_up::Access access, Action action) {
    for (std::uint64_t done = 0; done < bytes;) {
        const std::uint64_t at = linear + done;
        const std::uint64_t part = std::min(bytes - done, page_bytes - (at % page_bytes));
        const std::uint64_t physical = physical_of(processor, at, access);
        std::uint8_t* const memory =
            physical == ~std::uint64_t{0} ? nullptr : physical_memory(physical, part);
        if (memory == nullptr) {
            return false;
        }
        action(physical, memory, done, part);
        done += part;
    }
    return true;
}

bool read(void* /*context*/, const StartingProcessor& processor, std::uint64_t linear,
          std::span<std::uint8_t> to, start_up::Access access) {
    return for_each_part(processor, linear, to.size(), access,
                         [&](std::uint64_t, const std::uint8_t* memory, std::uint64_t done,
                             std::uint64_t part) { std::memcpy(to.data() + done, memory, part); });
}

bool write(void* /*context*/, const StartingProcessor& processor, std::uint64_t linear,
           std::span<const std::uint8_t> from) {
    return for_each_part(
        processor, linear, from.size(), start_up::Access::write,
        [&](std::uint64_t physical, std::uint8_t* memory, std::uint64_t done, std::uint64_t part) {
            before_guest_write(physical);
            std::memcpy(memory, from.data() + done, part);
        });
}

template <typename Value>
start_up::Exchange exchange(std::uint8_t* memory, std::uint32_t expected, std::uint32_t desired) {
    auto was = static_cast<Value>(expected);
    return __atomic_compare_exchange_n(reinterpret_cast<Value*>(memory), &was, static_cast<Value>(desired),
                                       false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
               ? start_up::Exchange::done
               : start_up::Exchange::differs;
}

start_up::Exchange compare_exchange(void* /*context*/, const StartingProcessor& processor,
                                    std::uint64_t linear, unsigned width, std::uint32_t expected,
                                    std::uint32_t desired) {
    const std::uint64_t physical = physical_of(processor, linear, start_up::Access::write);
    const bool is_in_one_page = linear % page_bytes + width <= page_bytes;
    std::uint8_t* const memory =
        is_in_one_page && physical != ~std::uint64_t{0} ? physical_memory(physical, width) : nullptr;
    if (memory == nullptr) {
        return start_up::Exchange::refused;
    }
    before_guest_write(physical);
    switch (width) {
    case 1:
        return exchange<std::uint8_t>(memory, expected, desired);
    case 2:
        return exchange<std::uint16_t>(memory, expected, desired);
    default:
        return exchange<std::uint32_t>(memory, expected, desired);
    }
}

backend::CpuidLeaf cpuid(void* /*context*/, const StartingProcessor& processor, std::uint32_t leaf,
                         std::uint32_t subleaf) {
    vcpu.cr4 = processor.cr4;
    return guest_cpuid(leaf, subleaf);
}

bool read_register(void* /*context*/, std::uint32_t number, std::uint64_t& value) {
    const std::optional<std::uint64_t> found = read_msr(number);
    value = found.value_or(0);
    return found.has_value();
}

bool write_register(void* /*context*/, std::uint32_t number, std::uint64_t value) {
    return write_msr(number, value);
}

bool read_from_port(void* /*context*/, std::uint16_t port, unsigned width, std::uint32_t& value) {
    value = read_port(port, width);
    return true;
}

bool write_to_port(void* /*context*/, std::uint16_t port, unsigned width, std::uint32_t value) {
    write_port(port, width, value);
    return true;
}

constexpr start_up::Surroundings surroundings{
    .context = nullptr,
    .offered_cr4 = 0,
    .offered_efer = efer_sce | efer_lme | efer_lma | efer_nxe,
    .read = read,
    .write = write,
    .compare_exchange = compare_exchange,
    .cpuid = cpuid,
    .read_msr = read_register,
    .write_msr = write_register,
    .read_port = read_from_port,
    .write_port = write_to_port,
};

[[noreturn]] void stop_at(const start_up::Report& report) {
    Print print;
    print << "previrt-vmm: processor " << vcpu.number << " at " << Hex{report.selector} << ':'
          << Hex{report.offset} << ": " << report.reason << "; bytes";
    for (const std::uint8_t byte : report.instruction()) {
        print << ' ' << Hex{byte, 2};
    }
    print << '\n';
    stop_guest("the start-up code of a processor does something that is not modelled, at", report.offset);
}

void reset_vcpu() {
    const std::uint32_t number = vcpu.number;
    vcpu = {};
    vcpu.number = number;
}

void load_segments(const StartingProcessor& processor) {
    const auto& segments = processor.segments;
    vcpu.cs = segments[segment_cs].selector;
    vcpu.ss = segments[segment_ss].selector;
    for (const unsigned segment : {segment_es, segment_ds, segment_fs, segment_gs}) {
        vcpu.kernel_selector[segment] = segments[segment].selector;
        backend::load_segment(segment, 0);
    }
    backend::write_fs_base(segments[segment_fs].base);
    backend::write_gs_base(false, segments[segment_gs].base);
    backend::write_gs_base(true, 0);
}

// The state of a processor that has reached 64-bit mode.
void load(const StartingProcessor& processor) {
    constexpr std::uint64_t reset_page_attributes = 0x0007040600070406;
    reset_vcpu();
    vcpu.stack_may_be_missing = true;
    std::ranges::copy(processor.general, vcpu.registers.general);
    vcpu.registers.rip = processor.rip;
    vcpu.registers.rflags = flag_reserved_one;
    load_flags(processor.rflags, ~std::uint64_t{0});
    vcpu.cr0 = processor.cr0;
    vcpu.cr2 = processor.cr2;
    vcpu.cr3 = processor.cr3;
    vcpu.cr4 = processor.cr4;
    vcpu.efer = processor.efer;
    vcpu.debug[6] = 0xffff0ff0;
    vcpu.debug[7] = 0x400;
    vcpu.page_attributes = reset_page_attributes;
    vcpu.misc_enable = 1;
    vcpu.xcr0 = 1;
    vcpu.idt = processor.idt;
    load_shadow_root();
    load_global_table(processor.gdt.base, processor.gdt.limit);
    load_segments(processor);
    backend::set_extensions(vcpu.cr4);
    for (unsigned i = 0; i < 8; ++i) {
        backend::write_debug_register(i, vcpu.debug[i]);
    }
}

void wait_for_start() {
    stop_timer();
    while (!own_local_apic().start_requested) {
        notify_processors();
        backend::idle();
        backend::take_events();
    }
    own_local_apic().start_requested = false;
    own_local_apic().reset_requested = false; // it was reset all the time
}

// From real-address mode to 64-bit mode.
void execute_start_up_code() {
    constexpr std::uint64_t most_steps = 10000; // at a time
    reset_vcpu();
    StartingProcessor processor =
        start_up::after_start_up(own_local_apic().start_vector, guest_cpuid(1, 0).eax);
    start_up::Surroundings machine = surroundings;
    machine.offered_cr4 = offered_cr4_bits();
    for (;;) {
        const start_up::Report report = start_up::run(processor, machine, most_steps);
        switch (report.ending) {
        case start_up::Ending::long_mode:
            load(processor);
            return;
        case start_up::Ending::going_on: // it may wait for another processor
            backend::take_events();
            backend::let_others_go_on();
            break;
        case start_up::Ending::halted:
            stop_guest("a processor halts in its start-up code, at", processor.rip);
        case start_up::Ending::fault:
        case start_up::Ending::refused:
            stop_at(report);
        }
        if (reset_is_requested()) {
            return;
        }
    }
}

} // namespace

void begin_processor() {
    wait_for_start();
    execute_start_up_code();
}

bool reset_is_requested() {
    return own_local_apic().reset_requested;
}

void reset_processor() {
    vcpu.pending = {};
    begin_processor();
}

void notify_processors() {
    const std::uint64_t others = pc.local_apics.notified & ~(std::uint64_t{1} << vcpu.number);
    pc.local_apics.notified = 0;
    for (std::uint64_t left = others; left != 0; left &= left - 1) {
        backend::notify_processor(static_cast<unsigned>(std::countr_zero(left)));
    }
}

} // namespace previrt
