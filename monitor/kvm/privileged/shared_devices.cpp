// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/kvm/privileged/shared_devices.hpp"

#include "frontends/x86/devices/port_access.hpp"
#include "host/input_error.hpp"
#include "monitor/kvm/privileged/last_directory.hpp"
#include "toolchain/image/places.hpp"

#include <algorithm>
#include <cstring>
#include <iostream>
#include <sys/eventfd.h>
#include <utility>

namespace previrt {

using namespace kvm_privileged;

SharedDevices::SharedDevices(const Descriptor& processor, const PrivilegedParts& parts, const KvmTime& epoch,
                             std::uint64_t guest_memory, InterruptControllers& controllers, VmmProcessor& vmm,
                             const Descriptor& woken, std::function<void()> output_came)
    : parts_(parts), controllers_(controllers), vmm_(vmm), woken_(woken),
      output_came_(std::move(output_came)), clock_(processor, epoch),
      own_(parts.output, parts.input, output_came_) {
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

// Once for each address, and for few: the guest chooses them.
void SharedDevices::tell_of_floating(const std::string& place) {
    constexpr std::size_t most_told = 16;
    if (told_places_.size() < most_told && told_places_.insert(place).second) {
        std::cerr << "previrt: no device claims the " + place + ": reads are all ones, writes are lost\n";
    }
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
    const std::span<std::uint8_t> data = processor.port_data();
    return vmm_is_active_ ? access_vmm(processor, data) : access_own(processor, data);
}

bool SharedDevices::access_own(VirtualProcessor& processor, std::span<std::uint8_t> data) {
    const auto io = processor.exit().io;
    const bool is_write = io.direction == KVM_EXIT_IO_OUT;
    bool resets = false;
    {
        const std::lock_guard guard(mutex_);
        if (!parts_.strict && !own_.claims_port(io.port, io.size)) {
            tell_of_floating("port " + hex(io.port));
            if (!is_write) {
                std::ranges::fill(data, std::uint8_t{0xff});
            }
            return true;
        }
        for (std::size_t i = 0; i + io.size <= data.size(); i += io.size) {
            std::uint32_t value = 0;
            if (is_write) {
                std::memcpy(&value, &data[i], io.size);
                if (!own_.write(io.port, io.size, value, now())) {
                    throw InputError("a write to port " + hex(io.port) + ", which is not modelled," +
                                     processor.place());
                }
            } else {
                const std::optional<std::uint32_t> got = own_.read(io.port, io.size, now());
                if (!got) {
                    throw InputError("a read of port " + hex(io.port) + ", which is not modelled," +
                                     processor.place());
                }
                std::memcpy(&data[i], &*got, io.size);
            }
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
        if (parts_.strict || own_.claims_memory(mmio.phys_addr, mmio.len)) {
            throw InputError(std::string(is_write ? "a write to" : "a read from") + " physical address " +
                             hex(mmio.phys_addr) + ", where nothing is," + processor.place());
        }
        tell_of_floating("page of memory at " + hex(mmio.phys_addr & ~std::uint64_t{0xfff}));
        if (!is_write) {
            std::ranges::fill(mmio.data, std::uint8_t{0xff});
        }
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
