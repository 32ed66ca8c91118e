// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/start_up/execution.hpp"

#include "frontends/x86/start_up/segmentation.hpp"

#include <algorithm>

namespace previrt::start_up {

namespace {

constexpr std::uint64_t address_bits = 0xffffffff;
constexpr std::uint64_t page = 4096;

constexpr std::uint32_t mask_of(unsigned width) {
    return width == 4 ? ~std::uint32_t{0} : (std::uint32_t{1} << (8 * width)) - 1;
}

std::uint32_t number_of(std::span<const std::uint8_t> bytes) {
    std::uint32_t number = 0;
    for (std::size_t i = bytes.size(); i != 0; --i) {
        number = (number << 8U) | bytes[i - 1];
    }
    return number;
}

bool may_access(const Segment& segment, Access access) {
    const bool is_code = segment.has(attribute_code);
    const bool is_writable = segment.has(attribute_writable);
    switch (access) {
    case Access::fetch:
        return true;
    case Access::read:
        return !is_code || is_writable;
    case Access::write:
        break;
    }
    return !is_code && is_writable;
}

} // namespace

Execution::Execution(StartingProcessor& of, const Surroundings& in)
    : processor(of), surroundings(in), operand_width(of.segments[segment_cs].has(attribute_big) ? 4 : 2),
      address_width(operand_width), next(static_cast<std::uint32_t>(of.rip)) {}

void Execution::fault(std::uint8_t vector, const char* reason) {
    if (!failed()) {
        ending_ = Ending::fault;
        vector_ = vector;
        reason_ = reason;
    }
}

void Execution::refuse(const char* reason) {
    if (!failed()) {
        ending_ = Ending::refused;
        reason_ = reason;
    }
}

void Execution::end(Ending ending) {
    if (!failed()) {
        ending_ = ending;
    }
}

void Execution::check_lock() {
    if (is_locked && !was_locked_) {
        fault(invalid_opcode, "a lock prefix before an instruction that takes none");
    }
}

void Execution::fill(Report& report) const {
    report.reason = reason_;
    report.vector = vector_;
    std::ranges::copy(code_, report.bytes);
    report.byte_count = code_read_;
}

// Reads on to the end of the page, the segment or the longest instruction, whichever comes first.
bool Execution::fill_code() {
    const Segment& code = processor.segments[segment_cs];
    const auto offset = static_cast<std::uint32_t>(processor.rip + length_);
    if (offset < length_ || offset > code.limit) {
        fault(general_protection, "the instruction reaches past the limit of CS");
        return false;
    }
    const std::uint64_t linear = (code.base + offset) & address_bits;
    const std::uint64_t in_page = page - (linear % page);
    const std::uint64_t in_segment = std::uint64_t{code.limit} - offset + 1;
    const std::uint64_t wanted = sizeof(code_) - length_;
    const auto bytes = static_cast<std::size_t>(std::min({wanted, in_page, in_segment}));
    if (!surroundings.read(surroundings.context, processor, linear, std::span(code_).subspan(length_, bytes),
                           Access::fetch)) {
        std::ranges::fill(std::span(code_).subspan(length_), std::uint8_t{0});
        fault(page_fault, "the instruction is in memory that cannot be read");
        return false;
    }
    code_read_ = static_cast<std::uint8_t>(length_ + bytes);
    return true;
}

std::uint8_t Execution::code_byte() {
    if (failed()) {
        return 0;
    }
    if (length_ == sizeof(code_)) {
        fault(general_protection, "the instruction is longer than 15 bytes");
        return 0;
    }
    if (length_ == code_read_ && !fill_code()) {
        return 0;
    }
    ++next;
    return code_[length_++];
}

std::uint32_t Execution::code_number(unsigned width) {
    std::uint8_t bytes[4] = {};
    const auto wanted = std::span(bytes).first(width);
    for (std::uint8_t& byte : wanted) {
        byte = code_byte();
    }
    return number_of(wanted);
}

std::uint32_t Execution::code_signed_byte() {
    return static_cast<std::uint32_t>(static_cast<std::int8_t>(code_byte()));
}

bool Execution::take_prefix(std::uint8_t byte) {
    const bool has_32_bits = processor.segments[segment_cs].has(attribute_big);
    switch (byte) {
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
        override_ = static_cast<std::uint8_t>((byte >> 3U) & 3U);
        return true;
    case 0x64:
    case 0x65:
        override_ = byte == 0x64 ? segment_fs : segment_gs;
        return true;
    case 0x66:
        operand_width = has_32_bits ? 2 : 4;
        return true;
    case 0x67:
        address_width = has_32_bits ? 2 : 4;
        return true;
    case 0xf0:
        is_locked = true;
        return true;
    case 0xf2:
    case 0xf3:
        repeat = byte == 0xf3 ? Repeat::while_equal : Repeat::while_different;
        return true;
    default:
        return false;
    }
}

void Execution::read_prefixes_and_opcode() {
    do {
        opcode = code_byte();
    } while (!failed() && take_prefix(opcode));
}

namespace {

struct Bases {
    std::uint8_t base;
    std::uint8_t index;
};
constexpr std::uint8_t no_register = 16;

// Of 16-bit addresses, by ModRM.rm.
constexpr Bases bases_16[8] = {{rbx, rsi},         {rbx, rdi},         {rbp, rsi},
                               {rbp, rdi},         {rsi, no_register}, {rdi, no_register},
                               {rbp, no_register}, {rbx, no_register}};

} // namespace

Address Execution::address_16(std::uint8_t mod, std::uint8_t rm) {
    if (mod == 0 && rm == 6) {
        return {.segment = data_segment(segment_ds), .offset = code_number(2)};
    }
    const Bases bases = bases_16[rm];
    std::uint32_t offset = read_register(bases.base, 2);
    if (bases.index != no_register) {
        offset += read_register(bases.index, 2);
    }
    if (mod == 1) {
        offset += code_signed_byte();
    } else if (mod == 2) {
        offset += code_number(2);
    }
    const std::uint8_t usual = bases.base == rbp ? segment_ss : segment_ds;
    return {.segment = data_segment(usual), .offset = offset & 0xffffU};
}

Address Execution::address_32(std::uint8_t mod, std::uint8_t rm) {
    std::uint8_t base = rm;
    std::uint32_t offset = 0;
    if (rm == rsp) {
        const std::uint8_t scaled = code_byte();
        const unsigned index = (scaled >> 3U) & 7U;
        base = scaled & 7U;
        if (index != rsp) {
            offset = read_register(index, 4) << (scaled >> 6U);
        }
    }
    std::uint8_t usual = segment_ds;
    if (mod == 0 && base == rbp) {
        offset += code_number(4);
    } else {
        offset += read_register(base, 4);
        usual = base == rsp || base == rbp ? segment_ss : segment_ds;
    }
    if (mod == 1) {
        offset += code_signed_byte();
    } else if (mod == 2) {
        offset += code_number(4);
    }
    return {.segment = data_segment(usual), .offset = offset};
}

ModRm Execution::mod_rm() {
    const std::uint8_t byte = code_byte();
    const auto mod = static_cast<std::uint8_t>(byte >> 6U);
    const auto reg = static_cast<std::uint8_t>((byte >> 3U) & 7U);
    const auto rm = static_cast<std::uint8_t>(byte & 7U);
    if (mod == 3) {
        return {.reg = reg, .rm = {.is_memory = false, .number = rm, .address = {}}};
    }
    const Address address = address_width == 2 ? address_16(mod, rm) : address_32(mod, rm);
    return {.reg = reg, .rm = {.is_memory = true, .number = 0, .address = address}};
}

Address Execution::direct_address() {
    return {.segment = data_segment(segment_ds), .offset = code_number(address_width)};
}

Address Execution::behind(Address address, std::uint32_t distance) const {
    const std::uint32_t offset = address.offset + distance;
    return {.segment = address.segment, .offset = address_width == 2 ? offset & 0xffffU : offset};
}

std::uint32_t Execution::read_register(unsigned number, unsigned width) const {
    const bool is_high_byte = width == 1 && number >= 4;
    const std::uint64_t value =
        is_high_byte ? processor.general[number & 3U] >> 8U : processor.general[number & 7U];
    return static_cast<std::uint32_t>(value) & mask_of(width);
}

void Execution::write_register(unsigned number, std::uint32_t value, unsigned width) {
    const bool is_high_byte = width == 1 && number >= 4;
    const unsigned shift = is_high_byte ? 8 : 0;
    std::uint64_t& whole = processor.general[is_high_byte ? number & 3U : number & 7U];
    const std::uint64_t mask = std::uint64_t{mask_of(width)} << shift;
    whole = (whole & ~mask) | ((std::uint64_t{value} << shift) & mask);
}

void Execution::add_to_register(unsigned number, std::uint32_t addend, unsigned width) {
    write_register(number, read_register(number, width) + addend, width);
}

void Execution::set_flags(std::uint64_t value, std::uint64_t which) {
    processor.rflags = (processor.rflags & ~which) | (value & which);
}

bool Execution::condition(unsigned code) const {
    const bool is_less = flag(flag_sign) != flag(flag_overflow);
    const bool holds[8] = {
        flag(flag_overflow), flag(flag_carry),  flag(flag_zero), flag(flag_carry | flag_zero),
        flag(flag_sign),     flag(flag_parity), is_less,         is_less || flag(flag_zero)};
    return holds[(code >> 1U) & 7U] != ((code & 1U) != 0);
}

std::optional<std::uint64_t> Execution::to_linear(Address address, unsigned width, Access access) {
    if (failed()) {
        return {};
    }
    const Segment& segment = processor.segments[address.segment];
    const std::uint8_t vector = address.segment == segment_ss ? stack_fault : general_protection;
    if (!segment.has(attribute_present)) {
        fault(vector, "an access by a null selector");
        return {};
    }
    // Real-address mode looks at no type.
    if (processor.is_protected() && !may_access(segment, access)) {
        fault(vector, "an access that the segment's type forbids");
        return {};
    }
    if (!is_within(segment, address.offset, width)) {
        fault(vector, "an access outside the segment's limit");
        return {};
    }
    const std::uint64_t linear = (segment.base + address.offset) & address_bits;
    if (linear + width - 1 > address_bits) {
        refuse("an access across the end of 4 GiB");
        return {};
    }
    return linear;
}

std::uint32_t Execution::load(Address address, unsigned width) {
    std::uint8_t bytes[4] = {};
    const std::optional<std::uint64_t> linear = to_linear(address, width, Access::read);
    if (!linear) {
        return 0;
    }
    const auto wanted = std::span(bytes).first(width);
    if (!surroundings.read(surroundings.context, processor, *linear, wanted, Access::read)) {
        fault(page_fault, "a read of memory that cannot be read");
        return 0;
    }
    return number_of(wanted);
}

void Execution::store(Address address, std::uint32_t value, unsigned width) {
    check_lock();
    const std::optional<std::uint64_t> linear = to_linear(address, width, Access::write);
    if (!linear) {
        return;
    }
    std::uint8_t bytes[4] = {};
    for (std::uint8_t& byte : bytes) {
        byte = static_cast<std::uint8_t>(value);
        value >>= 8U;
    }
    if (!surroundings.write(surroundings.context, processor, *linear, std::span(bytes).first(width))) {
        fault(page_fault, "a write to memory that cannot be written");
    }
}

std::uint32_t Execution::load(const Operand& operand, unsigned width) {
    return operand.is_memory ? load(operand.address, width) : read_register(operand.number, width);
}

void Execution::store(const Operand& operand, std::uint32_t value, unsigned width) {
    if (operand.is_memory) {
        store(operand.address, value, width);
    } else {
        write_register(operand.number, value, width);
    }
}

void Execution::replace(const Operand& operand, std::uint32_t before, std::uint32_t after, unsigned width) {
    if (!is_locked || !operand.is_memory) {
        store(operand, after, width);
        return;
    }
    was_locked_ = true;
    const std::optional<std::uint64_t> linear = to_linear(operand.address, width, Access::write);
    if (!linear) {
        return;
    }
    switch (surroundings.compare_exchange(surroundings.context, processor, *linear, width, before,
                                          after & mask_of(width))) {
    case Exchange::done:
        return;
    case Exchange::differs:
        is_to_repeat_ = true;
        return;
    case Exchange::refused:
        fault(page_fault, "a locked access to memory that cannot be written");
    }
}

std::uint32_t Execution::stack_width() const {
    return processor.segments[segment_ss].has(attribute_big) ? 4 : 2;
}

void Execution::push(std::uint32_t value, unsigned width) {
    const std::uint32_t offset = (read_register(rsp, stack_width()) - width) & mask_of(stack_width());
    store({.segment = segment_ss, .offset = offset}, value, width);
    write_register(rsp, offset, stack_width());
}

std::uint32_t Execution::pop(unsigned width) {
    const std::uint32_t value =
        load(Address{.segment = segment_ss, .offset = read_register(rsp, stack_width())}, width);
    add_to_register(rsp, width, stack_width());
    return value;
}

void Execution::jump(std::uint32_t offset) {
    if (offset > processor.segments[segment_cs].limit) {
        fault(general_protection, "a jump past the limit of CS");
        return;
    }
    next = offset;
}

std::uint64_t Execution::load_linear(std::uint64_t linear) {
    std::uint8_t bytes[8] = {};
    if (failed()) {
        return 0;
    }
    if (linear + sizeof(bytes) - 1 > address_bits) {
        refuse("a descriptor table across the end of 4 GiB");
        return 0;
    }
    if (!surroundings.read(surroundings.context, processor, linear, std::span(bytes), Access::read)) {
        fault(page_fault, "a descriptor table in memory that cannot be read");
        return 0;
    }
    return number_of(std::span(bytes).first(4)) |
           (std::uint64_t{number_of(std::span(bytes).subspan(4))} << 32U);
}

void Execution::store_linear(std::uint64_t linear, std::uint8_t byte) {
    if (!failed() && !surroundings.write(surroundings.context, processor, linear,
                                         std::span<const std::uint8_t>(&byte, 1))) {
        fault(page_fault, "a descriptor table in memory that cannot be written");
    }
}

} // namespace previrt::start_up
