// SPDX-License-Identifier: BSD-2-Clause
// The VMM's decoder against LLVM's: on every operand form of every kind, and on random memory operands.
#include "frontends/x86/instructions/instruction.hpp"

#include "inplace-vmm/record_check.hpp"
#include "inplace-vmm/site_list.hpp"
#include "inplace-vmm/vcpu.hpp"
#include "tests/unit/assemblers.hpp"
#include "tests/unit/vmm/fake_backend.hpp"
#include "tests/unit/vmm/llvm_oracle.hpp"
#include "toolchain/image/site_table.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <random>

namespace previrt {

namespace {

class InstructionDecoding : public testing::Test {
protected:
    InstructionDecoding() {
        fake::start(std::uint64_t{1} << 20U, 8);
        for (std::uint64_t& value : vcpu.registers.general) {
            value = random_();
        }
        fake::host.bases = {.fs = random_(), .kernel_gs = random_(), .user_gs = random_()};
    }

    std::mt19937_64 random_{1};
    LlvmOracle llvm_;
};

// As a site's, at two places and with other registers: only its bytes are kept.
void expect_same_of_site(const KnownSite& site, std::mt19937_64& random) {
    for (const std::uint64_t moved : {0U, 0x10'0000U}) {
        vcpu.registers.general[random() % std::size(vcpu.registers.general)] = random();
        const std::uint64_t address = site.address - moved;
        const auto expected =
            decode_instruction(site.kind(), address + site.padding_in_front(), site.instruction());
        const Instruction* const decoded = decode_site(site, address);
        ASSERT_TRUE(expected && decoded != nullptr);
        EXPECT_EQ(decoded->kind, expected->kind);
        EXPECT_EQ(decoded->address, address);
        EXPECT_EQ(decoded->next, address + site.record.site_length());
        EXPECT_EQ(decoded->annotation, site.record.operand);
        EXPECT_EQ(decoded->effective, expected->effective);
        EXPECT_EQ(decoded->width, expected->width);
        EXPECT_EQ(decoded->reg, expected->reg);
        EXPECT_EQ(decoded->rm, expected->rm);
        EXPECT_EQ(decoded->opcode, expected->opcode);
        EXPECT_EQ(decoded->immediate, expected->immediate);
    }
}

std::string source_of_cases() {
    std::ifstream file(PREVIRT_SOURCE "/tests/unit/instruction_cases.txt");
    std::string source = ".text\n";
    for (std::string line; std::getline(file, line);) {
        const std::string prefix = "clang: ";
        if (!line.empty() && !line.starts_with('#') && !line.starts_with("gas: ")) {
            source += "\t" + (line.starts_with(prefix) ? line.substr(prefix.size()) : line) + "\n";
        }
    }
    return source + "\tret\n";
}

bool names_two_registers(SiteKind kind) {
    return kind == SiteKind::mov_from_control || kind == SiteKind::mov_to_control ||
           kind == SiteKind::mov_from_debug || kind == SiteKind::mov_to_debug;
}

TEST_F(InstructionDecoding, EveryFormOfEveryKind) {
    const ScratchDirectory directory;
    const KernelFile file = assemble(directory, Assembler::clang, source_of_cases());
    const std::vector<Site> sites = read_site_table(file, Places(file.elf));
    ASSERT_GT(sites.size(), 200U);
    unsigned with_memory = 0;
    for (const Site& site : sites) {
        const Section& text = *file.elf.section_at(site.address);
        const auto bytes = text.bytes.subspan(site.address - text.address, site.record.site_length());
        const SiteKindInfo& info = *find_site_kind(site.record.kind);
        SCOPED_TRACE(testing::Message() << info.name << " at " << site.address);
        ASSERT_EQ(check_site_bytes(site.record, bytes), RecordFault::none);

        KnownSite known{.address = site.address, .record = site.record, .bytes = {}};
        std::copy_n(bytes.begin(), std::min<std::size_t>(bytes.size(), 16), known.bytes);
        const std::uint64_t address = site.address + known.padding_in_front();
        const auto oracle = llvm_.decode(known.instruction(), address);
        ASSERT_TRUE(oracle);
        ASSERT_EQ(oracle->length, known.instruction().size());
        if (info.annotates == Annotates::nothing) {
            const Recognized recognized = recognize_instruction(known.instruction());
            ASSERT_NE(recognized.kind, nullptr);
            EXPECT_EQ(recognized.kind->kind, info.kind) << recognized.kind->name;
            EXPECT_EQ(recognized.length, known.instruction().size());
        }

        const auto decoded = decode_instruction(info.kind, address, known.instruction());
        ASSERT_TRUE(decoded);
        EXPECT_EQ(decoded->next, address + known.instruction().size());
        EXPECT_EQ(decoded->repeats && site.record.repeats(), site.record.repeats());
        EXPECT_EQ(decoded->operand_is_memory,
                  oracle->memory.has_value() && site.record.shape() == Shape::memory);
        if (decoded->operand_is_memory && oracle->memory) {
            ++with_memory;
            EXPECT_EQ(decoded->effective, *oracle->memory);
        }
        if (names_two_registers(info.kind)) {
            EXPECT_EQ(decoded->reg, site.record.operand >> 4U);
            EXPECT_EQ(decoded->rm, site.record.operand & 15U);
        }
        expect_same_of_site(known, random_);
        known.address = 0xffffffff81000000; // another one, where one was
        expect_same_of_site(known, random_);
    }
    EXPECT_GT(with_memory, 50U);
}

TEST_F(InstructionDecoding, WidthsOfTransfers) {
    const auto width = [](SiteKind kind, std::vector<std::uint8_t> bytes) {
        return decode_instruction(kind, 0, bytes)->width;
    };
    EXPECT_EQ(width(SiteKind::iret, {0xcf}), 4U);
    EXPECT_EQ(width(SiteKind::iret, {0x48, 0xcf}), 8U);
    EXPECT_EQ(width(SiteKind::iret, {0x66, 0xcf}), 2U);
    EXPECT_EQ(width(SiteKind::pushf, {0x9c}), 8U);
    EXPECT_EQ(width(SiteKind::popf, {0x66, 0x9d}), 2U);
    EXPECT_EQ(width(SiteKind::in, {0xec}), 1U);
    EXPECT_EQ(width(SiteKind::in, {0x66, 0xed}), 2U);
    EXPECT_EQ(width(SiteKind::out, {0xef}), 4U);
    EXPECT_EQ(width(SiteKind::outs, {0x66, 0x48, 0x6f}), 4U);
    EXPECT_EQ(width(SiteKind::sysret, {0x48, 0x0f, 0x07}), 8U);
    EXPECT_EQ(width(SiteKind::sysret, {0x0f, 0x07}), 4U);
}

// The element that ins and outs move next, as the prefixes in any order and LLVM have it.
TEST_F(InstructionDecoding, PrefixesOfStrings) {
    constexpr std::uint8_t prefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf3};
    unsigned with_segment = 0;
    for (unsigned i = 0; i < 2000; ++i) {
        std::vector<std::uint8_t> bytes;
        bool fs = false;
        bool gs = false;
        bool short_address = false;
        bool repeats = false;
        bool short_operand = false;
        for (auto count = random_() % 5; count > 0; --count) {
            const std::uint8_t prefix = prefixes[random_() % std::size(prefixes)];
            bytes.push_back(prefix);
            gs = prefix == 0x65 || (gs && prefix != 0x64);
            fs = prefix == 0x64 || (fs && prefix != 0x65);
            short_address |= prefix == 0x67;
            repeats |= prefix == 0xf3;
            short_operand |= prefix == 0x66;
        }
        const bool wide = random_() % 4 == 0;
        if (wide) {
            bytes.push_back(0x48);
        }
        const bool is_input = random_() % 2 == 0;
        bytes.push_back(is_input ? 0x6d : 0x6f);
        const auto decoded = decode_instruction(is_input ? SiteKind::ins : SiteKind::outs, 0, bytes);
        ASSERT_TRUE(decoded);
        std::uint64_t expected = vcpu.registers.general[is_input ? rdi : rsi];
        expected &= short_address ? 0xffffffff : ~std::uint64_t{0};
        if (!is_input) {
            expected += fs ? fake::host.bases.fs : 0;
            expected += gs ? fake::host.bases.kernel_gs : 0;
            with_segment += fs || gs ? 1 : 0;
        }
        EXPECT_EQ(effective_address(decoded->memory, decoded->next), expected);
        EXPECT_EQ(decoded->memory.has_32_bits, short_address);
        EXPECT_EQ(decoded->repeats, repeats);
        EXPECT_EQ(decoded->width, short_operand && !wide ? 2U : 4U);
    }
    EXPECT_GT(with_segment, 100U);
}

// invlpg with random prefixes, base, index, scale and displacement.
TEST_F(InstructionDecoding, RandomMemoryOperands) {
    unsigned compared = 0;
    for (unsigned i = 0; i < 20000; ++i) {
        std::vector<std::uint8_t> bytes;
        const std::uint64_t random = random_();
        constexpr std::uint8_t segments[] = {0x64, 0x65, 0x2e, 0x3e};
        if ((random & 3U) == 0) {
            bytes.push_back(segments[(random >> 2U) & 3U]);
        }
        if (((random >> 4U) & 7U) == 0) {
            bytes.push_back(0x67);
        }
        if (((random >> 7U) & 1U) != 0) {
            bytes.push_back(static_cast<std::uint8_t>(0x40 | ((random >> 8U) & 15U)));
        }
        const auto modrm = static_cast<std::uint8_t>(0x38 | ((random >> 12U) & 0xc7U));
        if (modrm >> 6U == 3) {
            continue;
        }
        bytes.insert(bytes.end(), {0x0f, 0x01, modrm});
        const std::uint64_t rest = random_();
        for (unsigned k = 0; k < 6; ++k) {
            bytes.push_back(static_cast<std::uint8_t>(rest >> (8 * k)));
        }
        const std::uint64_t address = 0xffffffff81000000 + i;
        const auto oracle = llvm_.decode(bytes, address);
        ASSERT_TRUE(oracle);
        ASSERT_EQ(oracle->name, "INVLPG");
        bytes.resize(oracle->length);
        const Recognized recognized = recognize_instruction(bytes);
        ASSERT_NE(recognized.kind, nullptr);
        EXPECT_EQ(recognized.length, bytes.size());
        const auto decoded = decode_instruction(SiteKind::invlpg, address, bytes);
        ASSERT_TRUE(decoded && decoded->operand_is_memory);
        ASSERT_EQ(decoded->effective, *oracle->memory)
            << oracle->length << " bytes: " << testing::PrintToString(bytes);
        ++compared;
    }
    EXPECT_GT(compared, 10000U);
}

TEST_F(InstructionDecoding, NothingIsReadBeyondTheBytes) {
    for (const SiteKindInfo& info : site_kinds) {
        EXPECT_FALSE(decode_instruction(info.kind, 0, {}));
        for (unsigned i = 0; i < 100; ++i) {
            std::vector<std::uint8_t> bytes(1 + (random_() % 15));
            for (std::uint8_t& byte : bytes) {
                byte = static_cast<std::uint8_t>(random_());
            }
            (void)decode_instruction(info.kind, 0, bytes);
            const Recognized recognized = recognize_instruction(bytes);
            EXPECT_LE(recognized.kind != nullptr ? recognized.length : 0, bytes.size());
        }
    }
}

} // namespace

} // namespace previrt
