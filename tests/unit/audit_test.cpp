// SPDX-License-Identifier: BSD-2-Clause
// The audit finds every unrecorded sensitive instruction and takes no data for one.
#include "tests/unit/assemblers.hpp"
#include "tests/unit/compress.hpp"
#include "tests/unit/make_bzimage.hpp"

#include "previrt/site_record.hpp"

#include "host/file.hpp"
#include "host/input_error.hpp"
#include "toolchain/audit/audit.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

namespace previrt {

namespace {

// Data whose bytes are cli, sti, in, out, hlt, ins and outs, and a text that decodes as such.
constexpr const char* sensitive_data =
    "\t.byte 0xfa, 0xfb, 0xec, 0xee, 0xf4, 0x6c, 0x6f\n\t.ascii \"hello, world\"\n";
// Gets past the macro of cli.
constexpr const char* unrecorded_cli = "\t.byte 0xfa\n";

class Audit : public testing::Test {
protected:
    AuditReport audit_source(const std::string& source) {
        ExceptionList none;
        return audit(assemble(directory, Assembler::gas, source), none);
    }

    // Assembles, links at a kernel's address and audits; `flags` for ld.
    AuditReport audit_linked(const std::string& source, const std::string& flags = "") {
        ExceptionList none;
        return audit(load_kernel_file(link(source, flags)), none);
    }

    std::string link(const std::string& source, const std::string& flags = "") {
        assemble(directory, Assembler::gas, source);
        const CommandResult result = run_command("ld " + flags + " -Ttext=0xffffffff81000000 -e _start " +
                                                 directory.path("gas.o") + " -o " + directory.path("linked"));
        EXPECT_EQ(result.status, 0) << result.output;
        return directory.path("linked");
    }

