// SPDX-License-Identifier: BSD-2-Clause
// Packages and tables of records as a hostile file would have them: loaded or refused, nothing else.
#include "frontends/x86/devices/machine.hpp"
#include "frontends/x86/linux_boot/guest_image.hpp"
#include "frontends/x86/processor/exceptions.hpp"
#include "frontends/x86/sites/module_sites.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/vcpu.hpp"
#include "tests/unit/vmm/load_package.hpp"
#include "tests/unit/vmm/make_package.hpp"

#include <gtest/gtest.h>
#include <random>

namespace previrt {

namespace {

using Tiny = TinyPackage;

TEST(Package, IsLoadedAndRewritten) {
    const auto stop = load_package(make_tiny_package());
    ASSERT_FALSE(stop) << *stop;
    EXPECT_EQ(vcpu.registers.rip, Tiny::physical + Tiny::text_at);
    const std::uint8_t* const text = backend::guest_ram() + Tiny::physical + Tiny::text_at;
    EXPECT_EQ(text[0], 0xc6); // movb
    EXPECT_EQ(text[8], 0xe8); // call
    EXPECT_EQ(text[16], 0xe8);
    EXPECT_EQ(text[24], 0xe9); // jmp
    EXPECT_EQ(known_sites().size(), 4U);
    EXPECT_EQ(guest_link_address(Tiny::physical + 5), Tiny::address + 5);
}

std::uint8_t read_rtc(std::uint8_t index, std::uint64_t now) {
    pc.rtc.write(0x70, index, now);
    return pc.rtc.read(0x71, now);
}

// However long it took to load the guest.
TEST(Package, TheDateIsThatOfTheGuestsStart) {
    constexpr std::uint64_t start = 7'500'000'000; // 22:13:27.75
    const auto stop = load_package(make_tiny_package(), start);
    ASSERT_FALSE(stop) << *stop;
    EXPECT_EQ(read_rtc(4, start), 0x22);
    EXPECT_EQ(read_rtc(2, start), 0x13);
    EXPECT_EQ(read_rtc(0, start), 0x27);
    EXPECT_EQ(read_rtc(0, start + 249'000'000), 0x27);
    EXPECT_EQ(read_rtc(0, start + 251'000'000), 0x28);
    EXPECT_EQ(read_rtc(9, start), 0x23);
}

TEST(Package, TheCommandLineSaysHowFastTheCounterIs) {
    const auto stop = load_package(make_tiny_package());
    ASSERT_FALSE(stop) << *stop;
    constexpr std::size_t command_line_at = 0x81000;
    EXPECT_STREQ(reinterpret_cast<const char*>(backend::guest_ram() + command_line_at),
                 "tsc_early_khz=2345678 tsc=reliable quiet");
}

TEST(Package, EveryShorterFileIsRefused) {
    const std::vector<std::uint8_t> whole = make_tiny_package();
    for (std::size_t size = 0; size < whole.size(); size += size < 256 ? 1 : 37) {
        const std::vector<std::uint8_t> part(whole.begin(),
                                             whole.begin() + static_cast<std::ptrdiff_t>(size));
        EXPECT_TRUE(load_package(part)) << size;
    }
}

// Each field of every header and record, with the values at which arithmetic goes wrong.
TEST(Package, DamagedFieldsAreLoadedOrRefused) {
    const std::vector<std::uint8_t> whole = make_tiny_package();
    const std::pair<std::size_t, std::size_t> areas[] = {
        {0, 96},
        {Tiny::kernel_at, sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr)},
        {Tiny::kernel_at + Tiny::records_at, 4 * sizeof(SiteRecord)},
        {Tiny::kernel_at + Tiny::sections_at, Tiny::section_count * sizeof(Elf64_Shdr)}};
    constexpr std::uint64_t values[] = {0,
                                        1,
                                        7,
                                        0x7f,
                                        0xff,
                                        0xfff,
                                        Tiny::bytes,
                                        Tiny::bytes + 1,
                                        0x1ffff8,
                                        0x7fffffff,
                                        0x80000000,
                                        0xfffffff8,
                                        0x7fffffffffffffff,
                                        0x8000000000000000,
                                        0xfffffffffffffff8,
                                        0xffffffffffffffff};
    unsigned refused = 0;
    unsigned loaded = 0;
    for (const auto& [begin, size] : areas) {
        for (std::size_t at = begin; at < begin + size; at += 4) {
            for (const std::uint64_t value : values) {
                for (const std::size_t width :
                     {std::size_t{1}, std::size_t{2}, std::size_t{4}, std::size_t{8}}) {
                    if (at + width > begin + size || (width < 8 && value >> (8 * width) != 0)) {
                        continue;
                    }
                    std::vector<std::uint8_t> damaged = whole;
                    std::memcpy(damaged.data() + at, &value, width);
                    ++(load_package(damaged) ? refused : loaded);
                }
            }
        }
    }
    EXPECT_GT(refused, 1000U);
    EXPECT_GT(loaded, 100U); // alignment, flags and other fields that nothing depends on
}

TEST(Package, RandomDamageIsLoadedOrRefused) {
    const std::vector<std::uint8_t> whole = make_tiny_package();
    std::mt19937_64 random(1);
    for (unsigned i = 0; i < 3000; ++i) {
        std::vector<std::uint8_t> damaged = whole;
        for (unsigned change = 0; change <= random() % 4; ++change) {
            const std::size_t at =
                random() % 3 == 0 ? random() % 128 : Tiny::kernel_at + (random() % Tiny::kernel_bytes);
            damaged[at] = static_cast<std::uint8_t>(random());
        }
        (void)load_package(damaged);
    }
}

// The guest announces a module's records, at an address of its own choice.
TEST(AnnouncedSites, AnyTableIsTakenOrRefused) {
    ASSERT_FALSE(load_package(make_tiny_package()));
    constexpr std::uint64_t table = 0x180000;
    constexpr std::uint64_t code = 0x181000;
    constexpr std::uint64_t idt = 0x183000;
    constexpr std::uint64_t stack = 0x186000;
    constexpr std::uint64_t handler = 0x1234;
    for (unsigned vector = 0; vector < 32; ++vector) {
        constexpr std::uint64_t gate[2] = {std::uint64_t{0x8e00} << 32U | 0x10 << 16U | handler, 0};
        std::memcpy(backend::guest_ram() + idt + (std::size_t{vector} * sizeof(gate)), gate, sizeof(gate));
    }
    vcpu.idt = {.base = idt, .limit = (32 * 16) - 1};
    std::mt19937_64 random(1);
    unsigned taken = 0;
    unsigned refused = 0;
    for (unsigned i = 0; i < 5000; ++i) {
        std::uint8_t* const text = backend::guest_ram() + code;
        std::memset(text, 0x2e, 64);
        text[4] = 0xfb; // sti
        SiteRecord records[2] = {};
        for (SiteRecord& record : records) {
            const auto place =
                static_cast<std::int32_t>(code - table) - static_cast<std::int32_t>((&record - records) * 8);
            record = {.site = random() % 4 != 0 ? place : static_cast<std::int32_t>(random()),
                      .kind = static_cast<std::uint8_t>(random() % 4 != 0 ? 2 : random()),
                      .form = static_cast<std::uint8_t>(random() % 4 != 0 ? 0 : random()),
                      .operand = static_cast<std::uint8_t>(random()),
                      .lengths = static_cast<std::uint8_t>(random() % 2 != 0 ? 0x41 : random())};
        }
        std::memcpy(backend::guest_ram() + table, records, sizeof(records));
        const std::uint64_t bytes = random() % 8 == 0 ? random() : 8;
        try {
            take_announced_sites(random() % 8 == 0 ? random() : table, bytes);
            ++taken;
        } catch (const fake::Stop&) {
            ++refused;
        }
        if (exception_is_raised()) { // the table is not mapped
            vcpu.registers.general[rsp] = stack;
            deliver_raised();
            ASSERT_EQ(vcpu.registers.rip, handler);
        }
    }
    EXPECT_GT(taken, 100U);
    EXPECT_GT(refused, 100U);
}

} // namespace

} // namespace previrt
