// SPDX-License-Identifier: BSD-2-Clause
#include "backends/process/processors.hpp"

#include "backends/common/ring3/flag_byte_entries.hpp"
#include "backends/process/address_space_processes.hpp"
#include "backends/process/contract/handover.hpp"
#include "backends/process/domain.hpp"
#include "backends/process/host_changes.hpp"
#include "backends/process/system_call.hpp"
#include "inplace-vmm/backend/processors.hpp"
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

enum Activity : std::uint32_t { absent, in_vmm, in_guest, asleep };

// Read by other processors, without the lock.
[[gnu::section("processor")]] constinit std::uint32_t activity = in_vmm;

// It was gathered, and must not go on with mappings that have changed.
[[gnu::section("processor")]] bool was_gathered;

std::uint8_t* areas; // of all processors but the first

// Held by the processor that executes the VMM.
enum Lock : std::uint32_t { lock_free, lock_held, lock_awaited };
std::uint32_t lock = lock_free;

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

bool take_lock_if_free() {
    std::uint32_t expected = lock_free;
    return __atomic_compare_exchange_n(&lock, &expected, std::uint32_t{lock_held}, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

// A holder has it for about a microsecond, unless the host runs something else in its place.
void take_lock() {
    constexpr unsigned patience = 500;
    for (unsigned i = 0; i < patience; ++i) {
        if (__atomic_load_n(&lock, __ATOMIC_RELAXED) == lock_free && take_lock_if_free()) {
            return;
        }
        asm volatile("pause");
    }
    while (__atomic_exchange_n(&lock, std::uint32_t{lock_awaited}, __ATOMIC_ACQUIRE) != lock_free) {
        ++counters.hypercalls[call_wait_for_vmm];
        wait(lock, lock_awaited);
    }
}

void give_lock() {
    if (__atomic_exchange_n(&lock, std::uint32_t{lock_free}, __ATOMIC_RELEASE) == lock_awaited) {
        wake(lock);
    }
}

void set_activity(Activity what) {
    __atomic_store_n(&activity, std::uint32_t{what}, __ATOMIC_SEQ_CST);
}

std::uint32_t activity_of(unsigned processor) {
    return __atomic_load_n(&of_processor(processor, activity), __ATOMIC_SEQ_CST);
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
        of_processor(i, activity) = absent;
    }
}

void name_first_process() {
    current_host().identity = static_cast<std::int32_t>(call_host(call_getpid, {}));
}

std::uint8_t* memory_of_processor(unsigned processor, const void* variable) {
    const auto* const place = static_cast<const std::uint8_t*>(variable);
    if (processor == 0) {
        return reinterpret_cast<std::uint8_t*>(arena_address + (address_of(place) - image_address));
    }
    return areas + ((processor - 1) * area_bytes()) + (place - processor_start);
}

void follow_changes_if_gathered() {
    if (was_gathered) {
        was_gathered = false;
        follow_changes();
    }
}

void sleep_on(const std::uint32_t& word, const void* timeout) {
    if (is_alone()) {
        wait(word, 0, timeout);
        return;
    }
    set_activity(asleep);
    give_lock();
    wait(word, 0, timeout);
    enter_vmm();
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

void enter_vmm() {
    if (!is_alone()) {
        set_activity(in_vmm);
        take_lock();
    }
}

void leave_vmm() {
    if (!is_alone()) {
        set_activity(in_guest);
        give_lock();
    }
}

} // namespace previrt

namespace previrt::backend {

using namespace process;

unsigned processor_count() {
    return handover.processors;
}

// The processor looks at `pending` after it has said that it is in the guest, or asleep.
void notify_processor(unsigned processor) {
    std::uint32_t& word = of_processor(processor, pending);
    __atomic_fetch_or(&word, event_pending, __ATOMIC_SEQ_CST);
    switch (activity_of(processor)) {
    case absent:
        of_processor(processor, activity) = in_vmm;
        make_processor(processor);
        break;
    case in_guest:
        interrupt_processor(processor);
        break;
    case asleep:
        ++counters.hypercalls[call_wake];
        wake(word);
        break;
    default: // it looks before it leaves the VMM
        break;
    }
}

void let_others_go_on() {
    leave_vmm();
    enter_vmm();
}

// A processor that executes its quick way of a system call only notes the first signal.
void gather_processors() {
    for (unsigned i = 0; i < processor_count(); ++i) {
        constexpr unsigned patience = 20000;
        if (i == vcpu.number) {
            continue;
        }
        of_processor(i, was_gathered) = true;
        while (activity_of(i) == in_guest) {
            ++counters.hypercalls[call_gather];
            notify_processor(i);
            for (unsigned spins = 0; spins < patience && activity_of(i) == in_guest; ++spins) {
                asm volatile("pause");
            }
        }
    }
}

} // namespace previrt::backend
