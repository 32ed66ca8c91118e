// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/processor/stolen_time.hpp"

#include "frontends/x86/processor/cpuid.hpp"
#include "frontends/x86/processor/msr.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "tests/unit/vmm/fake_backend.hpp"
#include "tests/unit/vmm/load_package.hpp"
#include "tests/unit/vmm/make_package.hpp"

#include <cstring>
#include <gtest/gtest.h>

namespace previrt {

namespace {

constexpr std::uint64_t area_at = 0x190040;
constexpr std::uint64_t enabled = 1;
constexpr std::uint64_t millisecond = 1'000'000;

std::uint32_t feature_bits() {
    return guest_cpuid(0x40000001, 0).eax;
}

class StolenTimeTest : public testing::Test {
protected:
    StolenTimeTest() {
        const auto stop = load_package(make_tiny_package());
        EXPECT_FALSE(stop) << *stop;
        fake::host.stolen_time = 5000;
        std::memset(area(), 0, 64);
    }
    ~StolenTimeTest() override { write_msr(msr_stolen_time, 0); }

    static std::uint8_t* area() { return backend::guest_ram() + area_at; }
    static std::uint64_t nanoseconds() {
        std::uint64_t value = 0;
        std::memcpy(&value, area(), sizeof value);
        return value;
    }
    static std::uint32_t version() {
        std::uint32_t value = 0;
        std::memcpy(&value, area() + 8, sizeof value);
        return value;
    }
    // After this time the host has stolen so much more.
    static void pass(std::uint64_t time, std::uint64_t stolen) {
        fake::host.now += time;
        *fake::host.stolen_time += stolen;
        show_stolen_time();
    }
};

TEST_F(StolenTimeTest, CpuidNamesTheInterface) {
    EXPECT_NE(guest_cpuid(1, 0).ecx & (1U << 31U), 0U);
    const backend::CpuidLeaf name = guest_cpuid(0x40000000, 0);
    EXPECT_EQ(name.eax, 0x40000001U);
    EXPECT_EQ(name.ebx, 0x4b4d564bU);
    EXPECT_EQ(feature_bits(), 1U << 5U);
}

TEST_F(StolenTimeTest, CountsFromTheRegistersWrite) {
    ASSERT_TRUE(write_msr(msr_stolen_time, area_at | enabled));
    EXPECT_EQ(read_msr(msr_stolen_time), area_at | enabled);
    pass(millisecond, 700);
    EXPECT_EQ(nanoseconds(), 700U);
    EXPECT_EQ(version(), 2U);
    pass(millisecond, 0);
    EXPECT_EQ(version(), 2U);
    pass(millisecond, 300);
    EXPECT_EQ(nanoseconds(), 1000U);
    EXPECT_EQ(version(), 4U);
}

TEST_F(StolenTimeTest, LooksOnceInAMillisecond) {
    ASSERT_TRUE(write_msr(msr_stolen_time, area_at | enabled));
    pass(millisecond, 700);
    pass(millisecond / 2, 1);
    EXPECT_EQ(nanoseconds(), 700U);
    pass(millisecond / 2, 1);
    EXPECT_EQ(nanoseconds(), 702U);
}

TEST_F(StolenTimeTest, AreaStaysAsItIsOnceDisabled) {
    ASSERT_TRUE(write_msr(msr_stolen_time, area_at | enabled));
    pass(millisecond, 700);
    ASSERT_TRUE(write_msr(msr_stolen_time, 0));
    pass(millisecond, 300);
    EXPECT_EQ(nanoseconds(), 700U);
    ASSERT_TRUE(write_msr(msr_stolen_time, area_at | enabled));
    pass(millisecond, 10);
    EXPECT_EQ(nanoseconds(), 710U);
}

TEST_F(StolenTimeTest, RefusesReservedBitsAndWhatIsNoMemory) {
    EXPECT_FALSE(write_msr(msr_stolen_time, area_at | enabled | 2));
    EXPECT_FALSE(write_msr(msr_stolen_time, area_at | enabled | 0x20));
    EXPECT_FALSE(write_msr(msr_stolen_time, 0xfee00000 | enabled));
    EXPECT_FALSE(write_msr(msr_stolen_time, ~std::uint64_t{0x3f} | enabled));
    EXPECT_TRUE(write_msr(msr_stolen_time, ~std::uint64_t{0x3f}));
    pass(millisecond, 700);
    EXPECT_EQ(nanoseconds(), 0U);
}

TEST_F(StolenTimeTest, IsNotOfferedIfTheHostDoesNotTell) {
    fake::host.stolen_time.reset();
    EXPECT_EQ(feature_bits(), 0U);
    EXPECT_FALSE(read_msr(msr_stolen_time));
    EXPECT_FALSE(write_msr(msr_stolen_time, area_at | enabled));
    fake::host.stolen_time = 0;
}

} // namespace

} // namespace previrt
