// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/kvm/privileged/contract/mailbox.hpp"
#include "devices/platform/pc.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace previrt {

// The devices' interrupts, for the processor. The model of the devices is the monitor's or the VMM's.
class Devices {
public:
    Devices() = default;
    Devices(const Devices&) = delete;
    Devices& operator=(const Devices&) = delete;
    virtual ~Devices() = default;

    // Brings the devices up to this time and input.
    virtual void look(std::uint64_t now) = 0;
    // As of the last look.
    [[nodiscard]] virtual bool interrupt_requested() const = 0;
    // INTA: the vector.
    virtual std::uint8_t acknowledge() = 0;
    // The latest time of the next look. `now`: of the last look.
    [[nodiscard]] virtual std::uint64_t deadline(std::uint64_t now) const = 0;
};

// The monitor's own model, used until the VMM is in the guest, or always if there is to be none.
class OwnDevices : public Devices {
public:
    OwnDevices(monitored::ConsoleRing& output, monitored::ConsoleRing& input,
               std::function<void()> output_came);

    void start(std::uint64_t since_1970, std::uint64_t memory_bytes, std::uint64_t now);
    // After start(): KVM has the interrupt controllers.
    void lead_lines_to_kvm() { pc_.lead_lines_elsewhere(); }
    [[nodiscard]] std::uint32_t lines() const { return pc_.lines(); }
    // The lines that have risen since the last call, although they may be as before.
    [[nodiscard]] std::uint32_t take_rises() {
        return std::exchange(told_timer_edges_, pc_.timer_edges) != pc_.timer_edges ? 1U << Pc::timer_irq : 0;
    }
    void look(std::uint64_t now) override;
    [[nodiscard]] bool interrupt_requested() const override;
    std::uint8_t acknowledge() override;
    [[nodiscard]] std::uint64_t deadline(std::uint64_t now) const override;

    // nullopt, false: nothing is modelled there.
    [[nodiscard]] std::optional<std::uint32_t> read(std::uint16_t port, unsigned width, std::uint64_t now);
    [[nodiscard]] bool write(std::uint16_t port, unsigned width, std::uint32_t value, std::uint64_t now);
    // A device at this port is modelled only in part; otherwise no device claims the port.
    [[nodiscard]] bool claims_port(std::uint16_t port, unsigned width) const {
        return pc_.claims_port(port, width);
    }
    [[nodiscard]] bool claims_memory(std::uint64_t address, std::uint64_t bytes) const {
        return pc_.claims_memory(address, bytes);
    }
    [[nodiscard]] bool reset_requested() const { return pc_.request == Request::reset; }

    [[nodiscard]] const Pc& state() const { return pc_; }

private:
    void take_input();
    void give_output();

    Pc pc_;
    std::uint64_t told_timer_edges_ = 0;
    monitored::ConsoleRing& output_;
    monitored::ConsoleRing& input_;
    std::function<void()> output_came_;
};

// The VMM's devices, by its predictions in the mailbox. It learns of an interrupt at its next look.
class VmmDevices : public Devices {
public:
    VmmDevices(kvm_privileged::Mailbox& mailbox, monitored::ConsoleRing& input);

    void look(std::uint64_t now) override;
    [[nodiscard]] bool interrupt_requested() const override;
    std::uint8_t acknowledge() override;
    [[nodiscard]] std::uint64_t deadline(std::uint64_t now) const override;

private:
    kvm_privileged::Mailbox& mailbox_;
    monitored::ConsoleRing& input_;
    kvm_privileged::Cause cause_ = kvm_privileged::Cause::none;
    std::uint8_t vector_ = 0;
    std::uint64_t last_deadline_ = 0;
    std::uint64_t period_ = 0;
};

} // namespace previrt
