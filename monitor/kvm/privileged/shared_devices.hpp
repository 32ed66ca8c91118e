// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/kvm/privileged/devices.hpp"
#include "monitor/kvm/privileged/guest_clock.hpp"
#include "monitor/kvm/privileged/interrupt_controllers.hpp"
#include "monitor/kvm/privileged/own_accesses.hpp"
#include "monitor/kvm/privileged/parts.hpp"
#include "monitor/kvm/privileged/vmm_processor.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>

namespace previrt {

// The devices of a guest with several processors: the monitor's own model, until the VMM has them. Its
// functions are for all threads, unless a comment says otherwise. False: the guest has ended. Each throws
// InputError if the guest does what is not modelled.
class SharedDevices {
public:
    // `processor`: the boot processor.
    SharedDevices(const Descriptor& processor, const PrivilegedParts& parts, const KvmTime& epoch,
                  std::uint64_t guest_memory, InterruptControllers& controllers, VmmProcessor& vmm,
                  const Descriptor& woken, std::function<void()> output_came);

    [[nodiscard]] bool access_ports(VirtualProcessor& processor);
    [[nodiscard]] bool access_memory(VirtualProcessor& processor);
    // Whether the VMM can take the devices now. Called behind an access to a port by a processor that is the
    // only one to execute the guest.
    [[nodiscard]] bool can_activate(const VirtualProcessor& processor) const;
    [[nodiscard]] bool activate(VirtualProcessor& processor);
    [[nodiscard]] bool is_active() const { return vmm_is_active_; }

    // Input, packets or completions came, or there is room for some.
    void come() { came_ = true; }
    // The VMM's thread alone. Brings the devices up to the present time.
    [[nodiscard]] bool attend();
    // Likewise: nanoseconds to the next attend(). From then on an earlier deadline wakes the thread.
    [[nodiscard]] std::uint64_t begin_sleep();
    void end_sleep();
    // The guest has ended.
    void call_reader();

private:
    [[nodiscard]] std::uint64_t now();
    [[nodiscard]] bool access_own(const VirtualProcessor& processor);
    [[nodiscard]] bool access_vmm(VirtualProcessor& processor, std::span<std::uint8_t> data);
    void look_at_own();
    [[nodiscard]] std::uint64_t next_deadline();

    PrivilegedParts parts_;
    InterruptControllers& controllers_;
    VmmProcessor& vmm_;
    const Descriptor& woken_;
    std::function<void()> output_came_;
    std::mutex mutex_; // of the next five
    GuestClock clock_;
    OwnDevices own_;
    OwnAccesses own_accesses_;
    std::uint64_t sleeps_until_ = 0;
    bool is_handing_over_ = false; // nothing may happen to the own devices
    std::atomic<bool> vmm_is_active_ = false;
    std::atomic<bool> came_ = false;
};

} // namespace previrt
