// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/start_up/model_registers.hpp"

namespace previrt::start_up {

namespace {

enum ModelRegister : std::uint32_t { efer = 0xc0000080, fs_base = 0xc0000100, gs_base = 0xc0000101 };

void store_efer(Execution& execution, std::uint64_t value) {
    StartingProcessor& processor = execution.processor;
    const std::uint64_t changed = (processor.efer ^ value) & ~std::uint64_t{efer_lma};
    if ((value & ~(execution.surroundings.offered_efer | efer_lma)) != 0) {
        execution.fault(general_protection, "EFER gets a bit that the processor does not offer");
        return;
    }
    if ((changed & efer_lme) != 0 && (processor.cr0 & cr0_pg) != 0) {
        execution.fault(general_protection, "EFER.LME changes while paging is on");
        return;
    }
    // LMA is the processor's.
    processor.efer ^= changed;
}

void store_base(Execution& execution, unsigned segment, std::uint64_t value) {
    if (!is_canonical(value)) {
        execution.fault(general_protection, "a base of FS or GS that is not canonical");
        return;
    }
    execution.processor.segments[segment].base = value;
}

} // namespace

std::uint64_t load_model_register(Execution& execution, std::uint32_t number) {
    const StartingProcessor& processor = execution.processor;
    switch (number) {
    case efer:
        return processor.efer;
    case fs_base:
        return processor.segments[segment_fs].base;
    case gs_base:
        return processor.segments[segment_gs].base;
    default:
        break;
    }
    std::uint64_t value = 0;
    if (!execution.failed() &&
        !execution.surroundings.read_msr(execution.surroundings.context, number, value)) {
        execution.fault(general_protection, "rdmsr of a register that the processor does not have");
    }
    return value;
}

void store_model_register(Execution& execution, std::uint32_t number, std::uint64_t value) {
    switch (number) {
    case efer:
        store_efer(execution, value);
        return;
    case fs_base:
        store_base(execution, segment_fs, value);
        return;
    case gs_base:
        store_base(execution, segment_gs, value);
        return;
    default:
        break;
    }
    if (!execution.failed() &&
        !execution.surroundings.write_msr(execution.surroundings.context, number, value)) {
        execution.fault(general_protection,
                        "wrmsr of a register or a value that the processor does not have");
    }
}

} // namespace previrt::start_up
