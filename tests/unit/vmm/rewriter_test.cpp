// SPDX-License-Identifier: BSD-2-Clause
// Every kind at every site length, by LLVM: the replacement is what was meant, fills the site, and nothing
// else changes.
#include "inplace-vmm/rewriter.hpp"

#include "inplace-vmm/backend/sites.hpp"
#include "inplace-vmm/vcpu.hpp"
#include "previrt/layout_constants.hpp"
#include "tests/unit/vmm/fake_backend.hpp"
#include "tests/unit/vmm/llvm_oracle.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <gtest/gtest.h>

namespace previrt {

namespace {

constexpr std::uint64_t site_address = 0xffffffff81000100;
constexpr std::uint64_t trampolines_address = 0xffffffffffe10000;
constexpr std::size_t guard = 32;
constexpr std::uint8_t guard_byte = 0xa5;

class Rewriter : public testing::Test {
protected:
    Rewriter() {
        fake::start(std::uint64_t{1} << 20U, 8);
        start_trampolines({.code = code_.data(),
                           .address = trampolines_address,
                           .count = trampoline_sites_.size(),
                           .sites = trampoline_sites_.data()});
    }

    // The site's bytes afterwards; the guards are checked.
    std::vector<std::uint8_t> rewrite(const KnownSite& site, Placement placement) {
        const std::size_t length = site.record.site_length();
        std::vector<std::uint8_t> memory(guard + length + guard, guard_byte);
        std::fill_n(memory.begin() + guard, length, std::uint8_t{0x2e});
        is_refused = !rewrite_site(site, std::span(memory).subspan(guard, length), placement);
        const auto is_guard = [](std::uint8_t byte) { return byte == guard_byte; };
        EXPECT_TRUE(std::all_of(memory.begin(), memory.begin() + guard, is_guard));
        EXPECT_TRUE(std::all_of(memory.end() - guard, memory.end(), is_guard));
        return {memory.begin() + guard, memory.end() - guard};
    }

    // The one instruction that is not a NOP, the first. Nothing: the site was left alone.
    std::optional<Decoded> decode(const std::vector<std::uint8_t>& bytes) {
        if (std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0x2e; })) {
            return {};
        }
        std::optional<Decoded> first;
        for (std::size_t at = 0; at < bytes.size();) {
            const auto decoded = llvm_.decode(std::span(bytes).subspan(at), site_address + at);
            EXPECT_TRUE(decoded.has_value());
            if (!decoded) {
                break;
            }
            if (!first) {
                first = decoded;
            } else {
                EXPECT_TRUE(decoded->name.starts_with("NOOP")) << decoded->name;
            }
            at += decoded->length;
            EXPECT_LE(at, bytes.size());
        }
        return first;
    }

    static KnownSite site_of(SiteKind kind, std::size_t length, std::uint8_t form = 0,
                             std::uint8_t operand = 0) {
        const std::size_t instruction = std::min<std::size_t>(length, 15);
        const SiteRecord record{.site = 0,
                                .kind = static_cast<std::uint8_t>(kind),
                                .form = form,
                                .operand = operand,
                                .lengths =
                                    static_cast<std::uint8_t>((length - instruction) << 4U | instruction)};
        return {.address = site_address, .record = record, .bytes = {}};
    }

    static std::uint64_t target_of(const Decoded& branch) {
        return site_address + branch.length + static_cast<std::uint64_t>(*branch.immediate);
    }

    static std::uint64_t sign_extended(const void* address) {
        return static_cast<std::uint64_t>(
            static_cast<std::int64_t>(static_cast<std::int32_t>(reinterpret_cast<std::uint64_t>(address))));
    }

    bool is_refused = false;
    LlvmOracle llvm_;
    std::vector<std::uint8_t> code_ = std::vector<std::uint8_t>(4 * trampoline_bytes);
    std::vector<std::uint64_t> trampoline_sites_ = std::vector<std::uint64_t>(4);
};

