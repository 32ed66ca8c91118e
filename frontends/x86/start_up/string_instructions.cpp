// SPDX-License-Identifier: BSD-2-Clause
// A repeated instruction does one element, and stays where it is while more remain.
#include "frontends/x86/start_up/instructions.hpp"

#include "frontends/x86/instructions/arithmetic.hpp"

namespace previrt::start_up {

namespace {

std::uint32_t remaining(const Execution& execution) {
    return execution.read_register(rcx, execution.address_width);
}

bool has_no_element(const Execution& execution) {
    return execution.repeat != Repeat::none && remaining(execution) == 0;
}

Address source(const Execution& execution) {
    return {.segment = execution.data_segment(segment_ds),
            .offset = execution.read_register(rsi, execution.address_width)};
}

Address destination(const Execution& execution) {
    return {.segment = segment_es, .offset = execution.read_register(rdi, execution.address_width)};
}

void advance(Execution& execution, unsigned number) {
    const unsigned width = execution.width();
    execution.add_to_register(number, execution.flag(flag_direction) ? 0 - width : width,
                              execution.address_width);
}

void finish(Execution& execution, bool goes_on = true) {
    if (execution.repeat == Repeat::none) {
        return;
    }
    execution.add_to_register(rcx, ~std::uint32_t{0}, execution.address_width);
    if (goes_on && remaining(execution) != 0) {
        execution.next = static_cast<std::uint32_t>(execution.processor.rip);
    }
}

void compare(Execution& execution, std::uint32_t left, std::uint32_t right) {
    execution.set_flags(calculate(Operation::compare, left, right, false, execution.width()).flags,
                        outcome_flags);
    finish(execution, execution.flag(flag_zero) == (execution.repeat == Repeat::while_equal));
}

} // namespace

void move_string(Execution& execution) {
    if (has_no_element(execution)) {
        return;
    }
    const unsigned width = execution.width();
    execution.store(destination(execution), execution.load(source(execution), width), width);
    advance(execution, rsi);
    advance(execution, rdi);
    finish(execution);
}

void compare_string(Execution& execution) {
    if (has_no_element(execution)) {
        return;
    }
    const unsigned width = execution.width();
    const std::uint32_t left = execution.load(source(execution), width);
    const std::uint32_t right = execution.load(destination(execution), width);
    advance(execution, rsi);
    advance(execution, rdi);
    compare(execution, left, right);
}

void store_string(Execution& execution) {
    if (has_no_element(execution)) {
        return;
    }
    const unsigned width = execution.width();
    execution.store(destination(execution), execution.read_register(rax, width), width);
    advance(execution, rdi);
    finish(execution);
}

void load_string(Execution& execution) {
    if (has_no_element(execution)) {
        return;
    }
    const unsigned width = execution.width();
    execution.write_register(rax, execution.load(source(execution), width), width);
    advance(execution, rsi);
    finish(execution);
}

void scan_string(Execution& execution) {
    if (has_no_element(execution)) {
        return;
    }
    const unsigned width = execution.width();
    const std::uint32_t right = execution.load(destination(execution), width);
    advance(execution, rdi);
    compare(execution, execution.read_register(rax, width), right);
}

} // namespace previrt::start_up
