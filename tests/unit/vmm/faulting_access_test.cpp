// SPDX-License-Identifier: BSD-2-Clause
// The addresses that instructions tell, and CR2 after this machine's processor has executed them.
#include "frontends/x86/instructions/faulting_access.hpp"

#include "frontends/x86/paging/page_entry.hpp"
#include "inplace-vmm/vcpu.hpp"
#include "tests/unit/vmm/fake_backend.hpp"
#include "tests/unit/vmm/random_run.hpp"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <sys/mman.h>
#include <tuple>
#include <ucontext.h>
#include <vector>

namespace previrt {

namespace {

using Code = std::vector<std::uint8_t>;

constexpr std::uint64_t region_bytes = std::uint64_t{16} << 20U;
constexpr std::size_t code_bytes = 8192;
constexpr std::uint8_t int3 = 0xcc;
constexpr int greg_of[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                           REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

// How an instruction ended.
struct End {
    int signal;
    std::uint64_t vector;
    std::uint64_t address;
    std::uint32_t error_code;
};

enum class Phase : std::uint8_t { none, starts, runs };
volatile Phase phase;
End ended;
Registers wanted;
gregset_t before;

void take_signal(int signal, siginfo_t* /*what*/, void* context) {
    auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    if (phase == Phase::starts) {
        std::memcpy(&before, &registers, sizeof(before));
        for (unsigned i = 0; i < std::size(greg_of); ++i) {
            registers[greg_of[i]] = static_cast<greg_t>(wanted.general[i]);
        }
        registers[REG_RIP] = static_cast<greg_t>(wanted.rip);
        phase = Phase::runs;
        return;
    }
    if (phase != Phase::runs) {
        std::abort();
    }
    ended = {.signal = signal,
             .vector = static_cast<std::uint64_t>(registers[REG_TRAPNO]),
             .address = static_cast<std::uint64_t>(registers[REG_CR2]),
             .error_code = static_cast<std::uint32_t>(registers[REG_ERR])};
    std::memcpy(&registers, &before, sizeof(before));
    phase = Phase::none;
}

// Executes single instructions with any registers, all of which fault.
class Processor {
public:
    Processor()
        : code_(map(code_bytes, PROT_READ | PROT_WRITE | PROT_EXEC)), absent_(map(region_bytes, PROT_NONE)),
          read_only_(map(region_bytes, PROT_READ)) {
        stack_t stack{};
        stack.ss_sp = map(stack_bytes, PROT_READ | PROT_WRITE);
        stack.ss_size = stack_bytes;
        sigaltstack(&stack, nullptr);
        struct sigaction action{};
        action.sa_sigaction = take_signal;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        for (std::size_t i = 0; i < std::size(signals); ++i) {
            sigaction(signals[i], &action, &old_[i]);
        }
        // So that no page of it is absent.
        for (std::uint64_t at = 0; at < region_bytes; at += page_bytes) {
            (void)*const_cast<volatile std::uint8_t*>(read_only_ + at);
        }
    }
    ~Processor() {
        for (std::size_t i = 0; i < std::size(signals); ++i) {
            sigaction(signals[i], &old_[i], nullptr);
        }
        munmap(code_, code_bytes);
        munmap(absent_, region_bytes);
        munmap(read_only_, region_bytes);
    }
    Processor(const Processor&) = delete;
    Processor& operator=(const Processor&) = delete;

    [[nodiscard]] std::uint64_t code() const { return reinterpret_cast<std::uint64_t>(code_); }
    [[nodiscard]] std::uint64_t absent() const { return reinterpret_cast<std::uint64_t>(absent_); }
    [[nodiscard]] std::uint64_t read_only() const { return reinterpret_cast<std::uint64_t>(read_only_); }

    End execute(const Code& code, const Registers& registers) {
        std::memset(code_, int3, code_bytes);
        std::ranges::copy(code, code_);
        wanted = registers;
        wanted.rip = this->code();
        phase = Phase::starts;
        asm volatile("int3" ::: "memory");
        return ended;
    }

private:
    static constexpr std::size_t stack_bytes = 1U << 16U;
    static constexpr int signals[] = {SIGSEGV, SIGTRAP, SIGILL, SIGBUS, SIGFPE};

    static std::uint8_t* map(std::size_t bytes, int protection) {
        void* const place = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (place == MAP_FAILED) {
            std::abort();
        }
        return static_cast<std::uint8_t*>(place);
    }

    std::uint8_t* code_;
    std::uint8_t* absent_;
    std::uint8_t* read_only_;
    struct sigaction old_[std::size(signals)]{};
};

std::string show(const Code& code) {
    std::string text;
    for (const std::uint8_t byte : code) {
        char digits[4];
        snprintf(digits, sizeof digits, "%02x ", byte);
        text += digits;
    }
    return text;
}

constexpr std::uint32_t codes_of_data[] = {fault_user, fault_user | fault_write,
                                           fault_user | fault_write | fault_present};

class RandomInstructions {
public:
    explicit RandomInstructions(std::uint32_t seed) : random_(seed) { fake::start(2U << 20U, 8); }

    void step() {
        const Code code = make_code();
        Registers registers{};
        for (std::uint64_t& value : registers.general) {
            value = make_value();
        }
        registers.rip = processor_.code();
        vcpu.registers = registers;
        if (!tells_a_region(code)) {
            return;
        }
        const End end = processor_.execute(code, registers);
        constexpr std::uint64_t alignment = 13;
        if (end.signal == SIGILL || end.signal == SIGBUS || end.vector == alignment) {
            return; // no instruction, or one that faults for another reason first
        }
        ASSERT_EQ(end.vector, page_fault) << show(code) << "signal " << end.signal;
        const std::optional<std::uint64_t> told = faulting_access(code, end.error_code);
        ASSERT_TRUE(!told || *told == end.address)
            << show(code) << std::hex << *told << ", CR2 " << end.address << " code " << end.error_code;
        if (told) {
            ++told_;
            forms_.insert(form_);
        }
    }
    void flush() {}
    void check() const {}

    [[nodiscard]] std::uint64_t told() const { return told_; }
    [[nodiscard]] std::size_t forms() const { return forms_.size(); }

private:
    std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(random_()) % end; }
    std::uint8_t byte() { return static_cast<std::uint8_t>(below(256)); }

    std::uint64_t make_value() {
        if (below(4) == 0) {
            return below(64);
        }
        const std::uint64_t region = below(3) == 0 ? processor_.read_only() : processor_.absent();
        const std::uint64_t page = (region_bytes / 2) + (std::uint64_t{below(64)} << page_shift);
        const std::uint32_t offset = below(2) == 0 ? page_bytes - below(48) : below(page_bytes) & ~31U;
        return region + page + offset;
    }

    bool tells_a_region(const Code& code) {
        return std::ranges::any_of(codes_of_data, [&](std::uint32_t error_code) {
            const std::optional<std::uint64_t> told = faulting_access(code, error_code);
            const bool is_present = (error_code & fault_present) != 0;
            const std::uint64_t region = is_present ? processor_.read_only() : processor_.absent();
            return told && *told - region < region_bytes;
        });
    }

    Code make_code() {
        constexpr std::uint8_t prefixes[] = {0x66, 0xf2, 0xf3, 0xf0, 0x2e, 0x67, 0x64};
        constexpr std::uint8_t stack_ones[] = {0x50, 0x57, 0x58, 0x68, 0x6a, 0xe8, 0xc3, 0xc2, 0xc9};
        Code code;
        std::uint8_t prefix = 0;
        if (below(2) == 0) {
            prefix = prefixes[below(below(4) == 0 ? std::size(prefixes) : 3)];
            code.push_back(prefix);
        }
        const std::uint32_t map = below(4);
        if (map < 3 && below(2) == 0) {
            code.push_back(static_cast<std::uint8_t>(0x40U | below(16)));
        }
        std::uint8_t opcode = byte();
        if (map == 3) {
            code.clear();
            prefix = 0;
            if (below(2) == 0) {
                code.push_back(0xc5);
            } else {
                code.push_back(0xc4);
                code.push_back(static_cast<std::uint8_t>((byte() & 0xe0U) | (below(16) == 0 ? 2 : 1)));
            }
            code.push_back(static_cast<std::uint8_t>(byte() | (below(2) == 0 ? 0x78U : 0U)));
            prefix = code.back() & 7U;
        } else if (map == 2) {
            code.push_back(0x0f);
        } else if (below(8) == 0) {
            opcode = stack_ones[below(std::size(stack_ones))];
        }
        code.push_back(opcode);
        std::uint8_t operand = byte();
        if (operand >= 0xc0 && below(8) != 0) {
            operand &= 0x3fU;
        }
        code.push_back(operand);
        for (unsigned i = 0; i < 9; ++i) { // SIB, displacement and immediate: often near 0
            code.push_back(below(2) == 0 ? byte() : std::uint8_t{0});
        }
        form_ = {map, opcode, prefix};
        return code;
    }

    Processor processor_;
    std::mt19937 random_;
    std::uint64_t told_ = 0;
    std::tuple<std::uint32_t, std::uint8_t, std::uint8_t> form_;
    std::set<std::tuple<std::uint32_t, std::uint8_t, std::uint8_t>> forms_;
};

constexpr std::uint64_t pointer = 0x10000;

std::optional<std::uint64_t> told_of(const Code& code, std::uint32_t error_code,
                                     std::uint64_t rdi_value = pointer) {
    vcpu.registers = {};
    vcpu.registers.general[rsp] = 0x30000;
    vcpu.registers.general[rbp] = 0x40000;
    vcpu.registers.general[rdi] = rdi_value;
    vcpu.registers.rip = 0x400000;
    return faulting_access(code, error_code);
}

} // namespace

TEST(FaultingAccess, IsThatOfTheProcessor) {
    const RandomRun run = random_run(4, 400'000);
    for (std::uint32_t seed = run.first_seed; seed < run.first_seed + run.seeds; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        RandomInstructions instructions(seed);
        if (!take_steps(instructions, run.steps)) {
            return;
        }
        RecordProperty("told", std::to_string(instructions.told()));
        RecordProperty("forms", std::to_string(instructions.forms()));
        if (run.steps >= 400'000) { // with the vectors of SSE alone
            EXPECT_GT(instructions.told(), 20'000U);
            EXPECT_GT(instructions.forms(), 350U);
        }
    }
}

TEST(FaultingAccess, IsInDoubtIfThereMayBeSeveral) {
    fake::start(std::uint64_t{2} << 20U, 8);
    const struct {
        const char* what;
        Code code;
    } doubtful[] = {
        {"rep movsb", {0xf3, 0xa4}},
        {"stosq", {0x48, 0xab}},
        {"mov %al, %fs:(%rdi)", {0x64, 0x88, 0x07}},
        {"mov %al, %gs:(%rdi)", {0x65, 0x88, 0x07}},
        {"mov %al, (%edi)", {0x67, 0x88, 0x07}},
        {"pop (%rdi)", {0x8f, 0x07}},
        {"enter", {0xc8, 0x10, 0, 0}},
        {"lcall *(%rdi)", {0xff, 0x1f}},
        {"ljmp *(%rdi)", {0xff, 0x2f}},
        {"fnsave (%rdi)", {0xdd, 0x37}},
        {"fstpt (%rdi)", {0xdb, 0x3f}},
        {"fxsave (%rdi)", {0x0f, 0xae, 0x07}},
        {"xrstor (%rdi)", {0x0f, 0xae, 0x2f}},
        {"cmpxchg16b (%rdi)", {0x48, 0x0f, 0xc7, 0x0f}},
        {"bts %rax, (%rdi)", {0x48, 0x0f, 0xab, 0x07}},
        {"sidt (%rdi)", {0x0f, 0x01, 0x0f}},
        {"vmaskmovps %ymm0, %ymm1, (%rdi)", {0xc4, 0xe2, 0x75, 0x2e, 0x07}},
        {"vpgatherdd %ymm0, (%rdi,%ymm1), %ymm2", {0xc4, 0xe2, 0x7d, 0x90, 0x14, 0x0f}},
        {"vmovdqu64 %zmm0, (%rdi)", {0x62, 0xf1, 0xfe, 0x48, 0x7f, 0x07}},
        {"lea (%rdi), %rax", {0x48, 0x8d, 0x07}},
        {"nopl (%rdi)", {0x0f, 0x1f, 0x07}},
        {"mov %eax, %ecx", {0x89, 0xc1}},
        {"lock rex addl, a prefix behind REX", {0x48, 0xf0, 0x01, 0x07}},
    };
    for (const auto& [what, code] : doubtful) {
        for (const std::uint32_t error_code : codes_of_data) {
            EXPECT_FALSE(told_of(code, error_code)) << what;
        }
    }
}

TEST(FaultingAccess, IsInDoubtIfItCrossesAPage) {
    fake::start(std::uint64_t{2} << 20U, 8);
    const Code store_8 = {0x48, 0x89, 0x07};
    constexpr std::uint32_t write = fault_user | fault_write;
    EXPECT_EQ(told_of(store_8, write, pointer + page_bytes - 8), pointer + page_bytes - 8);
    EXPECT_FALSE(told_of(store_8, write, pointer + page_bytes - 7));
    EXPECT_FALSE(told_of(store_8, write, std::uint64_t{1} << 47U)); // not canonical
}

TEST(FaultingAccess, FitsItsErrorCode) {
    fake::start(std::uint64_t{2} << 20U, 8);
    const Code push_memory = {0xff, 0x37};
    EXPECT_EQ(told_of(push_memory, fault_user), pointer);
    EXPECT_EQ(told_of(push_memory, fault_user | fault_write), 0x2fff8U);
    const Code store_byte = {0x88, 0x07};
    EXPECT_EQ(told_of(store_byte, fault_user | fault_write), pointer);
    EXPECT_FALSE(told_of(store_byte, fault_user)); // it does not read
    for (const unsigned bit : {3U, 4U, 5U, 6U, 15U, 31U}) {
        EXPECT_FALSE(told_of(store_byte, fault_user | fault_write | (1U << bit))) << bit;
    }
}

TEST(FaultingAccess, NeedsTheWholeInstruction) {
    fake::start(std::uint64_t{2} << 20U, 8);
    const Code store_immediate = {0xc7, 0x05, 0x10, 0, 0, 0, 1, 0, 0, 0}; // movl $1, 16(%rip)
    EXPECT_EQ(told_of(store_immediate, fault_user | fault_write), 0x40001aU);
    for (std::size_t bytes = 0; bytes < store_immediate.size(); ++bytes) {
        const Code part(store_immediate.begin(),
                        store_immediate.begin() + static_cast<std::ptrdiff_t>(bytes));
        EXPECT_FALSE(told_of(part, fault_user | fault_write));
    }
}

} // namespace previrt
