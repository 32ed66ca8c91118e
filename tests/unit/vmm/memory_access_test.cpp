// SPDX-License-Identifier: BSD-2-Clause
// What instructions read and write: the manual's answer, by hand.
#include "frontends/x86/instructions/memory_access.hpp"

#include "tests/unit/vmm/fake_backend.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace previrt {

namespace {

constexpr std::uint64_t here = 0x400000;
constexpr std::uint64_t pointer = 0x10000; // RDI; RSI is 0x20000, RSP 0x30000, RBP 0x40000, RAX 70, RCX 1

struct Wanted {
    const char* what;
    std::vector<std::uint8_t> code;
    std::vector<std::string> accesses; // "r ADDRESS+BYTES", w, rw
};

std::string show(const MemoryAccess& access) {
    char text[64];
    snprintf(text, sizeof text, "%s%s %llx+%llu", access.reads ? "r" : "", access.writes ? "w" : "",
             static_cast<unsigned long long>(access.address), static_cast<unsigned long long>(access.bytes));
    return text;
}

std::vector<std::string> found(const std::vector<std::uint8_t>& code) {
    Registers before{};
    before.general[rax] = 70;
    before.general[rcx] = 1;
    before.general[rsp] = 0x30000;
    before.general[rbp] = 0x40000;
    before.general[rsi] = 0x20000;
    before.general[rdi] = pointer;
    before.rip = here;
    std::vector<std::string> shown;
    const MemoryAccesses accesses = memory_accesses(code, before, here + code.size());
    for (const MemoryAccess& access : accesses.all()) {
        shown.push_back(show(access));
    }
    return shown;
}

const std::vector<Wanted>& table() {
    static const std::vector<Wanted> wanted = {
        {"mov %al, (%rdi)", {0x88, 0x07}, {"w 10000+1"}},
        {"mov %rax, 8(%rdi)", {0x48, 0x89, 0x47, 0x08}, {"w 10008+8"}},
        {"mov (%rdi), %eax", {0x8b, 0x07}, {"r 10000+4"}},
        {"mov %eax, %ecx", {0x89, 0xc1}, {}},
        {"lea (%rdi), %rax", {0x48, 0x8d, 0x07}, {}},
        {"movw $1, (%rdi)", {0x66, 0xc7, 0x07, 0x01, 0x00}, {"w 10000+2"}},
        {"movl $1, 16(%rip)", {0xc7, 0x05, 0x10, 0, 0, 0, 1, 0, 0, 0}, {"w 40001a+4"}},
        {"jmp *16(%rip)", {0xff, 0x25, 0x10, 0, 0, 0}, {"r 400016+8"}},
        {"call *(%rdi)", {0xff, 0x17}, {"r 10000+8", "w 2fff8+8"}},
        {"addl %eax, (%rdi,%rax,2)", {0x01, 0x04, 0x47}, {"rw 1008c+4"}},
        {"cmpl $1, (%rdi)", {0x83, 0x3f, 0x01}, {"r 10000+4"}},
        {"lock cmpxchg %rcx, (%rdi)", {0xf0, 0x48, 0x0f, 0xb1, 0x0f}, {"rw 10000+8"}},
        {"cmpxchg16b (%rdi)", {0x48, 0x0f, 0xc7, 0x0f}, {"rw 10000+16"}},
        {"movzbl (%rdi), %eax", {0x0f, 0xb6, 0x07}, {"r 10000+1"}},
        {"bt %rax, (%rdi)", {0x48, 0x0f, 0xa3, 0x07}, {"r 10008+8"}},
        {"sete (%rdi)", {0x0f, 0x94, 0x07}, {"w 10000+1"}},
        {"nopl (%rdi)", {0x0f, 0x1f, 0x07}, {}},
        {"movsq", {0x48, 0xa5}, {"r 20000+8", "w 10000+8"}},
        {"rep stosb", {0xf3, 0xaa}, {"w 10000+1"}},
        {"push %rax", {0x50}, {"w 2fff8+8"}},
        {"pop %rax", {0x58}, {"r 30000+8"}},
        {"push (%rdi)", {0xff, 0x37}, {"r 10000+8", "w 2fff8+8"}},
        {"call", {0xe8, 0, 0, 0, 0}, {"w 2fff8+8"}},
        {"ret", {0xc3}, {"r 30000+8"}},
        {"leave", {0xc9}, {"r 40000+8"}},
        {"movups %xmm0, (%rdi)", {0x0f, 0x11, 0x07}, {"w 10000+16"}},
        {"movss (%rdi), %xmm0", {0xf3, 0x0f, 0x10, 0x07}, {"r 10000+4"}},
        {"movq %xmm0, (%rdi)", {0x66, 0x0f, 0xd6, 0x07}, {"w 10000+8"}},
        {"movdqa (%rdi), %xmm0", {0x66, 0x0f, 0x6f, 0x07}, {"r 10000+16"}},
        {"vmovdqu %ymm0, (%rdi)", {0xc5, 0xfe, 0x7f, 0x07}, {"w 10000+32"}},
        {"vpbroadcastb (%rdi), %ymm0", {0xc4, 0xe2, 0x7d, 0x78, 0x07}, {"r 10000+1"}},
        {"vpcmpeqb (%rdi), %ymm0, %ymm1", {0xc5, 0xfd, 0x74, 0x0f}, {"r 10000+32"}},
        {"vzeroupper", {0xc5, 0xf8, 0x77}, {}},
        {"fstpt (%rdi)", {0xdb, 0x3f}, {"w 10000+10"}},
        {"movbe %eax, (%rdi)", {0x0f, 0x38, 0xf1, 0x07}, {"w 10000+4"}},
    };
    return wanted;
}

} // namespace

TEST(MemoryAccesses, AreTheManuals) {
    fake::start(std::uint64_t{2} << 20U, 8);
    for (const Wanted& wanted : table()) {
        EXPECT_EQ(found(wanted.code), wanted.accesses) << wanted.what;
    }
}

TEST(MemoryAccesses, OfACutInstructionAreFew) {
    fake::start(std::uint64_t{2} << 20U, 8);
    for (const Wanted& wanted : table()) {
        for (std::size_t bytes = 0; bytes < wanted.code.size(); ++bytes) {
            const std::vector<std::uint8_t> part(wanted.code.begin(),
                                                 wanted.code.begin() + static_cast<std::ptrdiff_t>(bytes));
            EXPECT_LE(found(part).size(), std::size_t{MemoryAccesses::most});
        }
    }
}

} // namespace previrt