TEST_F(Rewriter, CallsOfEveryKindAndLength) {
    for (const SiteKindInfo& info : site_kinds) {
        fake::treatments[static_cast<std::uint8_t>(info.kind)] = {.way = Way::call,
                                                                  .target = fake::general_entry};
        for (std::size_t length = 1; length <= longest_site; ++length) {
            for (const Placement placement : {Placement::fixed, Placement::copied}) {
                SCOPED_TRACE(std::string(info.name) + ", length " + std::to_string(length));
                const auto bytes = rewrite(site_of(info.kind, length), placement);
                const auto found = decode(bytes);
                const bool is_lost = info.silent || info.kind == SiteKind::announce_sites;
                if (placement == Placement::fixed && length >= call_bytes) {
                    ASSERT_TRUE(found);
                    EXPECT_EQ(found->name, "CALL64pcrel32");
                    EXPECT_EQ(target_of(*found), fake::general_entry);
                } else if (placement == Placement::copied && length >= trap_mark_bytes) {
                    ASSERT_TRUE(found);
                    EXPECT_EQ(found->name.substr(0, 3), "UD1");
                    const auto mark = read_trap_mark(std::span(bytes).first<trap_mark_bytes>());
                    ASSERT_TRUE(mark);
                    EXPECT_EQ(mark->kind, info.kind);
                } else if (placement == Placement::fixed && is_lost) {
                    ASSERT_TRUE(found);
                    EXPECT_EQ(found->name, "HLT");
                    EXPECT_EQ(bytes[0], trap_instruction);
                } else {
                    EXPECT_FALSE(found);
                }
                EXPECT_EQ(is_refused, !found && is_lost);
            }
        }
    }
}

TEST_F(Rewriter, TrapsOfEveryKindAndLength) {
    for (const SiteKindInfo& info : site_kinds) {
        fake::treatments[static_cast<std::uint8_t>(info.kind)] = {.way = Way::trap};
        for (std::size_t length = 1; length <= longest_site; ++length) {
            SCOPED_TRACE(std::string(info.name) + ", length " + std::to_string(length));
            const auto found = decode(rewrite(site_of(info.kind, length), Placement::fixed));
            ASSERT_TRUE(found);
            EXPECT_EQ(found->name, "HLT");
            EXPECT_FALSE(is_refused);
            const auto copied = decode(rewrite(site_of(info.kind, length), Placement::copied));
            if (copied) { // nothing: it faults as it is, or it is refused
                EXPECT_TRUE(copied->name.starts_with("UD1")) << copied->name;
            }
        }
    }
}

TEST_F(Rewriter, ATrapMarkStandsOnlyForAnInstructionWithoutOperands) {
    fake::treatments[static_cast<std::uint8_t>(SiteKind::in)] = {.way = Way::call,
                                                                 .target = fake::general_entry};
    const auto form = encode_form(Shape::immediate, 1, false);
    EXPECT_FALSE(decode(rewrite(site_of(SiteKind::in, 6, form), Placement::copied)));
}

TEST_F(Rewriter, ATrapMarkKeepsWhatTheRecordSays) {
    unsigned with_registers = 0;
    for (const SiteKindInfo& info : site_kinds) {
        const auto kind = static_cast<std::uint8_t>(info.kind);
        fake::treatments[kind] = {.way = Way::call, .target = fake::general_entry};
        const bool has_registers = kind < 0x80 && info.encodings[0].modrm != ModRm::none;
        for (const unsigned width : {0U, 1U, 2U, 4U, 8U}) {
            for (unsigned operand = 0; operand < (has_registers ? 256U : 1U); ++operand) {
                SCOPED_TRACE(testing::Message() << info.name << ", width " << width << ", " << operand);
                const auto form =
                    encode_form(has_registers ? Shape::registers : Shape::implicit, width, false);
                const auto bytes =
                    rewrite(site_of(info.kind, trap_mark_bytes, form, static_cast<std::uint8_t>(operand)),
                            Placement::copied);
                const auto found = decode(bytes);
                ASSERT_TRUE(found);
                ASSERT_EQ(found->name.substr(0, 3), "UD1");
                ASSERT_EQ(found->length, trap_mark_bytes);
                const auto mark = read_trap_mark(std::span(bytes).first<trap_mark_bytes>());
                ASSERT_TRUE(mark);
                ASSERT_EQ(mark->kind, info.kind);
                ASSERT_EQ(mark->width, width);
                ASSERT_EQ(mark->has_registers, has_registers);
                ASSERT_EQ(mark->operand, operand);
            }
        }
        with_registers += has_registers ? 1 : 0;
    }
    EXPECT_GT(with_registers, 10U);
}

