// SPDX-License-Identifier: BSD-2-Clause
// The annotation header, from C: each access is one recorded instruction, or the same instruction unrecorded.
#include "previrt/layout_constants.hpp"
#include "tests/unit/command.hpp"
#include "toolchain/audit/audit.hpp"
#include "toolchain/image/site_table.hpp"

#include <gtest/gtest.h>
#include <map>
#include <ostream>
#include <vector>

namespace previrt {

namespace {

constexpr const char* example = PREVIRT_SOURCE "/asm-macros/examples/interrupt-driver.c";

struct Build {
    const char* name;
    const char* command;
    bool records;
};

std::ostream& operator<<(std::ostream& out, const Build& build) {
    return out << build.name;
}

#define INCLUDE " -Wall -Wextra -Werror -I " PREVIRT_DEFINITIONS
#define GCC_SITES INCLUDE " -DPREVIRT_SITES -Wa," PREVIRT_DEFINITIONS "/previrt/sites-gas.s"
#define CLANG_SITES INCLUDE " -include previrt/sites-clang.h"
#define PREVIRT_AS_SITES INCLUDE " -DPREVIRT_SITES -B " PREVIRT_AS_DIRECTORY

constexpr Build builds[] = {
    {"gcc", "gcc-12 -O2" GCC_SITES, true},
    {"gcc_O0", "gcc-12 -O0" GCC_SITES, true},
    {"gcc_debug", "gcc-12 -O2 -g" GCC_SITES, true},
    {"gcc_kernel_model", "gcc-12 -O2 -mcmodel=kernel -fno-pic -mno-red-zone" GCC_SITES, true},
    {"clang", "clang-19 -O2" CLANG_SITES, true},
    {"clang_O0", "clang-19 -O0" CLANG_SITES, true},
    {"clang_debug", "clang-19 -O2 -g" CLANG_SITES, true},
    {"gcc_previrt_as", "gcc-12 -O2" PREVIRT_AS_SITES, true},
    {"gcc_debug_previrt_as", "gcc-12 -O2 -g -gno-as-locview-support" PREVIRT_AS_SITES, true},
    {"clang_previrt_as", "clang-19 -O2 -fno-integrated-as" PREVIRT_AS_SITES, true},
    {"gcc_plain", "gcc-12 -O2" INCLUDE, false},
    {"clang_plain", "clang-19 -O2" INCLUDE, false},
};

class Annotate : public testing::TestWithParam<Build> {};

TEST_P(Annotate, ExampleDriver) {
    const ScratchDirectory directory;
    const std::string object = directory.path("driver.o");
    const CommandResult built =
        run_command(std::string(GetParam().command) + " -c " + example + " -o " + object);
    ASSERT_EQ(built.status, 0) << built.output;
    EXPECT_EQ(built.output, "");

    const KernelFile file = load_kernel_file(object);
    std::map<SiteKind, int> kinds;
    for (const Site& site : read_site_table(file, Places(file.elf))) {
        const auto kind = static_cast<SiteKind>(site.record.kind);
        ++kinds[kind];
        if (kind == SiteKind::mmio_read || kind == SiteKind::mmio_write) {
            EXPECT_EQ(site.record.width(), 4U);
            EXPECT_EQ(site.record.operand, 0U);
        }
        if (kind == SiteKind::page_table_write) {
            EXPECT_EQ(site.record.operand, 1U);
        }
    }
    ExceptionList none;
    const AuditReport report = audit(file, none);
    EXPECT_EQ(report.complete(), GetParam().records);
    if (!GetParam().records) {
        EXPECT_TRUE(kinds.empty());
        EXPECT_EQ(report.unrecorded.size(), 3U); // pushf, cli, sti: what is annotated traps by its address
        return;
    }
    // Without optimization the register accesses are functions of their own, not inlined three times.
    const bool inlined = std::string(GetParam().name).find("O0") == std::string::npos;
    EXPECT_EQ(kinds[SiteKind::mmio_read], 1);
    EXPECT_EQ(kinds[SiteKind::mmio_write], inlined ? 3 : 1);
    EXPECT_EQ(kinds[SiteKind::page_table_write], 1);
    EXPECT_EQ(kinds[SiteKind::page_table_test_and_clear_bit], 1);
    EXPECT_EQ(kinds[SiteKind::page_table_exchange], 1);
    EXPECT_EQ(kinds[SiteKind::page_table_compare_exchange], 1);
    EXPECT_EQ(kinds[SiteKind::cli], 1);
    EXPECT_EQ(kinds[SiteKind::sti], 1);
    EXPECT_EQ(kinds[SiteKind::pushf], 1);
}

constexpr const char* layout_source = R"(
#include <previrt/annotate.h>
#define USER_END previrt_layout_constant(PREVIRT_USER_END, 0x7ffffffff000UL)
unsigned long end(void);
unsigned long end(void) { return USER_END; }
int is_user(unsigned long, unsigned long);
int is_user(unsigned long first, unsigned long last) { return first < USER_END && last < USER_END; }
unsigned long half(void);
unsigned long half(void) { enum { previrt_plain_layout = 1 }; return USER_END / 2; }
)";

constexpr const char* layout_assembly = R"(
#include <previrt/annotate.h>
	.globl less
less:	previrt_load_layout_constant(PREVIRT_USER_END, (1 << 47) - 4096 - (7), %rdx)
	ret
	.section .note.GNU-stack,"",@progbits
)";

