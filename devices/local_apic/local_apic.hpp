// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/local_apic/apic_registers.hpp"
#include "devices/local_apic/apic_timer.hpp"
#include "devices/local_apic/interrupt_message.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace previrt {

// One processor's local APIC: registers in memory, no x2APIC. Before start() there is none.
struct LocalApic {
    std::uint64_t base = 0; // IA32_APIC_BASE
    std::uint32_t id = 0;
    std::uint32_t task_priority = 0;
    std::uint32_t logical_destination = 0;
    std::uint32_t destination_format = 0;
    std::uint32_t spurious_vector = 0;
    std::uint32_t errors = 0;     // as ESR reads
    std::uint32_t new_errors = 0; // since ESR was written
    std::uint32_t command_low = 0;
    std::uint32_t command_high = 0;
    std::array<std::uint32_t, local_vector_count> local_vectors{};
    std::array<std::uint32_t, 8> requests{};   // IRR
    std::array<std::uint32_t, 8> in_service{}; // ISR
    std::array<std::uint32_t, 8> triggers{};   // TMR: 1 is level
    ApicTimer timer{};
    // Requests to the processor. It clears each of them when it serves it.
    bool nmi_requested = false;
    bool reset_requested = false; // by INIT
    bool waits_for_start = false; // between INIT and the start message (SIPI)
    bool start_requested = false;
    std::uint8_t start_vector = 0; // execution begins at this page

    static constexpr std::uint64_t place = 0xfee00000;
    static constexpr std::uint64_t place_bytes = 0x1000;

    // As firmware leaves the boot processor's: on, passing the 8259s' interrupts, NMIs at LINT1. The other
    // processors' are as after INIT, and the processors wait for their start.
    void start(std::uint8_t number, bool is_boot_processor);

    // By IA32_APIC_BASE: CPUID says the same.
    [[nodiscard]] bool is_enabled() const { return (base & base_enabled) != 0; }
    // nullopt, false: not modelled, and the VMM must stop the guest. Registers are accessed as a whole.
    // Writes to two registers have a second part: command() and end_interrupt().
    std::optional<std::uint32_t> read(std::uint64_t offset, std::uint64_t now);
    bool write(std::uint64_t offset, std::uint32_t value, std::uint64_t now);
    // The message of the command that was written. nullopt: there is none to send.
    std::optional<InterruptMessage> command();
    // The end of the highest interrupt in service. Its vector, if it is level triggered.
    std::optional<std::uint8_t> end_interrupt();

    // Whether a message with an address is for this APIC.
    [[nodiscard]] bool is_addressed(const InterruptMessage& message) const;
    // A message for this APIC. False: not modelled.
    bool receive(const InterruptMessage& message);

    // IA32_APIC_BASE.
    enum class BaseWrite : std::uint8_t { done, refused, not_modelled }; // refused: #GP
    BaseWrite write_base(std::uint64_t value);
    // IA32_TSC_DEADLINE: `due` is the time at which the counter reads it.
    [[nodiscard]] std::uint64_t deadline() const { return timer.deadline; }
    void write_deadline(std::uint64_t deadline, std::uint64_t due);

    // INTR of the 8259s reaches the processor.
    [[nodiscard]] bool passes_external() const;

    // Brings the timer up to `now`.
    void advance(std::uint64_t now);
    // The time of its next interrupt.
    [[nodiscard]] std::optional<std::uint64_t> next_event() const;

    [[nodiscard]] bool has_request() const { // of whatever priority
        const auto words = std::bit_cast<std::array<std::uint64_t, 4>>(requests);
        return (words[0] | words[1] | words[2] | words[3]) != 0;
    }
    [[nodiscard]] std::optional<std::uint8_t> highest_request() const; // above the processor's priority
    std::uint8_t acknowledge();                                        // the vector is in service
    [[nodiscard]] std::uint32_t processor_priority() const;

private:
    [[nodiscard]] bool is_on() const { return (spurious_vector & spurious_vector_on) != 0; }
    [[nodiscard]] std::uint32_t& local_vector(LocalVector which) { return local_vectors[which]; }
    void reset();
    void request(std::uint8_t vector, bool is_level_triggered = false);
    void note_error(std::uint32_t error);
    void write_spurious_vector(std::uint32_t value);
    bool write_local_vector(LocalVector which, std::uint32_t value);
    [[nodiscard]] std::optional<std::uint32_t> read_register(std::uint64_t offset, std::uint64_t now) const;
};

static_assert(std::is_trivially_copyable_v<LocalApic>);

} // namespace previrt
