// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/process/memory/fake_processors.hpp"

#include "backends/process/processors.hpp"
#include "inplace-vmm/backend/processors.hpp"
#include "inplace-vmm/vcpu.hpp"
#include "tests/unit/vmm/fake_backend.hpp"

#include <algorithm>
#include <utility>
#include <vector>

extern "C" {
// The linker's, of the section.
extern std::uint8_t __start_processor[]; // NOLINT(bugprone-reserved-identifier)
extern std::uint8_t __stop_processor[];  // NOLINT(bugprone-reserved-identifier)
}

namespace previrt::fake {

namespace {

struct Processor {
    std::vector<std::uint8_t> statics; // of another than the present one
    bool has_begun = false;
    bool was_gathered = false;
};
std::vector<Processor> processors(1);
unsigned present;

} // namespace

void start_processors(unsigned count) {
    processors.assign(count, {.statics = {__start_processor, __stop_processor}});
    processors[0].has_begun = true;
    present = 0;
    for (unsigned i = 1; i < count; ++i) {
        of_processor(i, vcpu).number = i;
    }
}

unsigned present_processor() {
    return present;
}

bool exchange_processor(unsigned processor) {
    processors[present].statics.assign(__start_processor, __stop_processor);
    present = processor;
    std::ranges::copy(processors[present].statics, __start_processor);
    return std::exchange(processors[present].was_gathered, false);
}

bool begin_processor(unsigned processor) {
    return std::exchange(processors[processor].has_begun, true);
}

} // namespace previrt::fake

namespace previrt {

std::uint8_t* memory_of_processor(unsigned processor, const void* variable) {
    const auto* const place = static_cast<const std::uint8_t*>(variable);
    if (place < __start_processor || place >= __stop_processor) {
        throw fake::Misuse("a static that all processors share is asked for as one processor's");
    }
    return processor == fake::present
               ? __start_processor + (place - __start_processor)
               : fake::processors.at(processor).statics.data() + (place - __start_processor);
}

// None of the others executes the guest anyway.
void gather_processor(unsigned processor) {
    fake::processors.at(processor).was_gathered = true;
}

} // namespace previrt

namespace previrt::backend {

unsigned processor_count() {
    return static_cast<unsigned>(fake::processors.size());
}

void notify_processor(unsigned /*processor*/) {}
void let_others_go_on() {}

void gather_processors() {
    for (unsigned i = 0; i < fake::processors.size(); ++i) {
        if (i != fake::present) {
            gather_processor(i);
        }
    }
}

} // namespace previrt::backend
