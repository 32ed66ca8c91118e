// SPDX-License-Identifier: BSD-2-Clause
// Every sensitive instruction in every operand form, through gas macros, clang macros and previrt-as: the
// same records, the instruction unchanged at the recorded place, the padding within the architecture's limit.
#include "tests/unit/assemblers.hpp"

#include "toolchain/audit/audit.hpp"
#include "toolchain/image/site_table.hpp"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <tuple>

namespace previrt {

namespace {

struct Case {
    std::string text;
    std::optional<Assembler> only; // gas or clang (and previrt-as with it)
};

bool accepts(const Case& instruction, Assembler assembler) {
    return !instruction.only || (*instruction.only == Assembler::gas) == (assembler == Assembler::gas);
}

std::vector<Case> read_cases() {
    std::ifstream file(PREVIRT_SOURCE "/tests/unit/instruction_cases.txt");
    std::vector<Case> cases;
    for (std::string line; std::getline(file, line);) {
        Case instruction{line, std::nullopt};
        for (const auto& [prefix, assembler] : {std::pair(std::string("clang: "), Assembler::clang),
                                                std::pair(std::string("gas: "), Assembler::gas)}) {
            if (line.starts_with(prefix)) {
                instruction = {line.substr(prefix.size()), assembler};
            }
        }
        if (!line.empty() && !line.starts_with('#')) {
            cases.push_back(instruction);
        }
    }
    return cases;
}

// previrt_site KIND, WIDTH, TAG, instruction
std::string without_annotation(const std::string& text) {
    if (!text.starts_with("previrt_site ")) {
        return text;
    }
    std::size_t at = 0;
    for (int comma = 0; comma < 3; ++comma) {
        at = text.find(',', at) + 1;
    }
    return text.substr(at);
}

std::string source_of(const std::vector<Case>& cases, Assembler assembler, bool plain) {
    std::string source = ".text\n";
    for (std::size_t i = 0; i < cases.size(); ++i) {
        source += ".globl case_" + std::to_string(i) + "\ncase_" + std::to_string(i) + ":\n";
        if (accepts(cases[i], assembler)) {
            source += "\t" + (plain ? without_annotation(cases[i].text) : cases[i].text) + "\n";
        }
    }
    return source + ".globl case_" + std::to_string(cases.size()) + "\ncase_" + std::to_string(cases.size()) +
           ":\n\tret\n";
}

// What one assembler made of the cases.
class Assembled {
public:
    Assembled(const ScratchDirectory& directory, Assembler assembler, const std::vector<Case>& cases)
        : padded_(assemble(directory, assembler, source_of(cases, assembler, false))),
          plain_(assemble(directory, assembler, source_of(cases, assembler, true), true)) {
        for (const Site& site : read_site_table(padded_, Places(padded_.elf))) {
            sites_.emplace(site.address, site.record);
        }
    }

    [[nodiscard]] std::size_t site_count() const { return sites_.size(); }
    [[nodiscard]] const KernelFile& padded() const { return padded_; }

    [[nodiscard]] std::optional<SiteRecord> record(std::size_t index) const {
        const auto found = sites_.find(address(padded_, index));
        return found == sites_.end() ? std::nullopt : std::optional(found->second);
    }

    [[nodiscard]] std::vector<std::uint8_t> padded_bytes(std::size_t index) const {
        return bytes(padded_, index);
    }
    [[nodiscard]] std::vector<std::uint8_t> plain_bytes(std::size_t index) const {
        return bytes(plain_, index);
    }

private:
    static std::uint64_t address(const KernelFile& file, std::size_t index) {
        const std::string name = "case_" + std::to_string(index);
        return std::ranges::find(file.elf.symbols(), name, &Symbol::name)->address;
    }

    static std::vector<std::uint8_t> bytes(const KernelFile& file, std::size_t index) {
        const std::uint64_t begin = address(file, index);
        const Section& text = *file.elf.section_at(begin);
        const auto found = text.bytes.subspan(begin - text.address, address(file, index + 1) - begin);
        return {found.begin(), found.end()};
    }

