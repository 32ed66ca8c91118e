// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/start_up/segmentation.hpp"

#include "frontends/x86/processor/descriptors.hpp"

#include <optional>

namespace previrt::start_up {

namespace {

constexpr std::uint16_t table_indicator = 4;
constexpr std::uint16_t requested_privilege = 3;
constexpr std::uint64_t descriptor_accessed = std::uint64_t{1} << 40U;

Segment segment_of(std::uint16_t selector, const Descriptor& descriptor) {
    constexpr std::uint64_t attributes = 0xf0ff;
    return {.base = descriptor.base(),
            .limit = descriptor.limit(),
            .selector = selector,
            .attributes =
                static_cast<std::uint16_t>(((descriptor.low >> 40U) & attributes) | attribute_accessed)};
}

std::uint64_t place_of(const Execution& execution, std::uint16_t selector) {
    return (execution.processor.gdt.base + (selector & 0xfff8U)) & 0xffffffffU;
}

// Of code or data. nullopt: it failed.
std::optional<Descriptor> read_descriptor(Execution& execution, std::uint16_t selector) {
    if ((selector & table_indicator) != 0) {
        execution.fault(general_protection, "a selector of the LDT, which is not loaded");
        return {};
    }
    if ((selector & 0xfff8U) + 7U > execution.processor.gdt.limit) {
        execution.fault(general_protection, "a selector outside the GDT");
        return {};
    }
    const Descriptor descriptor{.low = execution.load_linear(place_of(execution, selector)), .high = 0};
    if (execution.failed()) {
        return {};
    }
    if (descriptor.is_system()) {
        execution.fault(general_protection, "a selector of a system segment or of a gate");
        return {};
    }
    return descriptor;
}

void set_accessed(Execution& execution, std::uint16_t selector, const Descriptor& descriptor) {
    if ((descriptor.low & descriptor_accessed) == 0) {
        const auto type = static_cast<std::uint8_t>((descriptor.low | descriptor_accessed) >> 40U);
        execution.store_linear((place_of(execution, selector) + 5) & 0xffffffffU, type);
    }
}

// What the descriptor lacks for this register; nullptr: nothing.
const char* what_forbids(unsigned number, std::uint16_t selector, const Descriptor& descriptor) {
    const unsigned requested = selector & requested_privilege;
    if (number == segment_ss) {
        if (!descriptor.is_writable()) {
            return "SS gets a segment that is not writable data";
        }
        return requested != 0 || descriptor.privilege() != 0 ? "SS gets a segment of another level" : nullptr;
    }
    if (!descriptor.is_readable()) {
        return "a segment register gets a segment that is not readable";
    }
    return !descriptor.is_conforming() && descriptor.privilege() < requested
               ? "a segment register gets a selector whose RPL is above its DPL"
               : nullptr;
}

void load_null(Execution& execution, unsigned number, std::uint16_t selector) {
    if (number == segment_ss) {
        execution.fault(general_protection, "SS gets a null selector");
        return;
    }
    execution.processor.segments[number] = {.base = 0, .limit = 0, .selector = selector, .attributes = 0};
}

// Real-address mode changes nothing else of the register.
void load_real(Segment& segment, std::uint16_t selector) {
    segment.selector = selector;
    segment.base = std::uint64_t{selector} << 4U;
}

// What keeps level 0 from a jump to it; nullptr: nothing.
const char* what_bars(const Execution& execution, std::uint16_t selector, const Descriptor& descriptor) {
    if (!descriptor.is_code()) {
        return "CS gets a segment that is not code";
    }
    if (descriptor.privilege() != 0 ||
        (!descriptor.is_conforming() && (selector & requested_privilege) != 0)) {
        return "CS gets a segment of another level";
    }
    const unsigned sizes = static_cast<unsigned>(descriptor.low >> 53U) & 3U; // L and D
    if (sizes == 3 && execution.processor.has_long_mode_active()) {
        return "CS gets a segment with L and D";
    }
    return nullptr;
}

} // namespace

bool is_within(const Segment& segment, std::uint32_t offset, unsigned bytes) {
    const std::uint64_t last = std::uint64_t{offset} + bytes - 1;
    constexpr std::uint16_t kind = attribute_down | attribute_code;
    if ((segment.attributes & kind) != attribute_down) {
        return last <= segment.limit;
    }
    const std::uint64_t top = segment.has(attribute_big) ? 0xffffffffU : 0xffffU;
    return offset > segment.limit && last <= top;
}

void load_segment(Execution& execution, unsigned number, std::uint16_t selector) {
    if (!execution.processor.is_protected()) {
        load_real(execution.processor.segments[number], selector);
        return;
    }
    if (is_null(selector)) {
        load_null(execution, number, selector);
        return;
    }
    const std::optional<Descriptor> descriptor = read_descriptor(execution, selector);
    if (!descriptor) {
        return;
    }
    if (const char* const reason = what_forbids(number, selector, *descriptor)) {
        execution.fault(general_protection, reason);
        return;
    }
    if (!descriptor->present()) {
        execution.fault(number == segment_ss ? stack_fault : segment_not_present,
                        "a segment register gets a segment that is not present");
        return;
    }
    set_accessed(execution, selector, *descriptor);
    execution.processor.segments[number] = segment_of(selector, *descriptor);
}

void enter_code_segment(Execution& execution, std::uint16_t selector, std::uint32_t offset) {
    StartingProcessor& processor = execution.processor;
    Segment& code = processor.segments[segment_cs];
    if (!processor.is_protected()) {
        load_real(code, selector);
        execution.jump(offset);
        return;
    }
    if (is_null(selector)) {
        execution.fault(general_protection, "CS gets a null selector");
        return;
    }
    const std::optional<Descriptor> descriptor = read_descriptor(execution, selector);
    if (!descriptor) {
        return;
    }
    if (const char* const reason = what_bars(execution, selector, *descriptor)) {
        execution.fault(general_protection, reason);
        return;
    }
    if (!descriptor->present()) {
        execution.fault(segment_not_present, "CS gets a segment that is not present");
        return;
    }
    constexpr std::uint64_t descriptor_long = std::uint64_t{1} << 53U;
    if ((descriptor->low & descriptor_long) != 0 && !processor.has_long_mode_active()) {
        execution.refuse("CS gets a 64-bit segment while EFER.LMA is clear");
        return;
    }
    set_accessed(execution, selector, *descriptor);
    const auto at_level_0 = static_cast<std::uint16_t>(selector & ~requested_privilege);
    code = segment_of(at_level_0, *descriptor);
    if (processor.is_in_64_bit_mode()) {
        execution.next = offset;
        execution.end(Ending::long_mode);
        return;
    }
    execution.jump(offset);
}

} // namespace previrt::start_up
