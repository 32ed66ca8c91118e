// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/start_up/starting_processor.hpp"

#include "frontends/x86/processor/descriptors.hpp"
#include "frontends/x86/processor/segment_registers.hpp"

namespace previrt::start_up {

bool StartingProcessor::is_in_64_bit_mode() const {
    return has_long_mode_active() && segments[segment_cs].has(attribute_long);
}

StartingProcessor after_start_up(std::uint8_t vector, std::uint32_t signature) {
    constexpr std::uint16_t real_limit = 0xffff;
    constexpr std::uint16_t local_table = attribute_present | std::uint16_t{type_ldt};
    constexpr std::uint16_t busy_task = attribute_present | std::uint16_t{type_task_busy};
    StartingProcessor processor{};
    processor.general[rdx] = signature;
    processor.rflags = flag_reserved_one;
    for (Segment& segment : processor.segments) {
        segment.limit = real_limit;
        segment.attributes = attribute_present | attribute_memory | attribute_writable | attribute_accessed;
    }
    Segment& code = processor.segments[segment_cs];
    code.selector = static_cast<std::uint16_t>(vector << 8U);
    code.base = std::uint64_t{vector} << 12U;
    processor.ldt = {.base = 0, .limit = real_limit, .selector = 0, .attributes = local_table};
    processor.task = {.base = 0, .limit = real_limit, .selector = 0, .attributes = busy_task};
    processor.gdt.limit = real_limit;
    processor.idt.limit = real_limit;
    processor.cr0 = cr0_cd | cr0_nw | cr0_et;
    processor.debug[6] = 0xffff0ff0;
    processor.debug[7] = 0x400;
    return processor;
}

} // namespace previrt::start_up
