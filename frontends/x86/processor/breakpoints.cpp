// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/processor/breakpoints.hpp"

#include "frontends/x86/instructions/instruction.hpp"
#include "frontends/x86/instructions/memory_access.hpp"
#include "frontends/x86/paging/guest_memory.hpp"
#include "frontends/x86/processor/descriptors.hpp"
#include "frontends/x86/processor/exceptions.hpp"
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/print.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <cstring>

namespace previrt {

namespace {

constexpr unsigned breakpoint_count = WatchedStep::breakpoints;
constexpr std::uint64_t upper_half = std::uint64_t{1} << 63U;

enum class Condition : std::uint8_t { execution, write, port, access };

struct Breakpoint {
    bool enabled;
    Condition condition;
    std::uint64_t address; // aligned to the bytes
    std::uint64_t bytes;
};

[[gnu::section("processor")]] bool any_is_enabled;

Breakpoint breakpoint_of(unsigned number) {
    constexpr std::uint64_t sizes[] = {1, 2, 8, 4};
    const std::uint64_t control = vcpu.debug[7];
    const std::uint64_t bytes = sizes[(control >> (18 + (4 * number))) & 3U];
    return {.enabled = ((control >> (2 * number)) & 3U) != 0,
            .condition = static_cast<Condition>((control >> (16 + (4 * number))) & 3U),
            .address = vcpu.debug[number] & ~(bytes - 1),
            .bytes = bytes};
}

bool is_data(const Breakpoint& breakpoint) {
    return breakpoint.enabled &&
           (breakpoint.condition == Condition::write || breakpoint.condition == Condition::access);
}

std::size_t read_watched(const Breakpoint& breakpoint, std::uint64_t& value) {
    value = 0;
    return peek_guest(breakpoint.address, reinterpret_cast<std::uint8_t*>(&value), breakpoint.bytes,
                      Privilege::user);
}

bool overlap(const Breakpoint& breakpoint, const MemoryAccess& access) {
    return breakpoint.address - access.address < access.bytes ||
           access.address - breakpoint.address < breakpoint.bytes;
}

// Finds stores that the table of opcodes does not know: they show in memory if they change the value.
bool has_changed(unsigned number, const Breakpoint& breakpoint) {
    std::uint64_t value = 0;
    const std::size_t bytes = read_watched(breakpoint, value);
    return bytes == breakpoint.bytes && vcpu.step.watched_bytes[number] == bytes &&
           value != vcpu.step.watched[number];
}

unsigned breakpoints_hit() {
    Descriptor code_segment{};
    const bool is_long =
        read_descriptor(static_cast<std::uint16_t>(vcpu.cs), code_segment) == Lookup::found &&
        code_segment.is_long_code();
    const MemoryAccesses accesses = is_long ? memory_accesses({vcpu.step.code, vcpu.step.code_bytes},
                                                              vcpu.step.registers, vcpu.registers.rip)
                                            : MemoryAccesses{};
    unsigned hit = 0;
    for (unsigned number = 0; number < breakpoint_count; ++number) {
        const Breakpoint breakpoint = breakpoint_of(number);
        if (!is_data(breakpoint)) {
            continue;
        }
        bool is_hit = has_changed(number, breakpoint);
        for (const MemoryAccess& access : accesses.all()) {
            is_hit = is_hit || (overlap(breakpoint, access) &&
                                (access.writes || breakpoint.condition == Condition::access));
        }
        hit |= is_hit ? 1U << number : 0U;
    }
    return hit;
}

// PUSHF stored the VMM's TF, not the guest's.
void correct_pushed_flags() {
    constexpr std::uint8_t pushf = 0x9c;
    constexpr std::uint8_t operand_size = 0x66;
    const bool is_plain = vcpu.step.code_bytes > 0 && vcpu.step.code[0] == pushf;
    const bool is_short =
        vcpu.step.code_bytes > 1 && vcpu.step.code[0] == operand_size && vcpu.step.code[1] == pushf;
    std::uint16_t flags = 0;
    const std::uint64_t stack = vcpu.registers.general[rsp];
    if ((is_plain || is_short) && read_guest(stack, &flags, sizeof(flags), Privilege::user)) {
        flags = static_cast<std::uint16_t>(flags & ~std::uint64_t{flag_trap});
        (void)write_guest(stack, &flags, sizeof(flags), Privilege::user);
    }
}

} // namespace

void note_breakpoints() {
    [[gnu::section(".bss.cache")]] static bool was_said;
    any_is_enabled = false;
    if (backend::compares_debug_registers()) {
        return;
    }
    for (unsigned number = 0; number < breakpoint_count; ++number) {
        const Breakpoint breakpoint = breakpoint_of(number);
        if (!breakpoint.enabled) {
            continue;
        }
        any_is_enabled = true;
        if ((breakpoint.address & upper_half) != 0 && !was_said) {
            was_said = true;
            Print() << "previrt-vmm: breakpoints in the kernel do not work here, such as one at "
                    << Hex{breakpoint.address} << '\n';
        }
    }
}

bool breakpoints_are_enabled() {
    return any_is_enabled;
}

bool stop_at_breakpoint() {
    if (!any_is_enabled || (vcpu.registers.rflags & flag_resume) != 0) {
        return false;
    }
    unsigned hit = 0;
    for (unsigned number = 0; number < breakpoint_count; ++number) {
        const Breakpoint breakpoint = breakpoint_of(number);
        if (breakpoint.enabled && breakpoint.condition == Condition::execution &&
            vcpu.debug[number] == vcpu.registers.rip) {
            hit |= 1U << number;
        }
    }
    if (hit == 0) {
        return false;
    }
    vcpu.debug[6] |= hit;
    raise_exception(debug_exception);
    return true;
}

void prepare_step() {
    if (!any_is_enabled || vcpu.stepping) {
        return;
    }
    vcpu.step.under_way = true;
    vcpu.step.is_guests = (vcpu.registers.rflags & flag_trap) != 0;
    vcpu.step.registers = vcpu.registers;
    vcpu.step.code_bytes =
        peek_guest(vcpu.registers.rip, vcpu.step.code, sizeof(vcpu.step.code), Privilege::user);
    for (unsigned number = 0; number < breakpoint_count; ++number) {
        const Breakpoint breakpoint = breakpoint_of(number);
        vcpu.step.watched_bytes[number] =
            is_data(breakpoint) ? read_watched(breakpoint, vcpu.step.watched[number]) : 0;
    }
    vcpu.registers.rflags |= flag_trap;
}

void end_step() {
    if (vcpu.step.under_way && !vcpu.step.is_guests) {
        vcpu.registers.rflags &= ~std::uint64_t{flag_trap};
    }
    vcpu.step.under_way = false;
    if (vcpu.stepping) {
        vcpu.stepping = false;
        vcpu.registers.rflags &= ~std::uint64_t{flag_trap};
    }
}

bool finish_watched_step() {
    if (!vcpu.step.under_way) {
        return false;
    }
    const unsigned hit = breakpoints_hit();
    if (!vcpu.step.is_guests) {
        correct_pushed_flags();
    }
    const bool is_guests = vcpu.step.is_guests;
    end_step();
    vcpu.debug[6] |= hit | (is_guests ? debug_single_step : 0);
    if (hit != 0 || is_guests) {
        raise_exception(debug_exception);
    }
    return true;
}

} // namespace previrt