TEST_F(Rewriter, OtherUndefinedInstructionsAreNoMark) {
    using Code = std::array<std::uint8_t, trap_mark_bytes>;
    // What Linux and its compilers use ud1 for.
    for (const Code& code : {Code{0x67, 0x0f, 0xb9, 0x40, 0x12}, Code{0x67, 0x48, 0x0f, 0xb9, 0x3a},
                             Code{0x48, 0x0f, 0xb9, 0x3a, 0x90}, Code{0x0f, 0xb9, 0x48, 0x01, 0x90},
                             Code{0x0f, 0x0b, 0x3e, 0x0f, 0xb9}, Code{0x3e, 0x0f, 0xb9, 0x78, 0x03},
                             Code{0x48, 0x0f, 0xb9, 0x44, 0x24}}) {
        EXPECT_FALSE(read_trap_mark(code));
    }
}

TEST_F(Rewriter, OtherCopiedSitesCallByAPointer) {
    fake::treatments[static_cast<std::uint8_t>(SiteKind::in)] = {.way = Way::call,
                                                                 .target = fake::general_entry};
    const auto form = encode_form(Shape::immediate, 1, false);
    for (std::size_t length = absolute_call_bytes; length <= longest_site; ++length) {
        const auto found = decode(rewrite(site_of(SiteKind::in, length, form), Placement::copied));
        ASSERT_TRUE(found);
        EXPECT_EQ(found->name, "CALL64m");
        EXPECT_EQ(found->memory, fake::general_pointer);
    }
}

TEST_F(Rewriter, ASilentCopiedSiteCallsInPlaceOfAJump) {
    fake::treatments[static_cast<std::uint8_t>(SiteKind::verw)] = {.way = Way::jump, .target = site_address};
    const auto form = encode_form(Shape::memory, 2, false);
    const auto found = decode(rewrite(site_of(SiteKind::verw, absolute_call_bytes, form), Placement::copied));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->name, "CALL64m");
    EXPECT_EQ(found->memory, fake::general_pointer);
    EXPECT_FALSE(decode(rewrite(site_of(SiteKind::verw, absolute_call_bytes - 1, form), Placement::copied)));
    EXPECT_TRUE(is_refused);
}

// sgdt of a short operand in an alternative: neither a call nor a mark, and native it is the host's.
TEST_F(Rewriter, ASilentKindThatNothingFitsIsRefused) {
    fake::treatments[static_cast<std::uint8_t>(SiteKind::sgdt)] = {.way = Way::call,
                                                                   .target = fake::general_entry};
    const auto form = encode_form(Shape::memory, 0, false);
    EXPECT_FALSE(decode(rewrite(site_of(SiteKind::sgdt, 5, form), Placement::copied)));
    EXPECT_TRUE(is_refused);
    EXPECT_TRUE(decode(rewrite(site_of(SiteKind::sgdt, 5, form), Placement::fixed)));
    EXPECT_FALSE(is_refused);
    for (const auto faults : {backend::KernelFaults::to_the_guest, backend::KernelFaults::by_guest_stack}) {
        fake::host.kernel_faults = faults;
        const auto found = decode(rewrite(site_of(SiteKind::sgdt, 3, form), Placement::fixed));
        EXPECT_EQ(found.has_value(), faults == backend::KernelFaults::by_guest_stack);
        EXPECT_EQ(is_refused, !found);
    }
}

TEST_F(Rewriter, JumpsLeadThroughTrampolinesThatKnowTheirSite) {
    constexpr std::uint64_t target = 0xffffffffffe00123;
    fake::treatments[static_cast<std::uint8_t>(SiteKind::iret)] = {.way = Way::jump, .target = target};
    for (std::size_t length = 1; length <= longest_site; ++length) {
        SCOPED_TRACE(length);
        const auto copy = decode(rewrite(site_of(SiteKind::iret, length), Placement::copied));
        ASSERT_EQ(copy.has_value(), length >= trap_mark_bytes);
        EXPECT_EQ(is_refused, !copy);
        EXPECT_TRUE(!copy || copy->name.starts_with("UD1"));
        const auto found = decode(rewrite(site_of(SiteKind::iret, length), Placement::fixed));
        EXPECT_FALSE(is_refused);
        ASSERT_TRUE(found);
        EXPECT_EQ(found->name, length >= call_bytes ? "JMP_4" : "HLT");
        if (length >= call_bytes) {
            EXPECT_EQ(target_of(*found), trampolines_address); // one site has one
            EXPECT_EQ(site_of_trampoline(target_of(*found)), site_address);
            EXPECT_EQ(site_of_trampoline(target_of(*found) + trampoline_bytes - 1), site_address);
        }
    }
    EXPECT_EQ(site_of_trampoline(trampolines_address + trampoline_bytes), 0U);
    EXPECT_EQ(site_of_trampoline(trampolines_address - 1), 0U);
}

