// SPDX-License-Identifier: BSD-2-Clause
// Kernels that were built, moved: what differs from what Linux makes of itself are REX prefixes alone.
#include "host/file.hpp"
#include "tests/unit/compress.hpp"
#include "tests/unit/linux_in_memory.hpp"
#include "toolchain/image/relocations.hpp"
#include "toolchain/image/site_table.hpp"
#include "toolchain/pack/guest_kernel.hpp"

#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>

namespace previrt {

namespace {

constexpr std::uint64_t low_address = 0x7000'0000;
constexpr std::uint32_t two_gib = 0x8000'0000;
constexpr std::uint64_t guest_memory = std::uint64_t{256} << 20U;

class SlidLinux : public testing::TestWithParam<const char*> {
protected:
    void SetUp() override {
        const std::string path = std::string(PREVIRT_SOURCE "/build/linux/") + GetParam() + "/bzImage";
        if (!std::filesystem::exists(path)) {
            GTEST_SKIP() << path << " is not there: ./check builds it";
        }
        linked_ = read_guest_kernel(path, read_file(path), guest_memory);
    }

    [[nodiscard]] const GuestKernel& linked() const { return linked_; }

    [[nodiscard]] Buffer slid(std::uint64_t address) const {
        GuestKernel kernel = linked_;
        slide_guest_kernel(kernel, address);
        return kernel.elf;
    }

    [[nodiscard]] Buffer as_linux_moves_itself(std::uint64_t delta) const {
        Buffer memory = load_elf(linked_.elf);
        handle_relocations(memory, linked_.relocation_table, delta);
        return memory;
    }

private:
    GuestKernel linked_;
};

std::uint32_t u32_at(const Buffer& memory, std::uint64_t place) {
    std::uint32_t value = 0;
    std::memcpy(&value, memory.data() + place, sizeof value);
    return value;
}

std::uint64_t start_of(const Buffer& elf) {
    return read_load_segments(elf).front().virtual_address;
}

std::vector<std::uint64_t> sites_of(const Buffer& elf) {
    const KernelFile file = parse_kernel_file("kernel", elf);
    std::vector<std::uint64_t> addresses;
    for (const Site& site : read_site_table(file, Places(file.elf))) {
        addresses.push_back(site.address - start_of(elf));
    }
    return addresses;
}

TEST_P(SlidLinux, IsWhatItMakesOfItself) {
    for (const std::uint64_t delta : {0x20'0000U, 0x1000'0000U, 0x3e00'0000U}) {
        const Buffer kernel = slid(start_of(linked().elf) + delta);
        EXPECT_TRUE(load_elf(kernel) == as_linux_moves_itself(delta)) << "moved by " << delta;
    }
}

TEST_P(SlidLinux, InTheFirstTwoGibFieldsHoldTheirAddressesAndLargeDistancesAreNotSignExtended) {
    const Buffer before = load_elf(linked().elf);
    const Buffer expected = as_linux_moves_itself(low_address - start_of(linked().elf));
    const Buffer memory = load_elf(slid(low_address));
    ASSERT_EQ(memory.size(), expected.size());

    std::size_t addresses = 0;
    std::size_t distances = 0;
    const ElfImage image = ElfImage::parse(linked().elf);
    for (const KernelRelocation& relocation : read_kernel_relocations(image, linked().relocation_table)) {
        if (relocation.field == RelocatedField::signed_32) {
            const std::uint64_t place = physical(relocation.address);
            const bool is_address = u32_at(before, place) >= two_gib;
            addresses += is_address ? 1 : 0;
            distances += is_address ? 0 : 1;
            EXPECT_EQ(u32_at(memory, place) < two_gib, is_address) << std::hex << relocation.address;
        }
    }
    EXPECT_GT(addresses, 1000U);
    EXPECT_GT(distances, 0U);

    std::size_t prefixes = 0;
    for (std::size_t at = 0; at < memory.size(); ++at) {
        if (memory[at] != expected[at]) {
            EXPECT_EQ(expected[at] & 0xf8U, 0x48U) << "at " << at;
            EXPECT_EQ(memory[at], expected[at] ^ 0x08U) << "at " << at;
            ++prefixes;
        }
    }
    EXPECT_EQ(prefixes, distances);
    RecordProperty("distances", static_cast<int>(distances));
}

TEST_P(SlidLinux, ItsSectionsAndRecordsMoveWithIt) {
    const Buffer kernel = slid(low_address);
    const ElfImage moved = ElfImage::parse(kernel);
    const ElfImage image = ElfImage::parse(linked().elf);
    const std::uint64_t delta = low_address - start_of(linked().elf);
    const ProcessorData data = find_processor_data(image); // of CONFIG_SMP, which stay
    for (const Section& section : image.sections()) {
        const bool moves = section.address != 0 || data.section == nullptr;
        EXPECT_TRUE(std::ranges::any_of(moved.sections(), [&](const Section& other) {
            return other.name == section.name && other.address == section.address + (moves ? delta : 0) &&
                   other.file_offset == section.file_offset && other.bytes.size() == section.bytes.size();
        })) << section.name;
    }
    EXPECT_EQ(start_of(kernel), low_address);
    EXPECT_EQ(moved.entry(), image.entry());
    EXPECT_FALSE(sites_of(kernel).empty());
    EXPECT_EQ(sites_of(kernel), sites_of(linked().elf));
}

INSTANTIATE_TEST_SUITE_P(Built, SlidLinux,
                         testing::Values("6.1-small-gcc", "6.12-small-clang", "6.1-container-gcc"),
                         [](const auto& kernel) {
                             std::string name = kernel.param;
                             std::ranges::replace_if(name, [](char c) { return c == '.' || c == '-'; }, '_');
                             return name;
                         });

} // namespace

} // namespace previrt