    KernelFile padded_;
    KernelFile plain_;
    std::map<std::uint64_t, SiteRecord> sites_;
};

class Assemblers : public testing::Test {
protected:
    ScratchDirectory directory;
    std::vector<Case> cases = read_cases();
    std::vector<Assembled> assembled = [this] {
        std::vector<Assembled> all;
        for (const Assembler assembler : all_assemblers) {
            all.emplace_back(directory, assembler, cases);
        }
        return all;
    }();
};

TEST_F(Assemblers, EveryCaseIsRecordedOnce) {
    for (std::size_t which = 0; which < assembled.size(); ++which) {
        const auto accepted = std::ranges::count_if(
            cases, [&](const Case& instruction) { return accepts(instruction, all_assemblers[which]); });
        EXPECT_EQ(assembled[which].site_count(), static_cast<std::size_t>(accepted))
            << name_of(all_assemblers[which]);
    }
}

TEST_F(Assemblers, InstructionIsUnchangedAtTheRecordedPlace) {
    for (std::size_t which = 0; which < assembled.size(); ++which) {
        for (std::size_t i = 0; i < cases.size(); ++i) {
            if (!accepts(cases[i], all_assemblers[which])) {
                continue;
            }
            SCOPED_TRACE(std::string(name_of(all_assemblers[which])) + ": " + cases[i].text);
            const auto record = assembled[which].record(i);
            ASSERT_TRUE(record);
            const SiteKindInfo& info = *find_site_kind(record->kind);
            const auto site = assembled[which].padded_bytes(i);
            ASSERT_EQ(site.size(), record->site_length());
            const bool in_front = info.padding == Padding::front;
            const auto begin = site.begin() + (in_front ? record->padding_length() : 0);
            EXPECT_EQ(std::vector(begin, begin + record->instruction_length()),
                      assembled[which].plain_bytes(i));
            EXPECT_GE(record->site_length(), info.replacement_bytes);
            if (in_front) {
                EXPECT_LE(record->site_length(), 15U);
            }
        }
    }
}

TEST_F(Assemblers, RecordsAgree) {
    for (std::size_t which = 1; which < assembled.size(); ++which) {
        for (std::size_t i = 0; i < cases.size(); ++i) {
            for (std::size_t other = 0; other < which; ++other) {
                if (!accepts(cases[i], all_assemblers[which]) || !accepts(cases[i], all_assemblers[other])) {
                    continue;
                }
                SCOPED_TRACE(std::string(name_of(all_assemblers[which])) + " and " +
                             name_of(all_assemblers[other]) + ": " + cases[i].text);
                const auto left = assembled[which].record(i);
                const auto right = assembled[other].record(i);
                ASSERT_TRUE(left && right);
                EXPECT_EQ(left->kind, right->kind);
                EXPECT_EQ(left->form, right->form);
                EXPECT_EQ(left->operand, right->operand);
                if (assembled[which].plain_bytes(i).size() == assembled[other].plain_bytes(i).size()) {
                    EXPECT_EQ(left->lengths, right->lengths);
                }
            }
        }
    }
}

TEST_F(Assemblers, AuditAgreesWithEveryRecord) {
    for (const Assembled& result : assembled) {
        ExceptionList none;
        const AuditReport report = audit(result.padded(), none);
        EXPECT_TRUE(report.complete()) << report.file;
        EXPECT_EQ(report.records, result.site_count());
    }
}

TEST_F(Assemblers, NoFormIsMissing) {
    using Form = std::tuple<SiteKind, Shape, unsigned>;
    struct Row {
        const char* llvm_name;
        SiteKind kind;
        Shape shape;
        unsigned width;
        int system_register;
    };
    static constexpr Row rows[] = {
#include "previrt/llvm_opcodes.inc"
    };
    std::set<Form> covered;
    for (const Assembled& result : assembled) {
        for (std::size_t i = 0; i < cases.size(); ++i) {
            if (const auto record = result.record(i)) {
                covered.emplace(static_cast<SiteKind>(record->kind), record->shape(), record->width());
            }
        }
    }
    for (const Row& row : rows) {
        EXPECT_TRUE(covered.contains({row.kind, row.shape, row.width})) << row.llvm_name;
    }
}

TEST(AssemblerModes, OtherModesStayUnpaddedAndUnrecorded) {
    const ScratchDirectory directory;
    for (const Assembler assembler : all_assemblers) {
        const KernelFile file =
            assemble(directory, assembler, ".code32\ncli\nhlt\n.code16\nsti\n.code64\nret\n");
        EXPECT_TRUE(read_site_table(file, Places(file.elf)).empty()) << name_of(assembler);
        EXPECT_EQ(file.elf.sections().front().bytes.size(), 4U) << name_of(assembler);
    }
}

TEST(AssemblerModes, RepInFrontOfOtherInstructionsIsLeftAlone) {
    const ScratchDirectory directory;
    const std::string source = "rep movsb\nrep; stosq\nrep\nret\nrep; nop\noutsb\nrep; outsl\n";
    for (const Assembler assembler : all_assemblers) {
        const KernelFile file = assemble(directory, assembler, source);
        const auto sites = read_site_table(file, Places(file.elf));
        ASSERT_EQ(sites.size(), 2U) << name_of(assembler);
        EXPECT_FALSE(sites[0].record.repeats());
        EXPECT_EQ(sites[0].record.instruction_length(), 1U);
        EXPECT_TRUE(sites[1].record.repeats());
        EXPECT_EQ(sites[1].record.instruction_length(), 2U);
    }
}

TEST(AssemblerModes, MovPushAndPopOfOrdinaryOperandsAreUnchanged) {
    const ScratchDirectory directory;
    const std::string source = "mov %rax, %rbx\nmovl $5, 8(%rax,%rbx,4)\nmovq %fs:8, %rax\nmovb %al, (%rdx)\n"
                               "mov $(1 << 3), %eax\npush $(2 + 3)\npush 8(%rsp)\npop %rax\npushq %r9\n"
                               "movw %ax, %gs:(%rdi)\nmov foo(%rip), %eax\n.data\nfoo: .long 0\n";
    for (const Assembler assembler : {Assembler::gas, Assembler::clang}) {
        const KernelFile padded = assemble(directory, assembler, source);
        const KernelFile plain = assemble(directory, assembler, source, true);
        EXPECT_TRUE(read_site_table(padded, Places(padded.elf)).empty());
        EXPECT_TRUE(
            std::ranges::equal(padded.elf.sections().front().bytes, plain.elf.sections().front().bytes))
            << name_of(assembler);
    }
}

TEST(AssemblerModes, AFaultingSiteFaultsAtTheLabelInFrontOfIt) {
    const ScratchDirectory directory;
    const std::string source =
        "f: nop\n1: wrmsr\n2: ret\n.section __ex_table,\"a\"\n.long 1b - .\n.long 2b - .\n";
    for (const Assembler assembler : all_assemblers) {
        const KernelFile file = assemble(directory, assembler, source);
        const auto sites = read_site_table(file, Places(file.elf));
        ASSERT_EQ(sites.size(), 1U);
        const auto table =
            std::ranges::find(file.elf.sections(), std::string("__ex_table"), &Section::name)->address;
        const Relocation* const relocation = file.elf.relocation_at(table);
        ASSERT_NE(relocation, nullptr) << name_of(assembler);
        EXPECT_EQ(*relocation->symbol + static_cast<std::uint64_t>(relocation->addend), sites[0].address);
    }
}

TEST(AssemblerErrors, AnnotationOfAnotherInstructionIsRefused) {
    const ScratchDirectory directory;
    const std::string source =
        directory.write("wrong.s", "previrt_site mmio_read, 4, 1, movq (%rax), %rcx\n");
    const CommandResult result = run_command(PREVIRT_AS " " + source + " -o " + directory.path("wrong.o"));
    EXPECT_EQ(result.status, 1);
    EXPECT_NE(result.output.find("not of this kind or width"), std::string::npos) << result.output;
    EXPECT_NE(result.output.find("wrong.s:1"), std::string::npos) << result.output;
}

TEST(AssemblerErrors, UnknownOptionAndMissingFile) {
    EXPECT_EQ(run_command(PREVIRT_AS " --no-such-option").status, 1);
    EXPECT_EQ(run_command(PREVIRT_AS " /nowhere/file.s -o /dev/null").status, 1);
}

} // namespace

} // namespace previrt