TEST_F(Rewriter, WhereNoBranchLeadsToTheVmmASiteTraps) {
    constexpr std::uint64_t target = 0xffffffffffe00123;
    fake::treatments[static_cast<std::uint8_t>(SiteKind::iret)] = {.way = Way::jump, .target = target};
    fake::treatments[static_cast<std::uint8_t>(SiteKind::pushf)] = {.way = Way::call, .target = target};
    const auto name_at = [&](std::uint64_t address, SiteKind kind, std::size_t length) {
        KnownSite site = site_of(kind, length);
        site.address = address;
        const auto found = decode(rewrite(site, Placement::fixed));
        return found ? found->name : std::string();
    };
    constexpr std::uint64_t first = 0xffffffff7fe0011f; // the first and the last place that reach it
    constexpr std::uint64_t last = 0x7fe0011e;
    for (const std::uint64_t address : {first, last}) {
        EXPECT_EQ(name_at(address, SiteKind::pushf, call_bytes), "CALL64pcrel32");
    }
    for (const std::uint64_t address : {first - 1, last + 1, std::uint64_t{0xffff888000000000}}) {
        EXPECT_EQ(name_at(address, SiteKind::pushf, call_bytes), "HLT");
        EXPECT_EQ(name_at(address, SiteKind::pushf, absolute_call_bytes), "CALL64m");
    }
    EXPECT_EQ(name_at(0xffff888000000000, SiteKind::iret, call_bytes), "HLT");
}

TEST_F(Rewriter, AFreeTrampolineIsTakenByTheNextSite) {
    fake::treatments[static_cast<std::uint8_t>(SiteKind::iret)] = {.way = Way::jump, .target = 1};
    const auto number_at = [&](std::uint64_t address) -> std::optional<std::uint64_t> {
        KnownSite site = site_of(SiteKind::iret, call_bytes);
        site.address = address;
        std::vector<std::uint8_t> code(call_bytes, 0x2e);
        rewrite_site(site, code, Placement::fixed);
        if (code[0] != 0xe9) {
            return {};
        }
        std::uint32_t distance = 0;
        std::memcpy(&distance, &code[1], sizeof(distance));
        const std::uint64_t target =
            address + call_bytes +
            static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(distance)});
        return (target - trampolines_address) / trampoline_bytes;
    };
    for (std::uint64_t i = 0; i < 4; ++i) {
        EXPECT_EQ(number_at(site_address + (i * 16)), i);
    }
    EXPECT_FALSE(number_at(site_address + 64));
    free_trampolines(site_address + 16, site_address + 32);
    EXPECT_EQ(site_of_trampoline(trampolines_address + trampoline_bytes), 0U);
    EXPECT_EQ(number_at(site_address + 64), 1U);
    EXPECT_EQ(number_at(site_address + 48), 3U);
    EXPECT_FALSE(number_at(site_address + 80));
}

TEST_F(Rewriter, KnowsWhetherItsReplacementStandsThere) {
    fake::treatments[static_cast<std::uint8_t>(SiteKind::sti)] = {.way = Way::call,
                                                                  .target = fake::general_entry};
    const KnownSite site = site_of(SiteKind::sti, 8);
    for (const Placement placement : {Placement::fixed, Placement::copied}) {
        std::vector<std::uint8_t> code = rewrite(site, placement);
        EXPECT_TRUE(is_rewritten(site, code));
        for (std::uint8_t& byte : code) {
            ++byte;
            EXPECT_FALSE(is_rewritten(site, code));
            --byte;
        }
        code.pop_back();
        EXPECT_FALSE(is_rewritten(site, code));
    }
    fake::treatments[static_cast<std::uint8_t>(SiteKind::sti)] = {};
    EXPECT_FALSE(is_rewritten(site, rewrite(site, Placement::fixed)));
}

