// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/local_apic/apic_registers.hpp"
#include "devices/local_apic/apic_timer.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace previrt {

// The local APIC of a machine's only processor: registers in memory, no x2APIC. Before start() there is none.
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
    ApicTimer timer{};

    static constexpr std::uint64_t place = 0xfee00000;
    static constexpr std::uint64_t place_bytes = 0x1000;

    // As firmware leaves it: on, passing the 8259s' interrupts, NMIs at LINT1.
    void start();

    // By IA32_APIC_BASE: CPUID says the same.
    [[nodiscard]] bool is_enabled() const { return (base & base_enabled) != 0; }
    // nullopt, false: not modelled, and the VMM must stop the guest. Registers are accessed as a whole.
    std::optional<std::uint32_t> read(std::uint64_t offset, std::uint64_t now);
    bool write(std::uint64_t offset, std::uint32_t value, std::uint64_t now);

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

private:
    [[nodiscard]] bool is_on() const { return (spurious_vector & spurious_vector_on) != 0; }
    [[nodiscard]] std::uint32_t processor_priority() const;
    [[nodiscard]] bool is_addressed() const;
    [[nodiscard]] std::uint32_t& local_vector(LocalVector which) { return local_vectors[which]; }
    void reset();
    void request(std::uint8_t vector);
    void note_error(std::uint32_t error);
    void end_interrupt();
    void write_spurious_vector(std::uint32_t value);
    bool write_local_vector(LocalVector which, std::uint32_t value);
    bool send(std::uint32_t command);
    [[nodiscard]] std::optional<std::uint32_t> read_register(std::uint64_t offset, std::uint64_t now) const;
};

static_assert(std::is_trivially_copyable_v<LocalApic>);

} // namespace previrt
