// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/start_up/random_case.hpp"

#include "frontends/x86/instructions/arithmetic.hpp"
#include "frontends/x86/processor/segment_registers.hpp"
#include "frontends/x86/start_up/interpreter.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

namespace previrt::start_up {

namespace {

constexpr std::uint16_t table_limit = 0x57;
constexpr std::uint32_t highest_offset = 0xfffc;
constexpr std::uint32_t stub_offset = 0x400; // at least: beyond all code

std::string hexadecimal(std::span<const std::uint8_t> bytes) {
    constexpr const char* digits = "0123456789abcdef";
    std::string text;
    for (const std::uint8_t byte : bytes) {
        text += digits[byte >> 4U];
        text += digits[byte & 15U];
        text += ' ';
    }
    return text;
}

} // namespace

CaseMaker::CaseMaker(std::uint64_t seed, std::span<const std::uint8_t> rom, std::size_t global_table)
    : random_(seed), surroundings_(machine_.surroundings()),
      global_table_{.base = case_rom + global_table, .limit = table_limit} {
    machine_.add({.base = case_segment,
                  .holds_code = true,
                  .holds_data = false,
                  .is_writable = false,
                  .bytes = std::vector<std::uint8_t>(stub_offset)});
    Machine::Area& memory = machine_.add({.base = case_memory,
                                          .holds_code = false,
                                          .holds_data = true,
                                          .is_writable = true,
                                          .bytes = std::vector<std::uint8_t>(case_memory_bytes)});
    std::ranges::generate(memory.bytes, [this] { return static_cast<std::uint8_t>(random_()); });
    machine_.add({.base = case_rom,
                  .holds_code = false,
                  .holds_data = true,
                  .is_writable = false,
                  .bytes = {rom.begin(), rom.end()}});
}

std::vector<std::uint8_t> CaseMaker::memory() {
    const std::uint8_t* const bytes = machine_.find(case_memory, case_memory_bytes, Access::read);
    return {bytes, bytes + case_memory_bytes};
}

std::uint32_t CaseMaker::sum() {
    const std::uint8_t* const bytes = machine_.find(case_memory, case_memory_bytes, Access::read);
    std::uint32_t sum = 0;
    for (std::uint64_t at = 0; at < case_memory_bytes; at += 4) {
        std::uint32_t word = 0;
        std::memcpy(&word, bytes + at, sizeof(word));
        sum = std::rotl(sum, 1) + word;
    }
    return sum;
}

std::uint64_t CaseMaker::number() {
    constexpr std::uint64_t edges[] = {0,      1,      2,      0x7f,       0x80,       0xff,
                                       0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff};
    return chance(30) ? edges[pick(std::size(edges))] : random_() >> pick(64);
}

void CaseMaker::put_number(std::uint64_t value, unsigned width) {
    for (unsigned i = 0; i < width; ++i) {
        put((value >> (8 * i)) & 0xffU);
    }
}

// As comparison_guest.S sets it.
void CaseMaker::start(bool has_32_bits) {
    constexpr std::uint32_t most_flags = 0xcd5; // no TF
    processor_ = after_start_up(0, 0);
    processor_.cr0 = has_32_bits ? cr0_pe | cr0_et : std::uint64_t{cr0_et};
    processor_.gdt = global_table_;
    constexpr unsigned offsets[6] = {0x100, 0, 0x200, 0, 0x300, 0x400};
    constexpr std::uint16_t selectors[6] = {0x28, 0x18, 0x30, 0x20, 0x38, 0x40};
    for (unsigned i = 0; i < 6; ++i) {
        Segment& segment = processor_.segments[i];
        segment.base = (i == segment_cs ? case_segment : case_memory) + offsets[i];
        segment.selector = has_32_bits ? selectors[i] : static_cast<std::uint16_t>(segment.base >> 4U);
        if (has_32_bits) {
            segment.limit = ~std::uint32_t{0};
            segment.attributes |= attribute_big | attribute_pages | (i == segment_cs ? attribute_code : 0);
        }
    }
    for (std::uint64_t& value : processor_.general) {
        value = 0;
    }
    for (unsigned i = 0; i < 8; ++i) {
        processor_.general[i] = chance(50) ? pick(0x8000) : number() & 0xffffffffU;
    }
    processor_.general[rsp] = 0x1000 + (2 * pick(0x6000)) + (has_32_bits ? 0 : number() << 16U & 0xffff0000U);
    processor_.rflags = (random_() & most_flags) | flag_reserved_one;
}

std::uint32_t CaseMaker::end() const {
    return static_cast<std::uint32_t>(code_.size() + text_.size());
}

void CaseMaker::begin() {
    const unsigned width = has_32_bits() ? 4 : 2;
    operand_width = width;
    address_width = width;
    is_locked_ = false;
}

void CaseMaker::prefixes(bool may_lock, bool may_override) {
    constexpr std::uint8_t overrides[] = {0x26, 0x36, 0x3e, 0x64, 0x65};
    begin();
    std::uint8_t chosen[4] = {};
    std::size_t count = 0;
    if (chance(35)) {
        chosen[count++] = 0x66;
        operand_width = 6 - operand_width;
    }
    if (chance(25)) {
        chosen[count++] = 0x67;
        address_width = 6 - address_width;
    }
    if (may_override && chance(25)) {
        chosen[count++] = overrides[pick(std::size(overrides))];
    }
    if (may_lock && chance(25)) {
        chosen[count++] = 0xf0;
        is_locked_ = true;
    }
    const auto all = std::span(chosen).first(count);
    std::ranges::shuffle(all, random_);
    text_.insert(text_.end(), all.begin(), all.end());
}

void CaseMaker::set_register(std::uint64_t number, std::uint32_t value) {
    begin();
    if (!has_32_bits()) {
        put(0x66);
    }
    put(0xb8 + number);
    put_number(value, 4);
}

void CaseMaker::mod_rm(std::uint64_t reg, Form form) {
    if (is_locked_) {
        form = Form::memory;
    }
    if (form == Form::reg || (form == Form::any && chance(40))) {
        put(0xc0U | (reg << 3U) | pick(8));
    } else if (address_width == 2) {
        address_16(reg);
    } else {
        address_32(reg);
    }
}

void CaseMaker::address_16(std::uint64_t reg) {
    const std::uint64_t mod = pick(3);
    const std::uint64_t rm = pick(8);
    put((mod << 6U) | (reg << 3U) | rm);
    if (mod == 0 && rm == 6) {
        put_number(pick(highest_offset), 2);
    } else {
        put_random(static_cast<unsigned>(mod));
    }
}

// With four bytes of displacement, all registers give an offset in the memory.
void CaseMaker::address_32(std::uint64_t reg) {
    const std::uint64_t mod = chance(60) ? 2 : pick(3);
    std::uint64_t rm = pick(8);
    const std::uint64_t target = pick(highest_offset);
    put((mod << 6U) | (reg << 3U) | rm);
    std::uint64_t rest = target;
    if (rm == rsp) {
        const std::uint64_t scale = pick(4);
        const std::uint64_t index = pick(8);
        rm = pick(8);
        put((scale << 6U) | (index << 3U) | rm);
        if (index != rsp) {
            rest -= std::uint64_t{value_of(static_cast<unsigned>(index))} << scale;
        }
    }
    if (mod == 0 && rm == rbp) {
        put_number(rest, 4);
        return;
    }
    rest -= value_of(static_cast<unsigned>(rm));
    if (mod == 1) {
        put_random(1);
    } else if (mod == 2) {
        put_number(rest, 4);
    }
}

void CaseMaker::changes(std::uint64_t defined, std::uint64_t undefined) {
    defined_ = defined;
    newly_undefined_ = undefined;
}

bool CaseMaker::run_to_end() {
    constexpr unsigned most_steps = 200;
    std::vector<std::uint8_t> all = code_;
    all.insert(all.end(), text_.begin(), text_.end());
    machine_.put(case_segment, all);
    for (unsigned i = 0; i < most_steps; ++i) {
        if (processor_.rip == all.size()) {
            return true;
        }
        const Report report = run(processor_, surroundings_, 1);
        if (report.ending != Ending::going_on) {
            return false;
        }
    }
    return false;
}

void CaseMaker::undo(const StartingProcessor& before) {
    processor_ = before;
    for (auto write = machine_.journal.rbegin(); write != machine_.journal.rend(); ++write) {
        *machine_.find(write->first, 1, Access::write) = write->second;
    }
}

// cmp $number, %al: for an instruction that reads flags which are undefined now.
void CaseMaker::define_flags() {
    text_.clear();
    put(0x3c);
    put_random(1);
    if (!run_to_end()) {
        throw std::logic_error("the interpreter refuses cmp");
    }
    code_.insert(code_.end(), text_.begin(), text_.end());
    listing_ += hexadecimal(text_) + " (defines the flags)\n";
    text_.clear();
    undefined_ = 0;
}

bool CaseMaker::attempt(unsigned kind) {
    constexpr std::size_t room_to_leave = 8;
    const StartingProcessor before = processor_;
    machine_.journal.clear();
    text_.clear();
    reads_ = 0;
    changes(0);
    begin();
    instruction_kinds()[kind].emit(*this);
    if ((reads_ & undefined_) != 0) {
        define_flags();
        return false; // its offsets were for another place
    }
    if (code_.size() + text_.size() + room_to_leave > Case::most_code || !run_to_end()) {
        undo(before);
        return false;
    }
    undefined_ = (undefined_ & ~defined_) | newly_undefined_;
    code_.insert(code_.end(), text_.begin(), text_.end());
    listing_ += hexadecimal(text_) + " " + instruction_kinds()[kind].name + "\n";
    ++executed_[instruction_kinds()[kind].name];
    return true;
}

void CaseMaker::add_instruction() {
    constexpr unsigned most_attempts = 20;
    for (unsigned i = 0; i < most_attempts; ++i) {
        if (attempt(static_cast<unsigned>(pick(instruction_kinds().size())))) {
            return;
        }
    }
}

Case CaseMaker::make(bool has_32_bits, std::uint32_t leave) {
    start(has_32_bits);
    code_.clear();
    listing_.clear();
    undefined_ = 0;
    Case made{};
    made.has_32_bits = has_32_bits;
    made.flags_before = static_cast<std::uint32_t>(processor_.rflags);
    std::ranges::transform(std::span(processor_.general).first(8), made.general_before,
                           [](std::uint64_t value) { return static_cast<std::uint32_t>(value); });
    const std::uint64_t instructions = 4 + pick(16);
    for (std::uint64_t i = 0; i < instructions; ++i) {
        add_instruction();
    }
    std::ranges::transform(std::span(processor_.general).first(8), made.general,
                           [](std::uint64_t value) { return static_cast<std::uint32_t>(value); });
    made.flags = static_cast<std::uint32_t>(processor_.rflags);
    made.undefined = undefined_;
    made.sum = sum();
    made.listing = listing_;
    text_.clear();
    put(0xe9);
    const unsigned width = has_32_bits ? 4 : 2;
    put_number(leave - (code_.size() + 1 + width), width);
    code_.insert(code_.end(), text_.begin(), text_.end());
    made.code = code_;
    return made;
}

} // namespace previrt::start_up
