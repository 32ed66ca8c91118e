// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/kvm/time.hpp"

#include <cstdint>
#include <ctime>
#include <optional>

namespace previrt {

// Converts ticks of a time-stamp counter to nanoseconds, with the VMM's arithmetic.
class TickScale {
public:
    // `khz`: not 0.
    explicit TickScale(std::uint64_t khz) : scale_((std::uint64_t{1} << 32U) * 1'000'000 / khz) {}
    [[nodiscard]] std::uint64_t nanoseconds(std::uint64_t ticks) const;

private:
    std::uint64_t scale_; // nanoseconds a tick, in units of 2^-32: more than 32 bits below 1 GHz
};

// The guest's time, with its VMM's arithmetic: nanoseconds by its time-stamp counter, 0 at the epoch.
class GuestClock {
public:
    // `epoch`: of the processor.
    GuestClock(const Descriptor& processor, const KvmTime& epoch);
    [[nodiscard]] std::uint64_t now() const;
    // The guest has seen this time. On a host that does not trust its counter, KVM moves the guest's: every
    // event would come later by that much.
    void follow(std::uint64_t seen);

private:
    std::uint64_t epoch_; // in ticks of this processor's counter
    TickScale scale_;
    std::uint64_t ahead_ = 0; // nanoseconds by which the guest's counter is ahead since
};

// Sends a signal to the thread that created it.
class AlarmClock {
public:
    explicit AlarmClock(int signal);
    AlarmClock(const AlarmClock&) = delete;
    AlarmClock& operator=(const AlarmClock&) = delete;
    ~AlarmClock();

    // After this many nanoseconds; nullopt: never.
    void set(std::optional<std::uint64_t> in);

private:
    timer_t timer_{};
};

} // namespace previrt