std::vector<Site> sites_of(const Build& build, const ScratchDirectory& directory, const std::string& source) {
    const std::string object = directory.path("layout.o");
    const CommandResult built = run_command(std::string(build.command) + " -c " + source + " -o " + object);
    EXPECT_EQ(built.status, 0) << built.output;
    EXPECT_EQ(built.output, "");
    const KernelFile file = load_kernel_file(object);
    return read_site_table(file, Places(file.elf));
}

// Computed once in a function where the compiler optimizes, and a plain number where a constant is wanted.
TEST_P(Annotate, LayoutConstants) {
    const ScratchDirectory directory;
    const auto from_c = sites_of(GetParam(), directory, directory.write("layout.c", layout_source));
    const auto from_assembly = sites_of(GetParam(), directory, directory.write("load.S", layout_assembly));
    if (!GetParam().records) {
        EXPECT_TRUE(from_c.empty() && from_assembly.empty());
        return;
    }
    const bool optimized = std::string(GetParam().name).find("O0") == std::string::npos;
    EXPECT_EQ(from_c.size(), optimized ? 2U : 3U);
    EXPECT_EQ(from_assembly.size(), 1U);
    for (const auto& sites : {from_c, from_assembly}) {
        for (const Site& site : sites) {
            EXPECT_EQ(static_cast<SiteKind>(site.record.kind), SiteKind::layout_constant);
            EXPECT_EQ(site.record.operand, static_cast<std::uint8_t>(LayoutConstant::user_end));
            EXPECT_EQ(site.record.shape(), Shape::immediate);
            EXPECT_EQ(site.record.lengths, 10); // no padding
        }
    }
}

// A file without a site can have it, and a linker makes one note of all.
TEST_P(Annotate, TheNoteAlone) {
    const ScratchDirectory directory;
    const std::string empty = directory.write("empty.c", "#include <previrt/annotate.h>\nPREVIRT_NOTE;\n");
    const std::string both = directory.write(
        "both.c", "#include <previrt/annotate.h>\nPREVIRT_NOTE;\nvoid stop(void);\nvoid stop(void) { "
                  "__asm__ volatile(\"cli\"); }\nPREVIRT_NOTE;\n");
    const auto notes = [](const std::string& object) {
        std::vector<std::size_t> sizes;
        const KernelFile file = load_kernel_file(object);
        for (const Section& section : file.elf.sections()) {
            if (section.name == ".note.previrt") {
                sizes.push_back(section.bytes.size());
            }
        }
        return sizes;
    };
    std::string objects;
    const std::vector<std::size_t> expected(GetParam().records ? 1 : 0, 28);
    for (const std::string& source : {empty, both}) {
        const std::string object = source + ".o";
        const CommandResult built =
            run_command(std::string(GetParam().command) + " -c " + source + " -o " + object);
        EXPECT_EQ(built.status, 0) << built.output;
        EXPECT_EQ(notes(object), expected) << source;
        objects += " " + object;
    }
    const std::string linked = directory.path("linked.o");
    const CommandResult result = run_command("ld -r -o " + linked + objects);
    EXPECT_EQ(result.status, 0) << result.output;
    EXPECT_EQ(notes(linked), expected);
}

INSTANTIATE_TEST_SUITE_P(Compilers, Annotate, testing::ValuesIn(builds),
                         [](const auto& test) { return std::string(test.param.name); });

} // namespace

} // namespace previrt
