// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/start_up/interpreter.hpp"

#include "frontends/x86/start_up/execution.hpp"
#include "frontends/x86/start_up/opcodes.hpp"

namespace previrt::start_up {

namespace {

// True: the processor goes on.
bool step(StartingProcessor& processor, const Surroundings& surroundings, Report& report) {
    const StartingProcessor before = processor;
    Execution execution(processor, surroundings);
    execution.read_prefixes_and_opcode();
    if (!execution.failed()) {
        execute_opcode(execution);
    }
    execution.check_lock();
    if (execution.failed()) {
        processor = before;
        report.ending = execution.ending();
        report.selector = processor.segments[segment_cs].selector;
        report.offset = processor.rip;
        execution.fill(report);
        return false;
    }
    ++report.steps;
    if (execution.is_to_repeat()) {
        processor = before;
        return true;
    }
    processor.rip = execution.next;
    report.ending = execution.ending();
    return report.ending == Ending::going_on;
}

} // namespace

Report run(StartingProcessor& processor, const Surroundings& surroundings, std::uint64_t most_steps) {
    Report report{};
    if (processor.is_in_64_bit_mode()) {
        report.ending = Ending::long_mode;
        return report;
    }
    while (report.steps < most_steps && step(processor, surroundings, report)) {
    }
    return report;
}

} // namespace previrt::start_up
