// SPDX-License-Identifier: BSD-2-Clause
// Padded instructions do what plain ones do: run in user mode, side by side.
#include <array>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <gtest/gtest.h>
#include <ostream>
#include <sched.h>

namespace previrt {

namespace {

struct Registers {
    std::uint64_t general[4];
    std::uint8_t flags[8];
    std::uint64_t unused;
    std::uint8_t scratch[16];

    friend bool operator==(const Registers&, const Registers&) = default;
};
static_assert(offsetof(Registers, flags) == 32 && offsetof(Registers, scratch) == 48);

using Function = void (*)(Registers*);

} // namespace

#define EACH_FUNCTION(X)                                                                                     \
    X(pushf_popf)                                                                                            \
    X(pushf_pop)                                                                                             \
    X(cpuid)                                                                                                 \
    X(mov_from_segment)                                                                                      \
    X(mov_to_segment)                                                                                        \
    X(push_pop_segment)                                                                                      \
    X(sldt)                                                                                                  \
    X(str)                                                                                                   \
    X(smsw)                                                                                                  \
    X(sgdt)                                                                                                  \
    X(sidt)                                                                                                  \
    X(lar)                                                                                                   \
    X(lsl)                                                                                                   \
    X(verr)                                                                                                  \
    X(verw)                                                                                                  \
    X(rdfsbase)                                                                                              \
    X(xgetbv)                                                                                                \
    X(rdtsc)                                                                                                 \
    X(annotated)

#define DECLARE(name)                                                                                        \
    extern "C" void plain_##name(void*);                                                                     \
    extern "C" void padded_##name(void*);
EACH_FUNCTION(DECLARE)
#undef DECLARE

namespace {

struct Pair {
    const char* name;
    void (*plain)(void*);
    void (*padded)(void*);
};

std::ostream& operator<<(std::ostream& out, const Pair& pair) {
    return out << pair.name;
}

#define ROW(name) {#name, plain_##name, padded_##name},
constexpr Pair pairs[] = {EACH_FUNCTION(ROW)};
#undef ROW

sigjmp_buf fault_return; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): of a signal handler

void on_fault(int signal) {
    siglongjmp(fault_return, signal);
}

// Gives the signal that `function` raises, or 0.
int run(void (*function)(void*), Registers& registers) {
    struct sigaction action{};
    action.sa_handler = on_fault;
    std::array<int, 2> signals{SIGSEGV, SIGILL};
    std::array<struct sigaction, 2> previous{};
    for (std::size_t i = 0; i < signals.size(); ++i) {
        sigaction(signals.at(i), &action, &previous.at(i));
    }
    const int raised = sigsetjmp(fault_return, 1); // NOLINT(cert-err52-cpp): the only way out of a fault
    if (raised == 0) {
        function(&registers);
    }
    for (std::size_t i = 0; i < signals.size(); ++i) {
        sigaction(signals.at(i), &previous.at(i), nullptr);
    }
    return raised;
}

class Execution : public testing::TestWithParam<Pair> {
protected:
    // cpuid and the like answer for the processor they run on.
    void SetUp() override {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
        ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    }
};

TEST_P(Execution, PaddedDoesWhatPlainDoes) {
    for (const std::uint64_t seed : {0ULL, 1ULL, 0x8000000000000000ULL, 0x123456789abcdef0ULL}) {
        const Registers start{{seed & 0xff, seed >> 3U, seed ^ 5U, seed + 9}, {}, 0, {}};
        Registers plain = start;
        Registers padded = start;
        const int plain_signal = run(GetParam().plain, plain);
        const int padded_signal = run(GetParam().padded, padded);
        EXPECT_EQ(plain_signal, padded_signal);
        if (plain_signal != 0) {
            GTEST_SKIP() << "this processor or kernel refuses it in user mode (signal " << plain_signal
                         << ")";
        }
        EXPECT_TRUE(plain == padded) << std::hex << plain.general[0] << ' ' << padded.general[0];
    }
}

INSTANTIATE_TEST_SUITE_P(UserMode, Execution, testing::ValuesIn(pairs),
                         [](const auto& test) { return std::string(test.param.name); });

} // namespace

} // namespace previrt
