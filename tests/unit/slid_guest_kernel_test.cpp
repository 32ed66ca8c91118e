// SPDX-License-Identifier: BSD-2-Clause
// A guest's kernel that is moved, and one that is not.
#include "host/input_error.hpp"
#include "tests/unit/command.hpp"
#include "tests/unit/compress.hpp"
#include "tests/unit/make_bzimage.hpp"
#include "tests/unit/make_linux.hpp"
#include "toolchain/pack/guest_kernel.hpp"
#include "toolchain/pack/guest_package.hpp"
#include "toolchain/pack/slid_kernel.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <optional>

namespace previrt {

namespace {

constexpr std::uint64_t low_address = 0x7000'0000;
constexpr std::uint64_t guest_memory = std::uint64_t{64} << 20U;

Buffer slid_sample() {
    const KernelFile file = parse_kernel_file("kernel", make_linux(linux_sample));
    return slide_kernel(file, make_relocation_table(linux_sample_relocations), low_address);
}

Buffer with_table(Buffer kernel, const Buffer& table) {
    append(kernel, table);
    return bzimage_of(kernel);
}

Buffer sample_bzimage() {
    return with_table(make_linux(linux_sample), make_relocation_table(linux_sample_relocations));
}

Buffer slid_guest(const Buffer& file, std::uint64_t address = low_address) {
    GuestKernel kernel = read_guest_kernel("kernel", file, guest_memory);
    slide_guest_kernel(kernel, address);
    return kernel.elf;
}

TEST(SlidGuestKernel, ABzImagesKernelIsMovedByItsTable) {
    EXPECT_EQ(slid_guest(sample_bzimage()), slid_sample());
    EXPECT_TRUE(contains(refusal([] { slid_guest(sample_bzimage(), low_address + 1); }),
                         "kernel: cannot be loaded at 0x70000001: "));
}

TEST(SlidGuestKernel, AKernelWithoutATableIsRefused) {
    const std::string expected = "kernel: it is linked at 0xffffffff81000000, and has no relocation table to "
                                 "load it at 0x70000000 by: give the "
                                 "bzImage of a Linux with CONFIG_RELOCATABLE and CONFIG_RANDOMIZE_BASE";
    const Buffer linux = make_linux(linux_sample);
    EXPECT_EQ(refusal([&] { slid_guest(linux); }), expected);
    EXPECT_EQ(refusal([&] { slid_guest(bzimage_of(linux)); }), expected);
    EXPECT_TRUE(contains(
        refusal([&] { slid_guest(with_table(linux, Buffer(100, 0xaa))); }),
        "kernel: cannot be loaded at 0x70000000: the relocation table behind its ELF file is damaged"));
}

TEST(SlidGuestKernel, AKernelHasToRecordWhatIsElsewhere) {
    GuestKernel kernel = read_guest_kernel("kernel", sample_bzimage(), guest_memory);
    EXPECT_EQ(refusal([&] { slide_guest_kernel(kernel, low_address, layout_constants); }),
              "kernel: it does not record user_end, which is elsewhere here: build it anew by previrt "
              "build-linux");
}

TEST(SlidGuestKernel, AKernelOfTheFirstTwoGibStaysAsItIs) {
    const ElfFile file = make_linux_sections(linux_sample);
    std::vector<Elf64_Phdr> segments = linux_segments(file, linux_sample);
    for (Elf64_Phdr& segment : segments) {
        segment.p_vaddr = segment.p_paddr;
    }
    const Buffer low = with_segments(file, segments, physical(linux_text));
    EXPECT_EQ(slid_guest(low), low);
    segments[4].p_vaddr = 0x8000'0000 - linux_bss_size;
    const Buffer highest = with_segments(file, segments, physical(linux_text));
    EXPECT_EQ(slid_guest(highest), highest);
    segments[4].p_vaddr += 1;
    EXPECT_TRUE(contains(refusal([&] { slid_guest(with_segments(file, segments, physical(linux_text))); }),
                         "kernel: it is linked at 0x7fffd001, and has no relocation table"));
}

TEST(SlidGuestKernel, APackageHasTheKernelThatWasMoved) {
    const ScratchDirectory directory;
    const Buffer image = sample_bzimage();
    const std::string path = directory.write("kernel", std::string(image.begin(), image.end()));
    const auto package = [&](std::optional<std::uint64_t> address) {
        GuestKernel kernel = load_guest_kernel(path, guest_memory);
        if (address) {
            slide_guest_kernel(kernel, *address);
        }
        return make_guest_package(kernel, {.initrd = "", .append = "", .memory = guest_memory});
    };
    const auto holds = [](const Buffer& bytes, const Buffer& part) {
        return !std::ranges::search(bytes, part).empty();
    };
    EXPECT_TRUE(holds(package(std::nullopt), make_linux(linux_sample)));
    EXPECT_TRUE(holds(package(low_address), slid_sample()));
    EXPECT_FALSE(holds(package(low_address), make_linux(linux_sample)));
}

// Nothing but an InputError may come of damage, and what is accepted is a kernel still.
TEST(SlidGuestKernel, AnyByteChanged) {
    const Buffer good = sample_bzimage();
    for (std::size_t at = 0; at < good.size(); ++at) {
        for (const int change : {0x00, 0xff, good[at] + 1, good[at] ^ 0x40}) {
            Buffer changed = good;
            changed[at] = static_cast<std::uint8_t>(change);
            try {
                EXPECT_EQ(slid_guest(changed).size(), make_linux(linux_sample).size());
            } catch (const InputError& error) {
                EXPECT_EQ(std::string(error.what()).rfind("kernel: ", 0), 0U) << error.what();
            }
        }
    }
}

} // namespace

} // namespace previrt
