// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace previrt {

// A descriptor of the guest's GDT or LDT.
struct Descriptor {
    std::uint64_t low;
    std::uint64_t high; // for 16-byte system descriptors

    [[nodiscard]] bool present() const { return ((low >> 47U) & 1U) != 0; }
    [[nodiscard]] unsigned privilege() const { return static_cast<unsigned>(low >> 45U) & 3U; }
    [[nodiscard]] bool is_system() const { return ((low >> 44U) & 1U) == 0; }
    [[nodiscard]] unsigned type() const { return static_cast<unsigned>(low >> 40U) & 15U; }
    [[nodiscard]] bool is_code() const { return !is_system() && (type() & 8U) != 0; }
    [[nodiscard]] bool is_conforming() const { return is_code() && (type() & 4U) != 0; }
    [[nodiscard]] bool is_readable() const { return !is_system() && (!is_code() || (type() & 2U) != 0); }
    [[nodiscard]] bool is_writable() const { return !is_system() && !is_code() && (type() & 2U) != 0; }
    [[nodiscard]] bool is_long_code() const { return is_code() && ((low >> 53U) & 3U) == 1; } // L, not D
    [[nodiscard]] std::uint64_t base() const {
        const std::uint64_t base = ((low >> 16U) & 0xffffffU) | ((low >> 32U) & 0xff000000U);
        return is_system() ? base | (high << 32U) : base;
    }
    [[nodiscard]] std::uint32_t limit() const { // in bytes
        const auto limit = static_cast<std::uint32_t>((low & 0xffffU) | ((low >> 32U) & 0xf0000U));
        return ((low >> 55U) & 1U) != 0 ? (limit << 12U) | 0xfffU : limit;
    }
};

enum SystemType : std::uint8_t { type_ldt = 2, type_task_available = 9, type_task_busy = 11 };

constexpr std::uint32_t selector_error(std::uint16_t selector) {
    return selector & 0xfffcU;
}
constexpr bool is_null(std::uint16_t selector) {
    return (selector & 0xfffcU) == 0;
}

enum class Lookup : std::uint8_t {
    found,
    outside, // beyond the table's limit
    faulted, // reading it raised an exception
};

// The guest's GDT, without a walk of page tables. Empty: its memory is not known, or not whole and aligned.
std::span<const std::uint64_t> known_global_table();

Lookup read_descriptor(std::uint16_t selector, Descriptor& descriptor);

// The code that runs.
bool is_64_bit_code();

// The code segment of a transfer to `selector`, at an unchanged or outer level. nullopt: an exception is
// raised.
std::optional<Descriptor> read_code_segment(std::uint16_t selector, unsigned privilege);

// mov to, pop, lds and kin. False: an exception is raised.
bool load_data_segment(unsigned segment, std::uint16_t selector);
bool load_stack_segment(std::uint16_t selector);
bool load_local_table(std::uint16_t selector);
bool load_task_register(std::uint16_t selector);
void load_global_table(std::uint64_t base, std::uint16_t limit);

// Rereads a table after the guest may have written to it. True: it had changed.
bool follow_global_table();
bool follow_local_table();

// lar, lsl, verr, verw: nullopt or false if ZF would be clear.
std::optional<std::uint32_t> access_rights(std::uint16_t selector);
std::optional<std::uint32_t> segment_limit(std::uint16_t selector);
bool may_read_segment(std::uint16_t selector);
bool may_write_segment(std::uint16_t selector);

// The guest's value of a segment register.
std::uint16_t guest_selector(unsigned segment);
// Nulls segment registers that user mode must not inherit.
void drop_kernel_segments();

} // namespace previrt