TEST_F(Rewriter, WithoutAnotherTrampolineASiteFaults) {
    const auto rewrite_at = [&](SiteKind kind, unsigned index) {
        KnownSite site = site_of(kind, 8);
        site.address += std::uint64_t{16} * index;
        const auto found = decode(rewrite(site, Placement::fixed));
        return found ? found->name : std::string();
    };
    for (const SiteKind kind : {SiteKind::iret, SiteKind::swapgs}) {
        fake::treatments[static_cast<std::uint8_t>(kind)] = {.way = Way::jump, .target = site_address};
    }
    const auto room = static_cast<unsigned>(trampoline_sites_.size());
    for (unsigned i = 0; i < room; ++i) {
        EXPECT_EQ(rewrite_at(SiteKind::iret, i), "JMP_4");
    }
    for (unsigned i = room; i < 300; ++i) {
        EXPECT_EQ(rewrite_at(SiteKind::iret, i), "HLT"); // at level 3, iret does not
        EXPECT_FALSE(is_refused);
    }
    EXPECT_EQ(rewrite_at(SiteKind::swapgs, room), ""); // faults as it is
    EXPECT_FALSE(is_refused);
    const auto& ways = counters.rewritten[static_cast<std::uint8_t>(SiteKind::iret)];
    EXPECT_EQ(ways[static_cast<unsigned>(Way::native)], 0U);
    EXPECT_EQ(ways[static_cast<unsigned>(Way::trap)], 300U - room);
    // A fault would be pushed to where the stack pointer of a jump may lead.
    fake::host.kernel_faults = backend::KernelFaults::by_guest_stack;
    EXPECT_EQ(rewrite_at(SiteKind::swapgs, room), "");
    EXPECT_TRUE(is_refused);
    EXPECT_EQ(rewrite_at(SiteKind::swapgs, 0), "JMP_4");
    EXPECT_FALSE(is_refused);
    EXPECT_EQ(rewrite_at(SiteKind::iret, room), "HLT");
    EXPECT_FALSE(is_refused);
}

TEST_F(Rewriter, CliStoresToTheCell) {
    fake::treatments[static_cast<std::uint8_t>(SiteKind::cli)] = {.way = Way::in_line};
    for (std::size_t length = 1; length <= 15; ++length) {
        for (const Placement placement : {Placement::fixed, Placement::copied}) {
            const auto found = decode(rewrite(site_of(SiteKind::cli, length), placement));
            if (length >= 8) {
                ASSERT_TRUE(found);
                EXPECT_EQ(found->name, "MOV8mi");
                EXPECT_EQ(found->memory, fake::cell);
                EXPECT_EQ(found->immediate, 1);
            } else if (found) { // what fits is a call
                EXPECT_TRUE(found->name.starts_with("CALL64") || found->name.starts_with("UD1"));
            }
        }
    }
}

TEST_F(Rewriter, ControlRegistersAreLoadedFromTheVcpu) {
    fake::treatments[static_cast<std::uint8_t>(SiteKind::mov_from_control)] = {.way = Way::in_line};
    const std::pair<unsigned, const std::uint64_t*> readable[] = {
        {0, &vcpu.cr0}, {2, &vcpu.cr2}, {3, &vcpu.cr3}, {4, &vcpu.cr4}, {8, &vcpu.cr8}};
    for (const auto& [number, place] : readable) {
        for (unsigned general = 0; general < 16; ++general) {
            SCOPED_TRACE(testing::Message() << "CR" << number << " to register " << general);
            const auto operand = static_cast<std::uint8_t>(number << 4U | general);
            const auto found = decode(rewrite(
                site_of(SiteKind::mov_from_control, 8, encode_form(Shape::registers, 8, false), operand),
                Placement::copied));
            ASSERT_TRUE(found);
            EXPECT_EQ(found->name, "MOV64rm");
            EXPECT_EQ(found->first_register, general);
            EXPECT_EQ(found->memory, sign_extended(place));
        }
    }
    const auto other =
        decode(rewrite(site_of(SiteKind::mov_from_control, 8, encode_form(Shape::registers, 8, false), 0x50),
                       Placement::fixed));
    ASSERT_TRUE(other);
    EXPECT_EQ(other->name, "CALL64pcrel32"); // CR5 is #UD
}

