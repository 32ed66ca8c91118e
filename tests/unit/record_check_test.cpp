// SPDX-License-Identifier: BSD-2-Clause
#include "inplace-vmm/record_check.hpp"

#include "previrt/layout_constants.hpp"
#include "tests/unit/make_elf.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <initializer_list>
#include <limits>
#include <ostream>
#include <set>
#include <string>
#include <vector>

namespace previrt {

// For gtest's messages. NOLINTNEXTLINE(misc-use-internal-linkage): found through its argument.
inline void PrintTo(RecordFault fault, std::ostream* out) {
    *out << describe(fault);
}

namespace {

using Buffer = std::vector<std::uint8_t>;

constexpr std::uint8_t no_operands = encode_form(Shape::implicit, 0, false);
constexpr std::uint8_t in_registers = encode_form(Shape::registers, 8, false);
constexpr std::uint8_t in_memory = encode_form(Shape::memory, 0, false);
constexpr std::uint8_t repeated_string = encode_form(Shape::dx, 1, true);

constexpr std::uint64_t text_address = 0xffff'ffff'8100'0000;

const Buffer padded_cli{0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0xfa};
const SiteRecord cli_record = make_record(SiteKind::cli, no_operands, 0, 7, 1);

// The record of `bytes`, of which the first or the last `padding`, as is the kind's way, are padding.
SiteRecord record_of(SiteKind kind, const Buffer& bytes, unsigned padding, std::uint8_t form = no_operands) {
    return make_record(kind, form, 0, padding, static_cast<unsigned>(bytes.size()) - padding);
}

RecordFault check(SiteKind kind, const Buffer& bytes, unsigned padding, std::uint8_t form = no_operands) {
    return check_site_bytes(record_of(kind, bytes, padding, form), bytes);
}

Buffer joined(std::initializer_list<Buffer> parts) {
    Buffer whole;
    for (const Buffer& part : parts) {
        whole.insert(whole.end(), part.begin(), part.end());
    }
    return whole;
}

// `instruction`, padded as the macros pad it.
RecordFault check_padded(SiteKind kind, const Buffer& instruction, std::uint8_t form = no_operands) {
    const SiteKindInfo& info = *find_site_kind(static_cast<std::uint8_t>(kind));
    const std::size_t missing =
        info.replacement_bytes - std::min<std::size_t>(info.replacement_bytes, instruction.size());
    switch (info.padding) {
    case Padding::front:
        return check(kind, joined({Buffer(missing, 0x2e), instruction}), static_cast<unsigned>(missing),
                     form);
    case Padding::trap:
        return check(kind, joined({instruction, Buffer(missing, 0xcc)}), static_cast<unsigned>(missing),
                     form);
    case Padding::nop:
        break;
    }
    const Buffer nop = info.nop_bytes == 4 ? Buffer{0x0f, 0x1f, 0x40, 0x00} : Buffer{0x0f, 0x1f, 0x00};
    return check(kind, joined({instruction, nop}), info.nop_bytes, form);
}

RecordCheck check_in_text(const std::vector<Site>& sites, const Buffer& text) {
    const std::vector<Text> texts{{text_address, text}};
    return check_records(sites, texts);
}

void expect_fault(const RecordCheck& check, RecordFault fault, std::size_t index) {
    EXPECT_EQ(check.fault, fault);
    EXPECT_EQ(check.index, index);
}

// ---- the table of kinds

TEST(RecordCheck, KindsHaveUniqueIdentifiersAndNamesAndAreFound) {
    std::set<std::uint8_t> identifiers;
    std::set<std::string> names;
    for (const SiteKindInfo& info : site_kinds) {
        const auto identifier = static_cast<std::uint8_t>(info.kind);
        ASSERT_NE(info.name, nullptr);
        EXPECT_FALSE(std::string(info.name).empty());
        EXPECT_TRUE(names.insert(info.name).second) << info.name;
        EXPECT_TRUE(identifiers.insert(identifier).second) << info.name;
        EXPECT_EQ(find_site_kind(identifier), &info) << info.name;
        EXPECT_GT(info.encoding_count, 0) << info.name;
        EXPECT_EQ(info.padding == Padding::nop, info.nop_bytes != 0) << info.name;
    }
    for (unsigned identifier = 0; identifier <= 0xff; ++identifier) {
        const bool known = identifiers.contains(static_cast<std::uint8_t>(identifier));
        EXPECT_EQ(find_site_kind(static_cast<std::uint8_t>(identifier)) != nullptr, known) << identifier;
    }
}

TEST(RecordCheck, DescriptionsDiffer) {
    std::set<std::string> descriptions;
    unsigned faults = 0;
    for (; faults <= static_cast<unsigned>(RecordFault::distant_number); ++faults) {
        descriptions.insert(describe(static_cast<RecordFault>(faults)));
    }
    EXPECT_EQ(descriptions.size(), faults);
    EXPECT_FALSE(descriptions.contains(""));
    EXPECT_FALSE(descriptions.contains(describe(static_cast<RecordFault>(0xff))));
}

TEST(RecordCheck, FormsAreReadAsTheyAreEncoded) {
    for (const unsigned width : {0U, 1U, 2U, 4U, 8U}) {
        for (const bool repeats : {false, true}) {
            const SiteRecord record =
                make_record(SiteKind::outs, encode_form(Shape::dx, width, repeats), 0x5a, 4, 2);
            EXPECT_EQ(record.width(), width);
            EXPECT_EQ(record.repeats(), repeats);
            EXPECT_EQ(record.shape(), Shape::dx);
            EXPECT_EQ(record.site_length(), 6U);
        }
    }
}

// ---- good records

TEST(RecordCheck, AcceptsPaddingInFront) {
    EXPECT_EQ(check(SiteKind::cli, padded_cli, 7), RecordFault::none);
    EXPECT_EQ(check(SiteKind::sti, {0x2e, 0x2e, 0x2e, 0x2e, 0xfb}, 4), RecordFault::none);
    EXPECT_EQ(check(SiteKind::wrmsr, {0x2e, 0x2e, 0x2e, 0x0f, 0x30}, 3), RecordFault::none);
    EXPECT_EQ(check(SiteKind::swapgs, {0x2e, 0x2e, 0x0f, 0x01, 0xf8}, 2), RecordFault::none);
}

TEST(RecordCheck, AcceptsTrapsBehind) {
    EXPECT_EQ(check(SiteKind::iret, {0x48, 0xcf, 0xcc, 0xcc, 0xcc}, 3), RecordFault::none);
    EXPECT_EQ(check(SiteKind::sysret, {0x48, 0x0f, 0x07, 0xcc, 0xcc}, 2), RecordFault::none);
    EXPECT_EQ(check(SiteKind::lret, {0xcb, 0xcc, 0xcc, 0xcc, 0xcc}, 4), RecordFault::none);
    EXPECT_EQ(check(SiteKind::lret, {0x48, 0xca, 0x08, 0x00, 0xcc}, 1), RecordFault::none);
}

TEST(RecordCheck, AcceptsALongNopBehind) {
    EXPECT_EQ(check(SiteKind::outs, {0x6e, 0x0f, 0x1f, 0x40, 0x00}, 4), RecordFault::none);
    EXPECT_EQ(check(SiteKind::ins, {0x66, 0x6d, 0x0f, 0x1f, 0x40, 0x00}, 4), RecordFault::none);
    EXPECT_EQ(check(SiteKind::int_n, {0xcd, 0x80, 0x0f, 0x1f, 0x00}, 3), RecordFault::none);
    EXPECT_EQ(check(SiteKind::lcall, {0x48, 0xff, 0x1f, 0x0f, 0x1f, 0x00}, 3), RecordFault::none);
}

TEST(RecordCheck, RepeatPrefixAndRepeatFormGoTogether) {
    const std::uint8_t once = encode_form(Shape::dx, 1, false);
    EXPECT_EQ(check(SiteKind::outs, {0xf3, 0x6e, 0x0f, 0x1f, 0x40, 0x00}, 4, repeated_string),
              RecordFault::none);
    EXPECT_EQ(check_padded(SiteKind::outs, {0x66, 0xf3, 0x6f}, repeated_string), RecordFault::none);
    EXPECT_EQ(check_padded(SiteKind::outs, {0xf3, 0x6e}, once), RecordFault::wrong_instruction);
    EXPECT_EQ(check_padded(SiteKind::outs, {0x6e}, repeated_string), RecordFault::wrong_instruction);
}

// Where 0xf2 or 0xf3 makes another instruction of it (wrmsrlist, eretu, wbnoinvd) no form may excuse the
// prefix.
TEST(RecordCheck, OnlyStringInstructionsRepeat) {
    const std::uint8_t repeats = encode_form(Shape::implicit, 0, true);
    EXPECT_NE(check_padded(SiteKind::wrmsrns, {0xf3, 0x0f, 0x01, 0xc6}, repeats), RecordFault::none);
    EXPECT_NE(check_padded(SiteKind::clac, {0xf3, 0x0f, 0x01, 0xca}, repeats), RecordFault::none);
    EXPECT_NE(check_padded(SiteKind::wbinvd, {0xf3, 0x0f, 0x09}, repeats), RecordFault::none);
    EXPECT_NE(check_padded(SiteKind::wbnoinvd, {0xf3, 0x0f, 0x09}, repeats), RecordFault::none);
    EXPECT_NE(check_padded(SiteKind::sti, {0xf3, 0xfb}, repeats), RecordFault::none);
    EXPECT_NE(check_padded(SiteKind::sti, {0xf3, 0xfb}, repeated_string), RecordFault::none);
}

TEST(RecordCheck, MandatoryPrefixesAreRequired) {
    EXPECT_EQ(check(SiteKind::rdfsbase, {0x2e, 0x2e, 0x2e, 0xf3, 0x48, 0x0f, 0xae, 0xc0}, 3, in_registers),
              RecordFault::none);
    EXPECT_EQ(check_padded(SiteKind::rdfsbase, {0xf2, 0x48, 0x0f, 0xae, 0xc0}, in_registers),
              RecordFault::wrong_instruction);
    EXPECT_EQ(check_padded(SiteKind::rdfsbase, {0x48, 0x0f, 0xae, 0xc0}, in_registers),
              RecordFault::wrong_instruction);
    EXPECT_EQ(check_padded(SiteKind::invpcid, {0x66, 0x0f, 0x38, 0x82, 0x06}, in_memory), RecordFault::none);
    EXPECT_EQ(check_padded(SiteKind::invpcid, {0x0f, 0x38, 0x82, 0x06}, in_memory),
              RecordFault::wrong_instruction);
    EXPECT_EQ(check_padded(SiteKind::invpcid, {0x66, 0xf3, 0x0f, 0x38, 0x82, 0x06}, in_memory),
              RecordFault::wrong_instruction);
    EXPECT_EQ(check_padded(SiteKind::wbnoinvd, {0xf3, 0x0f, 0x09}), RecordFault::none);
    EXPECT_EQ(check_padded(SiteKind::wbinvd, {0x0f, 0x09}), RecordFault::none);
    EXPECT_EQ(check_padded(SiteKind::wbinvd, {0xf3, 0x0f, 0x09}), RecordFault::wrong_instruction);
}

TEST(RecordCheck, ReadsRegisterOperands) {
    EXPECT_EQ(check(SiteKind::mov_to_control, {0x2e, 0x2e, 0x0f, 0x22, 0xd8}, 2, in_registers),
              RecordFault::none);
    EXPECT_EQ(check_padded(SiteKind::mov_to_control, {0x44, 0x0f, 0x22, 0xc0}, in_registers), // CR8
              RecordFault::none);
    EXPECT_EQ(check_padded(SiteKind::mov_from_control, {0x41, 0x0f, 0x20, 0xdf}, in_registers),
              RecordFault::none);
    EXPECT_EQ(check_padded(SiteKind::mov_to_control, {0x0f, 0x20, 0xd8}, in_registers),
              RecordFault::wrong_instruction);
}

// lgdt with every form of memory operand.
TEST(RecordCheck, ReadsMemoryOperands) {
    const Buffer operands[] = {
        {0x10},                               // (%rax)
        {0x15, 0x11, 0x22, 0x33, 0x44},       // disp32(%rip)
        {0x50, 0x08},                         // disp8(%rax)
        {0x90, 0x11, 0x22, 0x33, 0x44},       // disp32(%rax)
        {0x14, 0x24},                         // (%rsp)
        {0x54, 0x24, 0x08},                   // disp8(%rsp)
        {0x94, 0x24, 0x11, 0x22, 0x33, 0x44}, // disp32(%rsp)
        {0x14, 0x25, 0x11, 0x22, 0x33, 0x44}, // disp32
        {0x14, 0xc5, 0x11, 0x22, 0x33, 0x44}, // disp32(,%rax,8)
        {0x54, 0x05, 0x08},                   // disp8(%rbp,%rax)
        {0x94, 0x05, 0x11, 0x22, 0x33, 0x44}, // disp32(%rbp,%rax)
    };
    for (const Buffer& operand : operands) {
        SCOPED_TRACE(testing::PrintToString(operand));
        const Buffer plain = joined({{0x0f, 0x01}, operand});
        EXPECT_EQ(check_padded(SiteKind::lgdt, plain, in_memory), RecordFault::none);
        EXPECT_EQ(check_padded(SiteKind::lgdt, joined({{0x65, 0x67, 0x41}, plain}), in_memory),
                  RecordFault::none);

        const Buffer shorter(plain.begin(), plain.end() - 1);
        EXPECT_EQ(check_padded(SiteKind::lgdt, shorter, in_memory), RecordFault::wrong_instruction);
        EXPECT_EQ(check_padded(SiteKind::lgdt, joined({plain, {0x90}}), in_memory),
                  RecordFault::wrong_instruction);
    }
}

TEST(RecordCheck, OpcodeExtensionDistinguishesKinds) {
    const Buffer lidt{0x0f, 0x01, 0x18};
    EXPECT_EQ(check_padded(SiteKind::lidt, lidt, in_memory), RecordFault::none);
    EXPECT_EQ(check_padded(SiteKind::lgdt, lidt, in_memory), RecordFault::wrong_instruction);
    EXPECT_EQ(check_padded(SiteKind::invlpg, lidt, in_memory), RecordFault::wrong_instruction);
}

TEST(RecordCheck, OperandsInMemoryOnly) {
    EXPECT_EQ(check_padded(SiteKind::invlpg, {0x0f, 0x01, 0x38}, in_memory), RecordFault::none);
    EXPECT_EQ(check_padded(SiteKind::invlpg, {0x0f, 0x01, 0xf8}, in_memory), // swapgs
              RecordFault::wrong_instruction);
    EXPECT_EQ(check_padded(SiteKind::page_table_write, {0x48, 0x89, 0xc8}, in_memory),
              RecordFault::wrong_instruction);
}

// With a memory operand these are other instructions, and a displacement may follow.
TEST(RecordCheck, OperandsInRegistersOnly) {
    EXPECT_EQ(check_padded(SiteKind::rdpid, {0xf3, 0x0f, 0xc7, 0xf8}, in_registers), RecordFault::none);
    EXPECT_EQ(check_padded(SiteKind::rdpid, {0xf3, 0x0f, 0xc7, 0x38}, in_registers),
              RecordFault::wrong_instruction);
    EXPECT_EQ(check_padded(SiteKind::rdfsbase, {0xf3, 0x0f, 0xae, 0x00}, in_registers), // fxsave
              RecordFault::wrong_instruction);
    EXPECT_EQ(check_padded(SiteKind::wrfsbase, {0xf3, 0x0f, 0xae, 0x50}, in_registers),
              RecordFault::wrong_instruction);
}

TEST(RecordCheck, OperandsInEither) {
    EXPECT_EQ(check_padded(SiteKind::lmsw, {0x0f, 0x01, 0xf0}, in_registers), RecordFault::none);
    EXPECT_EQ(check_padded(SiteKind::lmsw, {0x0f, 0x01, 0x30}, in_memory), RecordFault::none);
}

TEST(RecordCheck, ReadsImmediates) {
    const std::uint8_t immediate = encode_form(Shape::immediate, 1, false);
    EXPECT_EQ(check_padded(SiteKind::in, {0xe4, 0x60}, immediate), RecordFault::none);
    EXPECT_EQ(check_padded(SiteKind::in, {0xe4}, immediate), RecordFault::wrong_instruction);
    EXPECT_EQ(check_padded(SiteKind::in, {0x66, 0xed}, encode_form(Shape::dx, 2, false)), RecordFault::none);
    EXPECT_EQ(check_padded(SiteKind::lret, {0x48, 0xca, 0x08, 0x00}, immediate), RecordFault::none);
    EXPECT_EQ(check_padded(SiteKind::lret, {0x48, 0xca, 0x08}, immediate), RecordFault::wrong_instruction);

    const SiteKind test_and_clear = SiteKind::page_table_test_and_clear_bit;
    EXPECT_EQ(check_padded(test_and_clear, {0xf0, 0x48, 0x0f, 0xba, 0x37, 0x06}, in_memory),
              RecordFault::none);
    EXPECT_EQ(check_padded(test_and_clear, {0xf0, 0x48, 0x0f, 0xba, 0x37}, in_memory),
              RecordFault::wrong_instruction);
}

// ---- layout constants

Buffer load_number(std::uint8_t rex, std::uint8_t opcode, std::uint64_t number) {
    Buffer bytes{rex, opcode};
    for (unsigned i = 0; i < sizeof number; ++i) {
        bytes.push_back(static_cast<std::uint8_t>(number >> (8 * i)));
    }
    return bytes;
}

RecordFault check_constant(std::uint8_t tag, const Buffer& bytes) {
    const SiteRecord record = make_record(SiteKind::layout_constant, encode_form(Shape::immediate, 8, false),
                                          tag, 0, static_cast<unsigned>(bytes.size()));
    return check_site_bytes(record, bytes);
}

TEST(RecordCheck, LayoutConstantsHaveUniqueTagsAndNamesAndAreFound) {
    std::set<std::uint8_t> tags;
    std::set<std::string> names;
    for (const LayoutConstantInfo& info : layout_constants) {
        const auto tag = static_cast<std::uint8_t>(info.constant);
        EXPECT_TRUE(tags.insert(tag).second) << info.name;
        EXPECT_TRUE(names.insert(info.name).second) << info.name;
        EXPECT_EQ(find_layout_constant(tag), &info) << info.name;
        // No number is near two of them.
        EXPECT_EQ(std::ranges::count_if(layout_constants,
                                        [&](const LayoutConstantInfo& other) {
                                            return other.covers(info.place) ||
                                                   other.covers(info.place - info.below) ||
                                                   other.covers(info.place + info.above);
                                        }),
                  1)
            << info.name;
    }
    EXPECT_EQ(find_layout_constant(0), nullptr);
    EXPECT_EQ(find_layout_constant(255), nullptr);
}

TEST(RecordCheck, LayoutConstantsAreLoadedIntoAnyRegister) {
    for (const LayoutConstantInfo& info : layout_constants) {
        const auto tag = static_cast<std::uint8_t>(info.constant);
        for (unsigned low = 0; low < 8; ++low) {
            const auto opcode = static_cast<std::uint8_t>(0xb8 + low);
            EXPECT_EQ(check_constant(tag, load_number(0x48, opcode, info.place)), RecordFault::none);
            EXPECT_EQ(check_constant(tag, load_number(0x49, opcode, info.place)), RecordFault::none);
        }
    }
    const std::uint64_t user_end = 0x7ffffffff000;
    EXPECT_EQ(check_constant(1, joined({{0x2e, 0x2e}, load_number(0x48, 0xb8, user_end)})),
              RecordFault::none);
    EXPECT_EQ(check_constant(1, load_number(0x48, 0xb0, user_end)), RecordFault::wrong_instruction);
    EXPECT_EQ(check_constant(1, load_number(0x48, 0xc0, user_end)), RecordFault::wrong_instruction);
    // Four of the eight bytes would be of the next instruction, or two more.
    EXPECT_EQ(check_constant(1, load_number(0x41, 0xb8, user_end)), RecordFault::wrong_instruction);
    EXPECT_EQ(check_constant(1, load_number(0x2e, 0xb8, user_end)), RecordFault::wrong_instruction);
    EXPECT_EQ(check_constant(1, joined({load_number(0x48, 0xb8, user_end), {0x90}})),
              RecordFault::wrong_instruction);
}

TEST(RecordCheck, ALayoutConstantIsKnownAndItsNumberIsNear) {
    constexpr std::uint64_t user_end = 0x7ffffffff000;
    EXPECT_EQ(check_constant(1, load_number(0x48, 0xb8, user_end - 7)), RecordFault::none);
    EXPECT_EQ(check_constant(1, load_number(0x48, 0xb8, user_end - 0x1000)), RecordFault::none);
    for (const std::uint64_t number : {user_end + 1, user_end - 0x1001, std::uint64_t{0}, ~std::uint64_t{0},
                                       std::uint64_t{0xffff888000000000}}) {
        EXPECT_EQ(check_constant(1, load_number(0x48, 0xb8, number)), RecordFault::distant_number) << number;
    }
    EXPECT_EQ(check_constant(0, load_number(0x48, 0xb8, user_end)), RecordFault::unknown_constant);
    EXPECT_EQ(check_constant(255, load_number(0x48, 0xb8, user_end)), RecordFault::unknown_constant);
}

// ---- each fault

TEST(RecordCheck, UnknownKind) {
    for (const unsigned kind : {0x00U, 0x0aU, 0xffU}) {
        SiteRecord record = cli_record;
        record.kind = static_cast<std::uint8_t>(kind);
        EXPECT_EQ(check_site_bytes(record, padded_cli), RecordFault::unknown_kind);
    }
}

TEST(RecordCheck, ReservedForm) {
    const Buffer outsb{0x6e, 0x0f, 0x1f, 0x40, 0x00};
    for (unsigned form = 0; form <= 0xff; ++form) {
        const bool reserved = (form & 0x80U) != 0 || (form & 7U) > 4 || ((form >> 3U) & 7U) > 4;
        const RecordFault fault = check(SiteKind::outs, outsb, 4, static_cast<std::uint8_t>(form));
        EXPECT_EQ(fault == RecordFault::reserved_form, reserved) << form;
    }
}

TEST(RecordCheck, EmptyInstruction) {
    EXPECT_EQ(check(SiteKind::cli, {0x2e, 0x2e, 0x2e, 0x2e}, 4), RecordFault::empty_instruction);
    EXPECT_EQ(check(SiteKind::cli, {}, 0), RecordFault::empty_instruction);
    EXPECT_EQ(check(SiteKind::iret, {0xcc, 0xcc}, 2), RecordFault::empty_instruction);
}

TEST(RecordCheck, LockIsForPageTableAccessesOnly) {
    EXPECT_EQ(check(SiteKind::mov_from_control, {0xf0, 0x0f, 0x20, 0xc0}, 0), RecordFault::wrong_instruction);
    EXPECT_EQ(check(SiteKind::page_table_clear_bit, {0xf0, 0x48, 0x0f, 0xba, 0x30, 0x05}, 0),
              RecordFault::none);
}

TEST(RecordCheck, LongerThanAnInstruction) {
    EXPECT_EQ(check(SiteKind::cli, joined({Buffer(14, 0x2e), {0xfa}}), 14), RecordFault::none);
    EXPECT_EQ(check(SiteKind::cli, joined({Buffer(15, 0x2e), {0xfa}}), 15),
              RecordFault::longer_than_an_instruction);

    // Padding behind is not part of the instruction.
    EXPECT_EQ(check(SiteKind::iret, joined({Buffer(13, 0x2e), {0x48, 0xcf, 0xcc, 0xcc, 0xcc}}), 3),
              RecordFault::none);
}

TEST(RecordCheck, OutsideText) {
    const Buffer text = joined({padded_cli, padded_cli});
    expect_fault(check_in_text({{text_address + 8, cli_record}}, text), RecordFault::none, 1);

    for (const std::uint64_t address :
         {text_address - 1, text_address - 8, text_address + 9, text_address + 16, text_address + 0x1000,
          std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max()}) {
        expect_fault(check_in_text({{text_address, cli_record}, {address, cli_record}}, text),
                     RecordFault::outside_text, 1);
    }
    expect_fault(check_records(std::vector<Site>{{text_address, cli_record}}, {}), RecordFault::outside_text,
                 0);
}

TEST(RecordCheck, OutsideTextBetweenTwo) {
    const std::vector<Text> texts{{0x1000, padded_cli}, {0x2000, padded_cli}, {0x2008, padded_cli}};
    const std::vector<Site> good{{0x1000, cli_record}, {0x2000, cli_record}, {0x2008, cli_record}};
    expect_fault(check_records(good, texts), RecordFault::none, 3);
    expect_fault(check_records(std::vector<Site>{{0x1008, cli_record}}, texts), RecordFault::outside_text, 0);
    // A site ends where its section ends, even if the next one follows at once.
    expect_fault(check_records(std::vector<Site>{{0x2004, cli_record}}, texts), RecordFault::outside_text, 0);
}

TEST(RecordCheck, OutsideTextAtTheEndOfTheAddressSpace) {
    constexpr std::uint64_t address = std::numeric_limits<std::uint64_t>::max() - 8;
    const std::vector<Text> texts{{address, padded_cli}};
    expect_fault(check_records(std::vector<Site>{{address, cli_record}}, texts), RecordFault::none, 1);
    expect_fault(check_records(std::vector<Site>{{address + 7, cli_record}}, texts),
                 RecordFault::outside_text, 0);
}

TEST(RecordCheck, OutsideTextWhenBytesAreMissing) {
    EXPECT_EQ(check_site_bytes(cli_record, std::span(padded_cli).first(7)), RecordFault::outside_text);
    EXPECT_EQ(check_site_bytes(cli_record, {}), RecordFault::outside_text);
}

TEST(RecordCheck, Unsorted) {
    const Buffer text = joined({padded_cli, padded_cli, padded_cli});
    expect_fault(
        check_in_text(
            {{text_address, cli_record}, {text_address + 16, cli_record}, {text_address + 8, cli_record}},
            text),
        RecordFault::unsorted, 2);
}

TEST(RecordCheck, Overlapping) {
    const Buffer text = joined({Buffer(8, 0x2e), {0xfb}, Buffer(8, 0x2e), {0xfb}});
    const SiteRecord whole = make_record(SiteKind::sti, no_operands, 0, 8, 1);
    const SiteRecord second_half = make_record(SiteKind::sti, no_operands, 0, 4, 1);
    expect_fault(check_in_text({{text_address, whole}, {text_address + 9, whole}}, text), RecordFault::none,
                 2);
    expect_fault(check_in_text({{text_address, whole}, {text_address + 4, second_half}}, text),
                 RecordFault::overlapping, 1);
    expect_fault(check_in_text({{text_address, whole}, {text_address, whole}}, text),
                 RecordFault::overlapping, 1);
}

TEST(RecordCheck, WrongPadding) {
    EXPECT_EQ(check(SiteKind::cli, {0x2e, 0x2e, 0x3e, 0x2e, 0x2e, 0x2e, 0x2e, 0xfa}, 7),
              RecordFault::wrong_padding);
    EXPECT_EQ(check(SiteKind::cli, {0xfa, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e}, 7),
              RecordFault::wrong_padding);
    EXPECT_EQ(check(SiteKind::iret, {0x48, 0xcf, 0xcc, 0xcc, 0x90}, 3), RecordFault::wrong_padding);
    EXPECT_EQ(check(SiteKind::iret, {0x2e, 0x2e, 0x2e, 0x48, 0xcf}, 3), RecordFault::wrong_padding);
    EXPECT_EQ(check(SiteKind::outs, {0x6e, 0x90, 0x90, 0x90, 0x90}, 4), RecordFault::wrong_padding);
    EXPECT_EQ(check(SiteKind::outs, {0x6e, 0x0f, 0x1f, 0x44, 0x00}, 4), RecordFault::wrong_padding);
}

// The other length would leave too little room, or is no work of the macros.
TEST(RecordCheck, WrongPaddingWhenTheNopIsAnotherKinds) {
    EXPECT_NE(check(SiteKind::outs, {0x6e, 0x0f, 0x1f, 0x00}, 3), RecordFault::none);
    EXPECT_NE(check(SiteKind::int_n, {0xcd, 0x80, 0x0f, 0x1f, 0x40, 0x00}, 4), RecordFault::none);
}

TEST(RecordCheck, WrongInstruction) {
    EXPECT_EQ(check(SiteKind::sti, padded_cli, 7), RecordFault::wrong_instruction);
    EXPECT_EQ(check(SiteKind::cli, {0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e}, 7),
              RecordFault::wrong_instruction);
    EXPECT_EQ(check(SiteKind::cli, {0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0xfa, 0x90}, 6),
              RecordFault::wrong_instruction);
    EXPECT_EQ(check_padded(SiteKind::cli, {0x48, 0x48, 0xfa}), RecordFault::wrong_instruction);
    EXPECT_EQ(check_padded(SiteKind::cli, {0x48, 0x2e, 0xfa}), RecordFault::wrong_instruction);
    EXPECT_EQ(check_padded(SiteKind::wrmsr, {0x0f}), RecordFault::wrong_instruction);
    EXPECT_EQ(check_padded(SiteKind::wrmsr, {0x48}), RecordFault::wrong_instruction);
    EXPECT_EQ(check_padded(SiteKind::lgdt, {0x0f, 0x01}, in_memory), RecordFault::wrong_instruction);
}

// The replacement would run into what follows the site.
TEST(RecordCheck, TheFirstFaultEndsTheCheck) {
    const Buffer text = joined({padded_cli, padded_cli});
    SiteRecord of_sti = cli_record;
    of_sti.kind = static_cast<std::uint8_t>(SiteKind::sti);
    expect_fault(check_in_text({{text_address, of_sti}, {0, of_sti}}, text), RecordFault::wrong_instruction,
                 0);
    expect_fault(check_in_text({{text_address, cli_record}, {text_address + 8, of_sti}}, text),
                 RecordFault::wrong_instruction, 1);
}

TEST(RecordCheck, AnEmptyTableIsGood) {
    expect_fault(check_records({}, {}), RecordFault::none, 0);
}

} // namespace

} // namespace previrt
