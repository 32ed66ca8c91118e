// SPDX-License-Identifier: BSD-2-Clause
#include "backends/common/ring3/vmm_lock.hpp"

#include "backends/common/ring3/flag_byte_entries.hpp"
#include "inplace-vmm/backend/processors.hpp"
#include "inplace-vmm/backend/time.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt {

namespace {

// Read by other processors, without the lock.
[[gnu::section("processor")]] constinit auto activity = static_cast<std::uint32_t>(Activity::in_vmm);

[[gnu::section("processor")]] bool is_gathered;

// Held by the processor that executes the VMM.
enum Lock : std::uint32_t { lock_free, lock_held, lock_awaited };
std::uint32_t lock = lock_free;

bool is_alone() {
    return backend::processor_count() == 1;
}

bool take_lock_if_free(std::uint32_t taken) {
    std::uint32_t expected = lock_free;
    return __atomic_compare_exchange_n(&lock, &expected, taken, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

// A holder has it for some microseconds, unless the host runs something else in its place.
bool take_lock_soon(std::uint32_t taken) {
    constexpr unsigned patience = 1000;
    for (unsigned i = 0; i < patience; ++i) {
        if (__atomic_load_n(&lock, __ATOMIC_RELAXED) == lock_free && take_lock_if_free(taken)) {
            return true;
        }
        asm volatile("pause");
    }
    return false;
}

// A processor that was woken tries for a while again: it would lose to one that has never slept each time.
void take_lock() {
    std::uint32_t taken = lock_held;
    while (!take_lock_soon(taken) &&
           __atomic_exchange_n(&lock, std::uint32_t{lock_awaited}, __ATOMIC_ACQUIRE) != lock_free) {
        wait_for_lock(lock, lock_awaited);
        taken = lock_awaited; // others may wait too
    }
}

void give_lock() {
    if (__atomic_exchange_n(&lock, std::uint32_t{lock_free}, __ATOMIC_SEQ_CST) == lock_awaited) {
        wake_one_for_lock(lock);
    }
}

// A sleep and its end take some 10 us in processes and 40 us under KVM: half of what pipe_across of `bench
// processors` took without this. So after a sleep that was shorter than this (in ns), the processor first
// looks for events for as long.
constexpr std::uint64_t short_sleep = 50'000;
[[gnu::section("processor")]] bool last_sleep_was_short;
[[gnu::section("processor")]] std::uint64_t idle_since;

bool is_there_soon(const std::uint32_t& events) {
    constexpr unsigned looks = 16; // between two readings of the time
    do {
        for (unsigned i = 0; i < looks; ++i) {
            if (__atomic_load_n(&events, __ATOMIC_RELAXED) != 0) {
                return true;
            }
            asm volatile("pause");
        }
    } while (backend::now() - idle_since < short_sleep);
    return false;
}

void set_activity(Activity what) {
    __atomic_store_n(&activity, static_cast<std::uint32_t>(what), __ATOMIC_SEQ_CST);
}

Activity activity_of(unsigned processor) {
    return static_cast<Activity>(__atomic_load_n(&of_processor(processor, activity), __ATOMIC_SEQ_CST));
}

} // namespace

void set_activity_of(unsigned processor, Activity what) {
    of_processor(processor, activity) = static_cast<std::uint32_t>(what);
}

void enter_vmm() {
    if (!is_alone()) {
        set_activity(Activity::in_vmm);
        take_lock();
    }
}

void leave_vmm() {
    if (!is_alone()) {
        set_activity(Activity::in_guest);
        give_lock();
    }
}

bool fall_asleep(const std::uint32_t& events) {
    if (is_alone()) {
        return true;
    }
    idle_since = backend::now();
    give_lock();
    // As far as others know it is in the VMM, so they do not wake it.
    if (last_sleep_was_short && is_there_soon(events)) {
        return false;
    }
    set_activity(Activity::asleep);
    return true;
}

void wake_up() {
    if (!is_alone()) {
        last_sleep_was_short = backend::now() - idle_since < short_sleep;
    }
    enter_vmm();
}

bool was_gathered() {
    const bool result = is_gathered;
    is_gathered = false;
    return result;
}

// A processor that executes its quick way of a system call only notes the first interrupt.
void gather_processor(unsigned processor) {
    constexpr unsigned patience = 20000;
    of_processor(processor, is_gathered) = true;
    while (activity_of(processor) == Activity::in_guest) {
        backend::notify_processor(processor);
        for (unsigned spins = 0; spins < patience && activity_of(processor) == Activity::in_guest; ++spins) {
            asm volatile("pause");
        }
    }
}

} // namespace previrt

namespace previrt::backend {

void notify_processor(unsigned processor) {
    note_event(processor);
    switch (activity_of(processor)) {
    case Activity::absent:
        set_activity_of(processor, Activity::in_vmm);
        begin_absent(processor);
        break;
    case Activity::in_vmm: // it looks before it leaves the VMM
        break;
    case Activity::in_guest:
        interrupt_guest(processor);
        break;
    case Activity::asleep:
        wake_sleeper(processor);
        break;
    }
}

void let_others_go_on() {
    leave_vmm();
    enter_vmm();
}

void gather_processors() {
    for (unsigned i = 0; i < processor_count(); ++i) {
        if (i != vcpu.number) {
            gather_processor(i);
        }
    }
}

} // namespace previrt::backend
