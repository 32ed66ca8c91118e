// SPDX-License-Identifier: BSD-2-Clause
#include "backends/process/processors.hpp"

#include "backends/common/ring3/flag_byte_entries.hpp"
#include "backends/process/address_space_processes.hpp"
#include "backends/process/contract/handover.hpp"
#include "backends/process/domain.hpp"
#include "backends/process/host_changes.hpp"
#include "backends/process/stolen_time.hpp"
#include "backends/process/system_call.hpp"
#include "inplace-vmm/backend/processors.hpp"
#include "inplace-vmm/backend/time.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <cstring>

namespace previrt::process {

extern "C" {
extern std::uint32_t pending;
void host_started(Host* self);
}

namespace {

std::uint8_t* areas; // of all processors but the first

enum FutexOperation : std::uint8_t { futex_wait, futex_wake };

void wait(const std::uint32_t& word, std::uint32_t value, const void* timeout = nullptr) {
    call_host(call_futex, {.first = address_of(&word),
                           .second = futex_wait,
                           .third = value,
                           .fourth = reinterpret_cast<std::uint64_t>(timeout)});
}

void wake(const std::uint32_t& word) {
    call_host(call_futex, {.first = address_of(&word), .second = futex_wake, .third = 1});
}

bool is_alone() {
    return handover.processors == 1;
}

std::size_t area_bytes() {
    return static_cast<std::size_t>(processor_end - processor_start);
}

} // namespace

void start_processors() {
    if (is_alone()) {
        return;
    }
    areas = take_memory(area_bytes() * (handover.processors - 1));
    for (unsigned i = 1; i < handover.processors; ++i) {
        std::memcpy(areas + ((i - 1) * area_bytes()), processor_start, area_bytes());
        of_processor(i, vcpu).number = i;
        set_activity_of(i, Activity::absent);
    }
}

void name_first_process() {
    current_host().identity = static_cast<std::int32_t>(call_host(call_getpid, {}));
}

void sleep_on(const std::uint32_t& word, const void* timeout) {
    wait(word, 0, timeout);
}

// Maps the processor's own pages in place of those of the processor that has made this process.
extern "C" void map_own_pages(Host* self) {
    const std::uint64_t offset =
        address_of(memory_of_processor(self->processor, processor_start)) - arena_address;
    const std::int64_t got = call_host(call_mmap, {.first = address_of(processor_start),
                                                   .second = area_bytes(),
                                                   .third = may_read | may_write | may_execute,
                                                   .fourth = map_shared | map_fixed,
                                                   .fifth = memory_descriptor,
                                                   .sixth = offset});
    if (got != static_cast<std::int64_t>(address_of(processor_start))) {
        end_process();
    }
    host_started(self);
}

} // namespace previrt::process

namespace previrt {

using namespace process;

std::uint8_t* memory_of_processor(unsigned processor, const void* variable) {
    const auto* const place = static_cast<const std::uint8_t*>(variable);
    if (processor == 0) {
        return reinterpret_cast<std::uint8_t*>(arena_address + (address_of(place) - image_address));
    }
    return areas + ((processor - 1) * area_bytes()) + (place - processor_start);
}

void wait_for_lock(const std::uint32_t& lock, std::uint32_t value) {
    ++counters.hypercalls[call_wait_for_vmm];
    const std::uint64_t since = backend::now();
    wait(lock, value);
    exclude_sleep(since);
}

void wake_one_for_lock(const std::uint32_t& lock) {
    wake(lock);
}

void note_event(unsigned processor) {
    __atomic_fetch_or(&of_processor(processor, pending), event_pending, __ATOMIC_SEQ_CST);
}

void begin_absent(unsigned processor) {
    make_processor(processor);
}

void interrupt_guest(unsigned processor) {
    interrupt_processor(processor);
}

void wake_sleeper(unsigned processor) {
    ++counters.hypercalls[call_wake];
    wake(of_processor(processor, pending));
}

unsigned backend::processor_count() {
    return handover.processors;
}

} // namespace previrt