    ScratchDirectory directory;
};

std::string function(const std::string& name, const std::string& body) {
    return "\t.globl " + name + "\n\t.type " + name + ", @function\n" + name + ":\n" + body + "\t.size " +
           name + ", . - " + name + "\n";
}

TEST_F(Audit, CompleteObject) {
    const AuditReport report = audit_source(function("f", "\tcli\n\tmov %cr3, %rax\n\tsti\n\thlt\n\tret\n"));
    EXPECT_TRUE(report.complete());
    EXPECT_EQ(report.records, 4U);
    EXPECT_EQ(report.instructions, 5U);
    EXPECT_TRUE(report.doubtful.empty());
}

TEST_F(Audit, OneUnrecordedInstructionAmongTenThousand) {
    std::string body;
    for (int i = 0; i < 10000; ++i) {
        if (i == 5000) {
            body += unrecorded_cli;
        } else {
            body += i % 2 == 0 ? "\tadd %rax, %rbx\n" : "\tmov 8(%rdi), %rcx\n";
        }
    }
    const std::string source = function("first", "\tret\n") + function("f", body + "\tret\n");
    assemble(directory, Assembler::gas, source);
    const CommandResult result = run_command(PREVIRT " audit " + directory.path("gas.o"));
    EXPECT_EQ(result.status, 1);
    // 1 byte of `first`, 2500 pairs of 3 and 4 bytes.
    EXPECT_NE(result.output.find(".text+0x445d (f+0x445c): fa: cli: sensitive (cli) and not recorded"),
              std::string::npos)
        << result.output;
    EXPECT_NE(result.output.find("INCOMPLETE: 10002 instructions, 0 recorded, 1 missing"), std::string::npos)
        << result.output;
}

TEST_F(Audit, ByteEncodedInstructionsAreFound) {
    const AuditReport report =
        audit_source(function("f", "\t.byte 0x0f, 0x01, 0xcb\n\t.byte 0x0f, 0x01, 0xc8\n\t.byte 0x2e, 0xfa\n"
                                   "\t.byte 0x0f, 0xc7, 0x2f\n\tret\n"));
    ASSERT_EQ(report.unrecorded.size(), 4U);
    EXPECT_EQ(report.unrecorded[0].kind, "stac");
    EXPECT_EQ(report.unrecorded[1].kind, "monitor");
    EXPECT_EQ(report.unrecorded[2].kind, "cli");
    EXPECT_EQ(report.unrecorded[2].bytes, "2e fa");
    EXPECT_EQ(report.unrecorded[3].kind, "xsaves");
}

TEST_F(Audit, UntypedDataInTextIsDoubtful) {
    const AuditReport report = audit_source(function(
        "f", "\tlea data(%rip), %rsi\n\tjmp 1f\ndata:\n" + std::string(sensitive_data) + "1:\tcli\n\tret\n"));
    EXPECT_TRUE(report.unrecorded.empty());
    EXPECT_TRUE(report.undecodable.empty());
    EXPECT_EQ(report.doubtful.size(), 1U);
    EXPECT_EQ(report.records, 1U);
}

TEST_F(Audit, DataInTextHidesNothingBehindIt) {
    const AuditReport report =
        audit_source(function("f", "\tlea data(%rip), %rsi\n\tjmp 1f\ndata:\n" + std::string(sensitive_data) +
                                       "1:" + unrecorded_cli + "\tret\n"));
    ASSERT_EQ(report.unrecorded.size(), 1U);
    EXPECT_EQ(report.unrecorded[0].place.offset, 7U + 2 + 19);
}

TEST_F(Audit, TypedDataIsNeverCode) {
    const AuditReport report =
        audit_source("\t.type data, @object\ndata:\n" + std::string(unrecorded_cli) +
                     "\tret\n\t.size data, . - data\n" + function("f", "\tlea data(%rip), %rax\n\tret\n"));
    EXPECT_TRUE(report.complete());
    EXPECT_TRUE(report.doubtful.empty());
}

TEST_F(Audit, StringBehindACallIsNotRunInto) {
    const AuditReport report = audit_source(function("f", "\tcall 1f\n" + std::string(sensitive_data) +
                                                              "1:\tpop %rdi\n" + unrecorded_cli + "\tret\n"));
    ASSERT_EQ(report.unrecorded.size(), 1U);
    EXPECT_EQ(report.unrecorded[0].place.offset, 5U + 19 + 1);
}

TEST_F(Audit, CodeBehindACallIsReached) {
    const AuditReport report =
        audit_source(function("f", "\tcall outside\n" + std::string(unrecorded_cli) + "\tcall *%rax\n" +
                                       unrecorded_cli + "\tud2\n" + unrecorded_cli + "\tret\n"));
    EXPECT_EQ(report.unrecorded.size(), 3U);
}

std::string with_relative_jump_table(const std::string& second_case) {
    return function("f",
                    "\tlea table(%rip), %rdx\n\tmovslq (%rdx,%rdi,4), %rax\n\tadd %rdx, %rax\n\tjmp *%rax\n"
                    "table:\n\t.long 1f - table\n\t.long 2f - table\n\t.long 3f - table\n"
                    "1:\tmov $1, %eax\n\tret\n2:" +
                        second_case + "\tmov $2, %eax\n\tret\n3:\txor %eax, %eax\n\tret\n");
}

TEST_F(Audit, RelativeJumpTableWithoutRelocations) {
    EXPECT_TRUE(audit_source(with_relative_jump_table("\tcli\n")).complete());
    EXPECT_TRUE(
        audit_linked(function("_start", "\tret\n") + with_relative_jump_table("\tcli\n"), "-s").complete());
    const AuditReport report = audit_source(with_relative_jump_table(unrecorded_cli));
    ASSERT_EQ(report.unrecorded.size(), 1U);
    EXPECT_EQ(report.unrecorded[0].kind, "cli");
    EXPECT_EQ(report.unrecorded[0].place.offset, 7U + 4 + 3 + 2 + 12 + 6);
}

std::string with_absolute_jump_table(const std::string& second_case) {
    return function("_start",
                    "\tjmp *table(,%rdi,8)\n\t.balign 8\ntable:\n\t.quad 1f\n\t.quad 2f\n\t.quad 3f\n"
                    "1:\tmov $1, %eax\n\tret\n2:" +
                        second_case + "\tmov $2, %eax\n\tret\n3:\txor %eax, %eax\n\tret\n");
}

TEST_F(Audit, AbsoluteJumpTable) {
    for (const bool linked : {false, true}) {
        const auto run = [&](const std::string& source) {
            return linked ? audit_linked(source, "-s") : audit_source(source);
        };
        EXPECT_TRUE(run(with_absolute_jump_table("\tcli\n")).complete()) << linked;
        const AuditReport report = run(with_absolute_jump_table(unrecorded_cli));
        ASSERT_EQ(report.unrecorded.size(), 1U) << linked;
        EXPECT_EQ(report.unrecorded[0].place.offset, 8U + 24 + 6) << linked;
    }
}

TEST_F(Audit, FragmentsThatOnlyATableNames) {
    // As Linux's alternatives: replacement code that nothing branches to.
    const AuditReport report =
        audit_source(function("f", "\tret\n") +
                     "\t.section .altinstr_replacement, \"ax\"\n1:" + unrecorded_cli + "2:" + unrecorded_cli +
                     "\tjmp f\n\t.section .altinstructions, \"a\"\n\t.long 1b - .\n\t.long 2b - .\n");
    ASSERT_EQ(report.unrecorded.size(), 2U);
    EXPECT_EQ(report.unrecorded[0].place.section, ".altinstr_replacement");
}

TEST_F(Audit, StrippedImageIsSweptFromFunctionToFunction) {
    const std::string source =
        function("_start", "\tret\n") + "\t.balign 16\n" +
        function("unreferenced", "\tpush %rbx\n" + std::string(unrecorded_cli) + "\tpop %rbx\n\tret\n");
    EXPECT_EQ(audit_linked(source, "-s").unrecorded.size(), 1U);
    EXPECT_EQ(audit_linked(source).unrecorded.size(), 1U);
}

// Behind the first two bytes of movabs, which a sweep would let swallow the function.
TEST_F(Audit, AddressesInDataAndImmediatesLeadToCode) {
    const std::string hidden = "\t.byte 0x48, 0xb8\nhidden:" + std::string(unrecorded_cli) +
                               "\txor %eax, %eax\n\txor %eax, %eax\n\txor %eax, %eax\n\tret\n";
    const std::string pointer = "_start: ret\n" + hidden + "\t.data\n\t.balign 8\n\t.quad hidden\n";
    const std::string immediate = "\t.globl _start\n_start: mov $hidden, %rdi\n\tret\n" + hidden;
    for (const std::string& source : {pointer, immediate}) {
        const AuditReport report = audit_linked(source, "-s");
        ASSERT_EQ(report.unrecorded.size(), 1U) << source;
        EXPECT_EQ(report.unrecorded[0].bytes, "fa");
    }
    EXPECT_TRUE(audit_linked("_start: ret\n" + hidden, "-s").complete());
}

// movabs $imm64, %rax whose immediate is a function: lea 8(%rsp),%rsp; cli; ret; int3.
TEST_F(Audit, CodeInsideAnotherInstructionIsLookedAt) {
    const std::string source =
        "\t.type outer, @function\nouter: .byte 0x48, 0xb8\n\t.type inner, @function\n"
        "inner: .byte 0x48, 0x8d, 0x64, 0x24, 0x08, HIDDEN, 0xc3, 0xcc\n\tlfence\n\tret\n";
    const auto with = [&](const std::string& byte) {
        return std::string(source).replace(source.find("HIDDEN"), 6, byte);
    };
    EXPECT_TRUE(audit_source(with("0x90")).complete());
    const AuditReport report = audit_source(with("0xfa"));
    ASSERT_EQ(report.unrecorded.size(), 1U);
    EXPECT_EQ(report.unrecorded[0].place.offset, 7U);
    EXPECT_TRUE(report.undecodable.empty());
}

TEST_F(Audit, TrapsThatFillUpAreNoInstructions) {
    const AuditReport report = audit_linked("_start: ret\n\t.fill 100, 1, 0xcc\nf: ud2\n\tnop\n\tret\n");
    EXPECT_EQ(report.instructions, 4U);
}

TEST_F(Audit, BytesThatNothingReachesNeedAnException) {
    const std::string source = function("f", "\tret\n\t.byte 0xfa, 0x06, 0xfa, 0x06\n");
    const AuditReport report = audit_source(source);
    EXPECT_FALSE(report.complete());
    ASSERT_EQ(report.doubtful.size(), 1U);
    EXPECT_EQ(report.doubtful[0].place.offset, 1U);
    EXPECT_EQ(report.doubtful[0].length, 4U);

    ExceptionList wrong_kind("list", "f cli no data\n");
    EXPECT_FALSE(audit(assemble(directory, Assembler::gas, source), wrong_kind).complete());
    ExceptionList list("list", "f+0x1 data a table\n");
    const AuditReport explained = audit(assemble(directory, Assembler::gas, source), list);
    EXPECT_TRUE(explained.complete());
    ASSERT_EQ(explained.explained_doubts.size(), 1U);
    EXPECT_EQ(explained.explained_doubts[0].reason, "a table");
}

TEST_F(Audit, UndecodableCodeIsAFinding) {
    const AuditReport report = audit_source(function("f", "\tnop\n\t.byte 0x06\n\tret\n"));
    EXPECT_FALSE(report.complete());
    ASSERT_EQ(report.undecodable.size(), 1U);
    EXPECT_EQ(report.undecodable[0].place.offset, 1U);
}

TEST_F(Audit, CodeOfAnotherModeIsNamed) {
    const AuditReport report =
        audit_source(function("f", "\tret\n") + "\t.code32\n" + function("g", "\tcli\n\tret\n"));
    ASSERT_EQ(report.unrecorded.size(), 1U);
    EXPECT_EQ(*report.unrecorded[0].place.symbol, "g");
}

TEST_F(Audit, RecordOfAnotherOperandFormIsRefused) {
    assemble(directory, Assembler::gas, function("f", "\tin %dx, %al\n\tret\n"));
    std::vector<std::uint8_t> bytes = read_file(directory.path("gas.o"));
    const KernelFile good = parse_kernel_file("good", bytes);
    const auto table = std::ranges::find(good.elf.sections(), std::string("previrt_sites"), &Section::name);
    bytes.at(table->file_offset + 5) = encode_form(Shape::dx, 4, false); // the width is 1
    ExceptionList none;
    const KernelFile bad = parse_kernel_file("bad", bytes);
    try {
        audit(bad, none);
        FAIL() << "accepted";
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("bad: record 0 for .text+0x0 (f+0x0): it says in"),
                  std::string::npos)
            << error.what();
    }
}

TEST_F(Audit, BzImage) {
    const std::string source = function("_start", "\tcli\n\tret\n") + "\t.balign 16\n" +
                               function("g", std::string(unrecorded_cli) + "\tret\n");
    const std::vector<std::uint8_t> kernel = read_file(link(source, "-s"));
    const std::vector<std::uint8_t> payload = gzip_of(kernel);

    ExceptionList none;
    const KernelFile file = parse_kernel_file("bzImage", make_bzimage(payload));
    EXPECT_EQ(file.packed, Compression::gzip);
    const KernelFile symbols = load_kernel_file(link(source));
    const AuditReport report = audit(file, none, &symbols.elf);
    EXPECT_EQ(report.records, 1U);
    ASSERT_EQ(report.unrecorded.size(), 1U);
    EXPECT_EQ(report.unrecorded[0].place.text(), ".text+0x10 (g+0x0)");
}

TEST_F(Audit, ExceptionsExplain) {
    const KernelFile file = assemble(directory, Assembler::gas,
                                     function("f", std::string(unrecorded_cli) + "\t.byte 0xfb\n\tret\n") +
                                         function("g", "\tret\n"));
    ExceptionList list("list",
                       "# comment\nf+0x0  cli  never executed: a test # with a comment\n\ng * for nothing\n");
    const AuditReport report = audit(file, list);
    ASSERT_EQ(report.unrecorded.size(), 1U);
    EXPECT_EQ(report.unrecorded[0].kind, "sti");
    ASSERT_EQ(report.explained.size(), 1U);
    EXPECT_EQ(report.explained[0].reason, "never executed: a test ");
    std::ostringstream text;
    print_text(text, report, list);
    EXPECT_NE(text.str().find("the exception of line 4 (g *) explains nothing here"), std::string::npos)
        << text.str();

    ExceptionList all("list", "section:.text* * whatever\n");
    EXPECT_TRUE(audit(file, all).complete());
}

// One recorded, so that the file is one in which they are annotated.
std::string with_layout_constants(const std::string& instruction) {
    return function("f", "\tprevirt_site layout_constant, 8, 1, movabs $0x7fffffffeff9, %rdx\n"
                         "\tprevirt_site layout_constant, 8, 7, movabs $0xffffffffff000000, %rcx\n"
                         "\tprevirt_site layout_constant, 8, 8, movabs $0xffffffffff7ff000, %rcx\n\t" +
                             instruction + "\n\tret\n");
}

TEST_F(Audit, UnrecordedLayoutConstantsAreFound) {
    const std::pair<const char*, const char*> seeded[] = {
        {"movabs $0x7ffffffff000, %rax", "user_end"},
        {"movabs $0x7fffffffeffc, %r9", "user_end"},
        {"mov $0xffffffffff5ff000, %rax", "fixmap_top"},
        {"push $0xffffffffff5ff000", "fixmap_top"},
        {"cmp $0xffffffffff7ff000, %rax", "fixmap_top"},
        {"cmpq $0xffffffffff5ff000, 8(%rax)", "fixmap_top"},
        {"movq $0xffffffffff200000, (%rax)", "fixmap_top"},
        {"mov 0xffffffffff5fd300, %edx", "fixmap_top"},
        {"xchg %edi, 0xffffffffff5fd310", "fixmap_top"},
        {"lea 0xffffffffff5fc000, %rax", "fixmap_top"},
    };
    for (const auto& [instruction, constant] : seeded) {
        const AuditReport report = audit_source(with_layout_constants(instruction));
        ASSERT_EQ(report.unrecorded.size(), 1U) << instruction;
        EXPECT_EQ(report.unrecorded[0].kind, "layout_constant") << instruction;
        EXPECT_EQ(report.unrecorded[0].constant, constant) << instruction;
        EXPECT_EQ(report.unrecorded[0].place.offset, 30U) << instruction;
    }
}

TEST_F(Audit, WhatOnlyLooksLikeALayoutConstantIsNoFinding) {
    for (const char* const instruction : {
             "mov $0xffffffffc0000000, %rax", // PUD_MASK
             "mov $0xffffffffff000000, %rax",
             "and $0xffffffffff4ef7ff, %rdi", // bits of CR4
             "testq $0xffffffffff5ff000, (%rax)",
             "mov $0xff5ff000, %eax", // not sign-extended
             "cmp $0xff5ff000, %eax",
             "lea -0xa01000(%rax), %rdx",     // a distance
             "cmp $0xffffffffff600000, %rdi", // the vsyscall page
             "movabs $0x7fffffffffff, %rax",
             "movabs $0x800000000000, %rax",
             "movabs $0xffff888000000000, %rax", // not annotated in this file
             "mov %gs:0xffffffffff5fd300, %eax",
             "jmp 1f\n\t.quad 0x7ffffffff000\n1:",
         }) {
        EXPECT_TRUE(audit_source(with_layout_constants(instruction)).complete()) << instruction;
    }
    EXPECT_TRUE(audit_source(function("f", "\tmovabs $0x7ffffffff000, %rax\n\tret\n")).complete());
}

TEST_F(Audit, AnUnrecordedLayoutConstantIsNamedWithItsRemedy) {
    assemble(directory, Assembler::gas, with_layout_constants("movabs $0x7ffffffff000, %rax"));
    const CommandResult result = run_command(PREVIRT " audit " + directory.path("gas.o"));
    EXPECT_EQ(result.status, 1);
    EXPECT_NE(result.output.find(".text+0x1e (f+0x1e): 48 b8 00 f0 ff ff ff 7f 00 00: movabsq "
                                 "$140737488351232, %rax: holds user_end or a number near it, and is not "
                                 "recorded; annotate it (previrt_layout_constant)"),
              std::string::npos)
        << result.output;
    const std::string list = directory.write("list", "f+0x1e layout_constant the example of a test\n");
    EXPECT_EQ(run_command(PREVIRT " audit --exceptions " + list + " " + directory.path("gas.o")).status, 0);
    const auto json =
        nlohmann::json::parse(run_command(PREVIRT " audit --json " + directory.path("gas.o")).output);
    EXPECT_EQ(json["unrecorded"][0]["constant"], "user_end");
    const std::string sites = run_command(PREVIRT " sites " + directory.path("gas.o")).output;
    EXPECT_NE(sites.find("\nfixmap_top                             1           10         0\n"),
              std::string::npos)
        << sites;
    const auto listed =
        nlohmann::json::parse(run_command(PREVIRT " sites --json " + directory.path("gas.o")).output);
    EXPECT_EQ(listed["sites"][1]["constant"], "modules_end");
}

TEST_F(Audit, ExceptionListErrorsNameTheLine) {
    for (const char* const text : {"f cli\n", "f\n", "f clx because\n"}) {
        try {
            const ExceptionList list("list", std::string("# first\n") + text);
            FAIL() << text;
        } catch (const InputError& error) {
            EXPECT_TRUE(std::string(error.what()).starts_with("list:2: ")) << error.what();
        }
    }
}

TEST_F(Audit, JsonReport) {
    assemble(directory, Assembler::gas, function("f", "\tsti\n" + std::string(unrecorded_cli) + "\tret\n"));
    const CommandResult result = run_command(PREVIRT " audit --json " + directory.path("gas.o"));
    EXPECT_EQ(result.status, 1);
    const auto json = nlohmann::json::parse(result.output);
    EXPECT_EQ(json["complete"], false);
    EXPECT_EQ(json["records_by_kind"]["sti"], 1);
    EXPECT_EQ(json["unrecorded"][0]["section"], ".text");
    EXPECT_EQ(json["unrecorded"][0]["offset"], 5);
    EXPECT_EQ(json["unrecorded"][0]["symbol"], "f");
    EXPECT_EQ(json["unrecorded"][0]["bytes"], "fa");
}

TEST_F(Audit, LinkedTableMustBeSorted) {
    // The linker moves .text.unlikely in front; the records stay as they were.
    const std::string source = function("_start", "\tcli\n\tret\n") + "\t.section .text.unlikely, \"ax\"\n" +
                               function("g", "\tsti\n\tret\n");
    const std::string file = link(source);
    const CommandResult refused = run_command(PREVIRT " audit " + file);
    EXPECT_EQ(refused.status, 2);
    EXPECT_NE(refused.output.find("previrt sort-sites " + file), std::string::npos) << refused.output;
    EXPECT_EQ(run_command(PREVIRT " sort-sites " + file).status, 0);
    EXPECT_EQ(run_command(PREVIRT " audit " + file).status, 0);
}

TEST(CommandLine, ExitStatusAndMessages) {
    EXPECT_EQ(run_command(PREVIRT " --help").status, 0);
    EXPECT_EQ(run_command(PREVIRT " audit --help").status, 0);
    for (const char* const arguments : {"", "nonsense", "audit", "audit --nonsense x", "audit /nowhere",
                                        "sites /tmp", "audit /etc/hostname", "run vmlinux", "profile"}) {
        const CommandResult result = run_command(std::string(PREVIRT " ") + arguments);
        EXPECT_EQ(result.status, 2) << arguments << ": " << result.output;
        EXPECT_NE(result.output, "") << arguments;
    }
}

TEST(CommandLine, SitesByKind) {
    const ScratchDirectory directory;
    assemble(directory, Assembler::gas, "\tcli\n\tcli\n\tin %dx, %al\n");
    const CommandResult table = run_command(PREVIRT " sites " + directory.path("gas.o"));
    EXPECT_EQ(table.status, 0);
    EXPECT_NE(table.output.find("3 sites"), std::string::npos) << table.output;
    const CommandResult result = run_command(PREVIRT " sites --json " + directory.path("gas.o"));
    const auto json = nlohmann::json::parse(result.output);
    EXPECT_EQ(json["sites_by_kind"]["cli"], 2);
    EXPECT_EQ(json["sites"][2]["kind"], "in");
    EXPECT_EQ(json["sites"][2]["shape"], "dx");
    EXPECT_EQ(json["sites"][2]["width"], 1);
}

} // namespace

} // namespace previrt
