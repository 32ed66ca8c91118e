// SPDX-License-Identifier: BSD-2-Clause
// The time-stamp counter of a processor of this host's KVM.
#include "monitor/kvm/time.hpp"

#include "monitor/kvm/host.hpp"
#include "monitor/kvm/interface.hpp"
#include "monitor/kvm/privileged/guest_clock.hpp"
#include "tests/machine/machine.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <sys/ioctl.h>
#include <thread>
#include <x86intrin.h>

namespace previrt {

namespace {

class KvmCounter : public testing::Test {
protected:
    void SetUp() override {
        if (const std::string lacks = machine::what_lacks("kvm"); !lacks.empty()) {
            GTEST_SKIP() << lacks;
        }
        kvm_ = open_kvm();
    }

    [[nodiscard]] const Descriptor& kvm() const { return kvm_; }

private:
    Descriptor kvm_;
};

struct Reading {
    std::uint64_t earliest; // this processor's counter
    std::uint64_t latest;
    std::uint64_t guest;
};

Reading read(const Descriptor& processor) {
    Reading reading{};
    reading.earliest = __rdtsc();
    reading.guest = read_kvm_time_stamp(processor);
    reading.latest = __rdtsc();
    return reading;
}

// A Linux that measures its counter once more after KVM has started creates processors for the former rate. A
// virtual machine that asks for another rate makes it do the same (a KVM before Linux 5.16 refuses that).
// Without hardware that scales, KVM then gives a counter that stands still.
TEST_F(KvmCounter, RunsAtTheHostsRateWhateverTheMachineWasCreatedFor) {
    const auto start_in = [&](const std::function<void(const Descriptor&)>& prepare,
                              const std::function<void(const Descriptor&, const KvmTime&)>& check) {
        const Descriptor machine(kvm_request(kvm(), KVM_CREATE_VM, "KVM_CREATE_VM"));
        prepare(machine);
        const Descriptor processor(kvm_request(machine, KVM_CREATE_VCPU, "KVM_CREATE_VCPU"));
        check(processor, start_kvm_time(processor));
    };
    std::uint64_t khz = 0;
    start_in([](const Descriptor&) {},
             [&](const Descriptor&, const KvmTime& time) { khz = time.time_stamp_khz; });
    ASSERT_GT(khz, 1000U);
    for (const std::uint64_t rate : {khz / 2, khz - (khz / 100), khz, khz + (khz / 100), khz * 2}) {
        start_in([&](const Descriptor& machine) { ioctl(machine.number(), KVM_SET_TSC_KHZ, rate); },
                 [&](const Descriptor& processor, const KvmTime& time) {
                     EXPECT_EQ(time.time_stamp_khz, khz) << rate;
                     const Reading begin = read(processor);
                     EXPECT_GE(begin.guest, time.epoch_time_stamp) << rate;
                     std::this_thread::sleep_for(std::chrono::milliseconds(10));
                     const Reading end = read(processor);
                     EXPECT_GE(end.guest - begin.guest, end.earliest - begin.latest) << rate;
                     EXPECT_LE(end.guest - begin.guest, end.latest - begin.earliest) << rate;
                 });
    }
}

// What the guest says that it has seen may be any time.
TEST_F(KvmCounter, TheMonitorsClockIsNeverBehindWhatTheGuestHasSeen) {
    const Descriptor machine(kvm_request(kvm(), KVM_CREATE_VM, "KVM_CREATE_VM"));
    const Descriptor processor(kvm_request(machine, KVM_CREATE_VCPU, "KVM_CREATE_VCPU"));
    constexpr std::uint64_t hour = 3600ULL * 1'000'000'000;
    constexpr std::uint64_t end = std::numeric_limits<std::uint64_t>::max();
    GuestClock clock(processor, start_kvm_time(processor));
    const std::uint64_t start = clock.now();
    EXPECT_LT(start, hour);
    clock.follow(0);
    EXPECT_GE(clock.now(), start);
    EXPECT_LT(clock.now(), hour);
    clock.follow(start + hour);
    EXPECT_GE(clock.now(), start + hour);
    EXPECT_LT(clock.now(), start + (2 * hour));
    clock.follow(start);
    EXPECT_GE(clock.now(), start + hour);
    EXPECT_LT(clock.now(), start + (2 * hour));
    for (const std::uint64_t seen : {end - 1, end, end}) {
        clock.follow(seen);
        EXPECT_GE(clock.now(), seen);
    }
}

} // namespace

} // namespace previrt
