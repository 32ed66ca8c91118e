// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/start_up/instructions.hpp"

namespace previrt::start_up {

namespace {

constexpr std::uint64_t cr4_la57 = 1U << 12U;
constexpr std::uint64_t cr4_pcide = 1U << 17U;

// What makes the processor raise #GP at this value of CR0; nullptr: nothing.
const char* what_forbids_cr0(const StartingProcessor& processor, std::uint64_t value) {
    const bool turns_paging_on = (value & ~processor.cr0 & cr0_pg) != 0;
    if ((value & cr0_pg) != 0 && (value & cr0_pe) == 0) {
        return "CR0 gets PG without PE";
    }
    if ((value & cr0_nw) != 0 && (value & cr0_cd) == 0) {
        return "CR0 gets NW without CD";
    }
    if (!turns_paging_on && (value & cr0_pg) == 0 && (processor.cr4 & cr4_pcide) != 0) {
        return "CR0.PG is cleared while CR4.PCIDE is set";
    }
    if (turns_paging_on && (processor.efer & efer_lme) != 0 && (processor.cr4 & cr4_pae) == 0) {
        return "CR0 gets PG with EFER.LME and without CR4.PAE";
    }
    return nullptr;
}

void load_cr3(Execution& execution, std::uint64_t value) {
    execution.processor.cr3 = value;
}

void load_cr4(Execution& execution, std::uint64_t value) {
    StartingProcessor& processor = execution.processor;
    const bool is_long = processor.has_long_mode_active();
    const std::uint64_t set = value & ~processor.cr4;
    if ((value & ~execution.surroundings.offered_cr4) != 0) {
        execution.fault(general_protection, "CR4 gets a bit that the processor does not offer");
    } else if (is_long && ((value & cr4_pae) == 0 || ((value ^ processor.cr4) & cr4_la57) != 0)) {
        execution.fault(general_protection, "CR4.PAE or CR4.LA57 changes in long mode");
    } else if ((set & cr4_pcide) != 0 && (!is_long || (processor.cr3 & 0xfffU) != 0)) {
        execution.fault(general_protection, "CR4 gets PCIDE outside long mode, or with a PCID in CR3");
    } else {
        processor.cr4 = value;
    }
}

// DR4 and DR5 are names of DR6 and DR7, unless CR4.DE is set.
unsigned debug_register(Execution& execution, unsigned number) {
    if (number != 4 && number != 5) {
        return number;
    }
    if ((execution.processor.cr4 & cr4_de) != 0) {
        execution.fault(invalid_opcode, "DR4 or DR5 with CR4.DE");
    }
    return number + 2;
}

} // namespace

void load_cr0(Execution& execution, std::uint64_t value) {
    constexpr std::uint64_t defined =
        cr0_pe | cr0_mp | cr0_em | cr0_ts | cr0_et | cr0_ne | cr0_wp | cr0_am | cr0_nw | cr0_cd | cr0_pg;
    StartingProcessor& processor = execution.processor;
    if (const char* const reason = what_forbids_cr0(processor, value)) {
        execution.fault(general_protection, reason);
        return;
    }
    const bool pages = (value & cr0_pg) != 0;
    if (pages && (processor.efer & efer_lme) == 0) {
        execution.refuse("paging without EFER.LME is not interpreted");
        return;
    }
    processor.cr0 = (value & defined) | cr0_et;
    processor.efer = (processor.efer & ~std::uint64_t{efer_lma}) | bit_if(pages, efer_lma);
}

// The operand is a register, whatever ModRM.mod says.
void read_control_register(Execution& execution) {
    const std::uint8_t byte = execution.code_byte();
    const StartingProcessor& processor = execution.processor;
    const std::uint64_t values[8] = {processor.cr0, 0, processor.cr2, processor.cr3, processor.cr4, 0, 0, 0};
    const unsigned number = (byte >> 3U) & 7U;
    if (number == 1 || number > 4) {
        execution.fault(invalid_opcode, "there is no such control register");
        return;
    }
    execution.write_register(byte & 7U, static_cast<std::uint32_t>(values[number]), 4);
}

void write_control_register(Execution& execution) {
    const std::uint8_t byte = execution.code_byte();
    const std::uint32_t value = execution.read_register(byte & 7U, 4);
    switch ((byte >> 3U) & 7U) {
    case 0:
        load_cr0(execution, value);
        break;
    case 2:
        execution.processor.cr2 = value;
        break;
    case 3:
        load_cr3(execution, value);
        break;
    case 4:
        load_cr4(execution, value);
        break;
    default:
        execution.fault(invalid_opcode, "there is no such control register");
    }
}

void read_debug_register(Execution& execution) {
    const std::uint8_t byte = execution.code_byte();
    const unsigned number = debug_register(execution, (byte >> 3U) & 7U);
    execution.write_register(byte & 7U, static_cast<std::uint32_t>(execution.processor.debug[number]), 4);
}

void write_debug_register(Execution& execution) {
    constexpr std::uint32_t armed = 0x20ff; // the four breakpoints, general detect
    const std::uint8_t byte = execution.code_byte();
    const unsigned number = debug_register(execution, (byte >> 3U) & 7U);
    const std::uint32_t value = execution.read_register(byte & 7U, 4);
    std::uint64_t& debug = execution.processor.debug[number];
    if (number == 7 && (value & armed) != 0) {
        execution.refuse("breakpoints are not interpreted");
    } else if (number == 7) {
        debug = (value & 0xffff27ffU) | 0x400U;
    } else if (number == 6) {
        debug = (value & 0xe00fU) | 0xffff0ff0U;
    } else {
        debug = value;
    }
}

void clear_task_switched(Execution& execution) {
    execution.processor.cr0 &= ~std::uint64_t{cr0_ts};
}

} // namespace previrt::start_up
