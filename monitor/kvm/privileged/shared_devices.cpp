// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/kvm/privileged/shared_devices.hpp"

#include "host/input_error.hpp"
#include "monitor/kvm/privileged/last_directory.hpp"
#include "toolchain/image/places.hpp"

#include <algorithm>
#include <cstring>
#include <sys/eventfd.h>
#include <utility>

namespace previrt {

using namespace kvm_privileged;

SharedDevices::SharedDevices(const Descriptor& processor, const PrivilegedParts& parts, const KvmTime& epoch,
                             std::uint64_t guest_memory, InterruptControllers& controllers, VmmProcessor& vmm,
                             const Descriptor& woken, std::function<void()> output_came)
    : parts_(parts), controllers_(controllers), vmm_(vmm), woken_(woken),
      output_came_(std::move(output_came)), clock_(processor, epoch),
      own_(parts.output, parts.input, output_came_),
      own_accesses_(own_, parts.strict, [this] { return now(); }) {
    const std::uint64_t start = clock_.now();
    own_.start(epoch.epoch_nanoseconds + start, guest_memory, start);
    own_.lead_lines_to_kvm();
}

std::uint64_t SharedDevices::now() {
    if (vmm_is_active_) {
        clock_.follow(parts_.mailbox.looked_at);
    }
    return clock_.now();
}

void SharedDevices::look_at_own() {
    const std::uint64_t time = now();
    own_.look(time);
    controllers_.set_lines(own_.lines(), own_.take_rises());
    if (own_.deadline(time) < sleeps_until_) {
        eventfd_write(woken_.number(), 1);
    }
}

bool SharedDevices::access_ports(VirtualProcessor& processor) {
    return vmm_is_active_ ? access_vmm(processor, processor.port_data()) : access_own(processor);
}

bool SharedDevices::access_own(const VirtualProcessor& processor) {
    bool resets = false;
    {
        const std::lock_guard guard(mutex_);
        if (!own_accesses_.access_ports(processor)) {
            return true;
        }
        look_at_own();
        resets = own_.reset_requested();
    }
    return !resets || vmm_.ask({.question = Question::reset}).has_value();
}

// An access by an instruction that is no site.
bool SharedDevices::access_vmm(VirtualProcessor& processor, std::span<std::uint8_t> data) {
    const auto io = processor.exit().io;
    if (io.count != 1 || data.size() != io.size) {
        throw InputError("a string of accesses to port " + hex(io.port) +
                         " by an instruction that is no site," + processor.place());
    }
    const bool is_write = io.direction == KVM_EXIT_IO_OUT;
    VmmQuestion question{.question = is_write ? Question::write_port : Question::read_port,
                         .asker = processor.system_registers(),
                         .address = io.port,
                         .width = io.size};
    if (is_write) {
        std::memcpy(&question.value, data.data(), io.size);
    }
    const std::optional<std::uint64_t> value = vmm_.ask(question);
    if (value && !is_write) {
        std::memcpy(data.data(), &*value, io.size);
    }
    return value.has_value();
}

bool SharedDevices::access_memory(VirtualProcessor& processor) {
    auto& mmio = processor.exit().mmio;
    const bool is_write = mmio.is_write != 0;
    if (!vmm_is_active_) {
        const std::lock_guard guard(mutex_);
        own_accesses_.access_memory(processor);
        return true;
    }
    const std::uint32_t width = std::min<std::uint32_t>(mmio.len, sizeof(std::uint64_t));
    VmmQuestion question{.question = is_write ? Question::write_memory : Question::read_memory,
                         .asker = processor.system_registers(),
                         .address = mmio.phys_addr,
                         .width = width};
    if (is_write) {
        std::memcpy(&question.value, &mmio.data[0], width);
    }
    const std::optional<std::uint64_t> value = vmm_.ask(question);
    if (value && !is_write) {
        std::memcpy(&mmio.data[0], &*value, width);
    }
    return value.has_value();
}

bool SharedDevices::can_activate(const VirtualProcessor& processor) const {
    return !vmm_is_active_ &&
           last_directory_has_room(parts_.ram, processor.system_registers(), parts_.map_tables);
}

bool SharedDevices::activate(VirtualProcessor& processor) {
    processor.finish_instruction();
    {
        const std::lock_guard guard(mutex_);
        look_at_own();
        parts_.mailbox.lines = own_.lines();
        std::memcpy(static_cast<void*>(&parts_.devices), &own_.state(), sizeof(Pc));
        parts_.mailbox.devices = parts_.devices_physical;
        parts_.mailbox.delivered = Cause::none;
        is_handing_over_ = true;
    }
    const bool lives =
        vmm_.ask({.question = Question::activate, .asker = processor.system_registers()}).has_value();
    const std::lock_guard guard(mutex_);
    vmm_is_active_ = true;
    is_handing_over_ = false;
    eventfd_write(woken_.number(), 1); // for the VMM's first deadline
    return lives;
}

bool SharedDevices::attend() {
    bool is_due = came_.exchange(false);
    {
        const std::lock_guard guard(mutex_);
        if (!vmm_is_active_) {
            if (!is_handing_over_) {
                look_at_own();
            }
            return true;
        }
        const std::uint64_t time = now();
        is_due = is_due || parts_.mailbox.deadline <= time;
        if (parts_.mailbox.output_deadline <= time) {
            call_reader();
        }
    }
    return !is_due || vmm_.answer({.question = Question::packets});
}

std::uint64_t SharedDevices::next_deadline() {
    return vmm_is_active_ ? std::min(parts_.mailbox.deadline, parts_.mailbox.output_deadline)
                          : own_.deadline(now());
}

std::uint64_t SharedDevices::begin_sleep() {
    const std::lock_guard guard(mutex_);
    // The VMM writes a deadline, and then looks at the timer.
    std::uint64_t deadline = next_deadline();
    for (;;) {
        sleeps_until_ = deadline;
        std::atomic_ref(parts_.mailbox.timer).store(deadline, std::memory_order_seq_cst);
        const std::uint64_t again = next_deadline();
        if (again >= deadline) {
            break;
        }
        deadline = again;
    }
    const std::uint64_t time = now();
    return came_ || deadline <= time ? 0 : deadline - time;
}

void SharedDevices::end_sleep() {
    const std::lock_guard guard(mutex_);
    sleeps_until_ = 0;
    std::atomic_ref(parts_.mailbox.timer).store(0, std::memory_order_seq_cst);
}

void SharedDevices::call_reader() {
    if (parts_.mailbox.output_deadline != never) {
        parts_.mailbox.output_deadline = never;
        output_came_();
    }
}

} // namespace previrt
