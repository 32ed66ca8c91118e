// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

// One processor at a time executes the VMM: it holds the lock from an entry to the return to the guest,
// except while it sleeps. Each processor tells the others its activity, so that they send it no needless
// interrupt.
namespace previrt {

enum class Activity : std::uint32_t { absent, in_vmm, in_guest, asleep };

// The activity of a processor that has not begun. All others begin in the VMM.
void set_activity_of(unsigned processor, Activity what);

// The processor has no work until this word is not 0. Others may have the VMM from here to wake_up(). True:
// it has to look once more, and then to sleep; others wake it. False: an event has come.
bool fall_asleep(const std::uint32_t& events);
void wake_up();

// Whether the processor was gathered since the last call. It must not go on with translations that have
// changed.
bool was_gathered();

// backend::gather_processors() for one of the other processors.
void gather_processor(unsigned processor);

// Provided by each back-end. A static of section `processor` has one copy for each processor: this is the
// other processor's.
std::uint8_t* memory_of_processor(unsigned processor, const void* variable);
template <typename Value>
Value& of_processor(unsigned processor, Value& variable) {
    return *reinterpret_cast<Value*>(memory_of_processor(processor, static_cast<const void*>(&variable)));
}
// Likewise. Waits while the lock has this value, and may return before.
void wait_for_lock(const std::uint32_t& lock, std::uint32_t value);
void wake_one_for_lock(const std::uint32_t& lock);
// Likewise. The processor sees the event when it looks.
void note_event(unsigned processor);
void begin_absent(unsigned processor);
void interrupt_guest(unsigned processor);
void wake_sleeper(unsigned processor);

} // namespace previrt
