// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/processor/segment_registers.hpp"
#include "frontends/x86/start_up/interpreter.hpp"
#include "frontends/x86/start_up/starting_processor.hpp"
#include "frontends/x86/start_up/surroundings.hpp"

#include <cstdint>
#include <optional>

namespace previrt::start_up {

// Beside those of RFlags.
constexpr std::uint64_t flag_parity = 1U << 2U;
constexpr std::uint64_t flag_adjust = 1U << 4U;
constexpr std::uint64_t flag_sign = 1U << 7U;
constexpr std::uint64_t flag_overflow = 1U << 11U;

constexpr std::uint64_t bit_if(bool is_set, std::uint64_t bit) {
    return is_set ? bit : 0;
}

enum class Repeat : std::uint8_t { none, while_equal, while_different };

struct Address {
    std::uint8_t segment;
    std::uint32_t offset;
};

// A register or a place in memory.
struct Operand {
    bool is_memory;
    std::uint8_t number; // of the register
    Address address;
};

struct ModRm {
    std::uint8_t reg;
    Operand rm;
};

// One instruction under way. After a failure its reads give 0, and nothing outside the processor changes any
// more: so instructions need not look after each part whether it has failed.
class Execution {
public:
    Execution(StartingProcessor& of, const Surroundings& in);

    StartingProcessor& processor;
    const Surroundings& surroundings;

    // The prefixes, and what they and the code segment make of the instruction.
    Repeat repeat = Repeat::none;
    bool is_locked = false;
    unsigned operand_width; // 2 or 4
    unsigned address_width; // 2 or 4
    std::uint8_t opcode = 0;

    // The instruction that follows, which jumps change.
    std::uint32_t next;

    void read_prefixes_and_opcode();
    void read_second_opcode() { opcode = code_byte(); }

    [[nodiscard]] Ending ending() const { return ending_; }
    [[nodiscard]] bool failed() const { return ending_ == Ending::fault || ending_ == Ending::refused; }
    void fault(std::uint8_t vector, const char* reason);
    void refuse(const char* reason);
    void end(Ending ending);
    // Another processor was faster at a locked instruction: it has no effect, and is to be tried again.
    [[nodiscard]] bool is_to_repeat() const { return is_to_repeat_; }
    // What must be so of a lock prefix at the end.
    void check_lock();
    void fill(Report& report) const;

    // The instruction's bytes in order.
    std::uint8_t code_byte();
    std::uint32_t code_number(unsigned width);
    std::uint32_t code_signed_byte(); // sign-extended
    ModRm mod_rm();
    Address direct_address(); // moffs
    [[nodiscard]] std::uint8_t data_segment(std::uint8_t usual) const { return override_.value_or(usual); }

    // 1 for an even opcode, else the operand's.
    [[nodiscard]] unsigned width() const { return (opcode & 1U) != 0 ? operand_width : 1; }

    // 4 to 7 are AH, CH, DH and BH if one byte is wanted.
    [[nodiscard]] std::uint32_t read_register(unsigned number, unsigned width) const;
    void write_register(unsigned number, std::uint32_t value, unsigned width);
    void add_to_register(unsigned number, std::uint32_t addend, unsigned width);
    [[nodiscard]] bool flag(std::uint64_t which) const { return (processor.rflags & which) != 0; }
    void set_flags(std::uint64_t value, std::uint64_t which);
    [[nodiscard]] bool condition(unsigned code) const; // the low four bits of jcc, setcc and cmovcc

    // `width` is 1, 2 or 4.
    std::uint32_t load(Address address, unsigned width);
    void store(Address address, std::uint32_t value, unsigned width);
    std::uint32_t load(const Operand& operand, unsigned width);
    void store(const Operand& operand, std::uint32_t value, unsigned width);
    // The second half of a read and write, atomic if there is a lock prefix.
    void replace(const Operand& operand, std::uint32_t before, std::uint32_t after, unsigned width);
    // The part of an operand in memory that is `distance` bytes further on.
    [[nodiscard]] Address behind(Address address, std::uint32_t distance) const;

    [[nodiscard]] std::uint32_t stack_width() const;
    void push(std::uint32_t value, unsigned width);
    std::uint32_t pop(unsigned width);

    // Jumps within the code segment.
    void jump(std::uint32_t offset);

    // Linear addresses: of descriptor tables.
    std::uint64_t load_linear(std::uint64_t linear); // 8 bytes
    void store_linear(std::uint64_t linear, std::uint8_t byte);

private:
    bool fill_code();
    bool take_prefix(std::uint8_t byte);
    std::optional<std::uint64_t> to_linear(Address address, unsigned width, Access access);
    Address address_16(std::uint8_t mod, std::uint8_t rm);
    Address address_32(std::uint8_t mod, std::uint8_t rm);

    const char* reason_ = nullptr;
    std::optional<std::uint8_t> override_;
    Ending ending_ = Ending::going_on;
    std::uint8_t vector_ = 0;
    bool is_to_repeat_ = false;
    bool was_locked_ = false;
    std::uint8_t code_[15] = {};
    std::uint8_t code_read_ = 0; // of the bytes that memory gave
    std::uint8_t length_ = 0;    // of the instruction so far
};

} // namespace previrt::start_up
