// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "tests/unit/start_up/machine.hpp"

#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace previrt::start_up {

// Where comparison_guest.S runs a case.
constexpr std::uint64_t case_segment = 0x20000;
constexpr std::uint64_t case_memory = 0x30000;
constexpr std::uint64_t case_memory_bytes = 0x10400;
constexpr std::uint64_t case_rom = 0xffff0000; // its last 64 KiB, which have the GDT

// A random sequence of instructions that the interpreter executes, with the state before and after.
struct Case {
    static constexpr std::size_t most_code = 216;

    bool has_32_bits; // protected mode, else real-address mode
    std::uint32_t general_before[8];
    std::uint32_t flags_before;
    std::vector<std::uint8_t> code;

    std::uint32_t general[8];
    std::uint32_t flags;
    std::uint64_t undefined; // flags that the manual leaves open
    std::uint32_t sum;       // of the memory
    std::string listing;     // one instruction a line
};

// Makes cases one after another. Each finds the memory that the one before has left.
class CaseMaker {
public:
    // The GDT is at `global_table` of the ROM.
    CaseMaker(std::uint64_t seed, std::span<const std::uint8_t> rom, std::size_t global_table);

    // `leave` is the offset of the code that a case jumps to at its end.
    Case make(bool has_32_bits, std::uint32_t leave);

    [[nodiscard]] std::vector<std::uint8_t> memory();
    // How often each kind of instruction was executed.
    [[nodiscard]] const std::map<std::string, unsigned>& executed() const { return executed_; }

    // For the kinds of instructions.
    std::uint64_t pick(std::uint64_t below) { return random_() % below; }
    bool chance(unsigned percent) { return pick(100) < percent; }
    void put(std::uint64_t byte) { text_.push_back(static_cast<std::uint8_t>(byte)); }
    void put_number(std::uint64_t value, unsigned width);
    std::uint64_t number(); // often one at an edge
    void put_random(unsigned width) { put_number(number(), width); }
    void prefixes(bool may_lock = false, bool may_override = true);
    enum class Form : std::uint8_t { any, reg, memory };
    void mod_rm(std::uint64_t reg, Form form = Form::any);
    void set_register(std::uint64_t number, std::uint32_t value); // by an instruction before
    [[nodiscard]] std::uint32_t value_of(unsigned number) const {
        return static_cast<std::uint32_t>(processor_.general[number]);
    }
    [[nodiscard]] std::uint32_t end() const; // the offset of the next byte
    [[nodiscard]] bool has_32_bits() const { return processor_.is_protected(); }
    [[nodiscard]] bool is_locked() const { return is_locked_; }
    void reads(std::uint64_t flags) { reads_ |= flags; }
    void changes(std::uint64_t defined, std::uint64_t undefined = 0);

    unsigned operand_width = 2;
    unsigned address_width = 2;
    [[nodiscard]] std::uint64_t code_selector() const { return processor_.segments[1].selector; }

private:
    void start(bool has_32_bits);
    void begin();
    void add_instruction();
    bool attempt(unsigned kind);
    bool run_to_end();
    void undo(const StartingProcessor& before);
    void define_flags();
    void address_16(std::uint64_t reg);
    void address_32(std::uint64_t reg);
    std::uint32_t sum();

    std::mt19937_64 random_;
    Machine machine_;
    Surroundings surroundings_;
    DescriptorTable global_table_;
    StartingProcessor processor_{};
    std::vector<std::uint8_t> code_; // that was executed
    std::vector<std::uint8_t> text_; // of the instructions under way
    std::map<std::string, unsigned> executed_;
    std::string listing_;
    bool is_locked_ = false;
    std::uint64_t reads_ = 0;
    std::uint64_t defined_ = 0;
    std::uint64_t newly_undefined_ = 0;
    std::uint64_t undefined_ = 0;
};

// The kinds of instructions, in instruction_kinds.cpp.
struct InstructionKind {
    const char* name;
    void (*emit)(CaseMaker&);
};
std::span<const InstructionKind> instruction_kinds();

} // namespace previrt::start_up