TEST_F(Rewriter, CodeAndStackSegmentAreLoadedFromTheVcpu) {
    fake::treatments[static_cast<std::uint8_t>(SiteKind::mov_from_segment)] = {.way = Way::in_line};
    const auto load = [&](unsigned segment, unsigned general, Shape shape, unsigned width) {
        return decode(rewrite(site_of(SiteKind::mov_from_segment, 8, encode_form(shape, width, false),
                                      static_cast<std::uint8_t>(segment << 4U | general)),
                              Placement::fixed));
    };
    for (unsigned general = 0; general < 16; ++general) {
        const auto code = load(1, general, Shape::registers, 4);
        const auto stack = load(2, general, Shape::registers, 8);
        ASSERT_TRUE(code && stack);
        EXPECT_EQ(code->name, "MOV32rm");
        EXPECT_EQ(code->memory, sign_extended(&vcpu.cs));
        EXPECT_EQ(code->first_register, general);
        EXPECT_EQ(stack->name, "MOV64rm");
        EXPECT_EQ(stack->memory, sign_extended(&vcpu.ss));
    }
    // 16 bits keep the upper part of the register. With both prefixes the load is longer than the site.
    for (unsigned general = 0; general < 8; ++general) {
        const auto code = load(1, general, Shape::registers, 2);
        ASSERT_TRUE(code);
        EXPECT_EQ(code->name, "MOV16rm");
        EXPECT_EQ(code->memory, sign_extended(&vcpu.cs));
        EXPECT_EQ(code->first_register, general);
        EXPECT_EQ(load(1, general + 8, Shape::registers, 2)->name, "CALL64pcrel32");
    }
    // Memory is written; the real DS is not in the Vcpu.
    EXPECT_EQ(load(1, 0, Shape::memory, 2)->name, "CALL64pcrel32");
    EXPECT_EQ(load(3, 0, Shape::registers, 4)->name, "CALL64pcrel32");
}

// movabs of a number into a register, with CS prefixes in front.
KnownSite load_of(const LayoutConstantInfo& constant, std::uint64_t number, unsigned general,
                  unsigned prefixes) {
    KnownSite site{.address = site_address,
                   .record = {.site = 0,
                              .kind = static_cast<std::uint8_t>(SiteKind::layout_constant),
                              .form = encode_form(Shape::immediate, 8, false),
                              .operand = static_cast<std::uint8_t>(constant.constant),
                              .lengths = static_cast<std::uint8_t>(prefixes << 4U | 10U)},
                   .bytes = {}};
    std::fill_n(site.bytes, prefixes, std::uint8_t{0x2e});
    std::uint8_t* const code = site.bytes + prefixes;
    code[0] = general >= 8 ? 0x49 : 0x48;
    code[1] = static_cast<std::uint8_t>(0xb8U + (general & 7U));
    std::memcpy(code + 2, &number, sizeof number);
    return site;
}

TEST_F(Rewriter, LayoutConstantsMoveAsFarAsTheirPlace) {
    constexpr std::uint64_t place = 0x400000000000;
    Treatment& treatment = fake::treatments[static_cast<std::uint8_t>(SiteKind::layout_constant)];
    treatment = {.way = Way::in_line, .target = place};
    for (const LayoutConstantInfo& constant : layout_constants) {
        for (const std::uint64_t offset : {std::uint64_t{0}, 0 - std::uint64_t{8}, std::uint64_t{0x1000}}) {
            for (unsigned general = 0; general < 16; ++general) {
                for (const Placement placement : {Placement::fixed, Placement::copied}) {
                    SCOPED_TRACE(testing::Message() << constant.name << " to register " << general);
                    const KnownSite site = load_of(constant, constant.place + offset, general, general % 6);
                    const auto found = decode(rewrite(site, placement));
                    ASSERT_TRUE(found);
                    EXPECT_EQ(found->name, "MOV64ri");
                    EXPECT_EQ(found->first_register, general);
                    EXPECT_EQ(static_cast<std::uint64_t>(*found->immediate), place + offset);
                }
            }
        }
    }
    treatment = {};
    EXPECT_FALSE(decode(rewrite(load_of(layout_constants[0], 0, 0, 0), Placement::fixed)));
}

} // namespace

} // namespace previrt
