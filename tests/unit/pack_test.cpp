// SPDX-License-Identifier: BSD-2-Clause
// What may become a guest, and the files that hand it to a VMM.
#include "host/digest.hpp"
#include "host/file.hpp"
#include "host/input_error.hpp"
#include "tests/unit/command.hpp"
#include "tests/unit/contains.hpp"
#include "tests/unit/make_bzimage.hpp"
#include "tests/unit/make_elf.hpp"
#include "toolchain/image/places.hpp"
#include "toolchain/pack/guest_kernel.hpp"
#include "toolchain/pack/load_segments.hpp"
#include "toolchain/pack/pack.hpp"
#include "toolchain/pack/package_file.hpp"
#include "toolchain/pack/xen_domain.hpp"

#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <limits>

namespace previrt {

namespace {

using Buffer = std::vector<std::uint8_t>;

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;
constexpr std::uint64_t guest_memory = 64 * mib;
constexpr std::uint64_t kernel_address = 16 * mib;
constexpr std::uint64_t no_room = std::numeric_limits<std::uint64_t>::max();

std::string message_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const InputError& error) {
        return error.what();
    }
    ADD_FAILURE() << "no InputError";
    return "";
}

// ---- sample kernels

Elf64_Phdr load(std::uint64_t address, std::uint64_t offset, std::uint64_t file_size,
                std::uint64_t memory_size) {
    return load_segment(address, offset, file_size, memory_size);
}

Buffer with_segments(const ElfFile& file, const std::vector<Elf64_Phdr>& segments) {
    return previrt::with_segments(file, segments, kernel_address);
}

const Buffer code{
    0x90,                                           // nop
    0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0xfa, // cli
    0xc3,                                           // ret
};
const std::vector<RecordedSite> one_site{
    {1, make_record(SiteKind::cli, encode_form(Shape::implicit, 0, false), 0, 7, 1)}};

ElfFile kernel_file(std::uint16_t type = ET_EXEC) {
    return make_elf_with_sites(type, code, one_site).build();
}

Buffer kernel_with(const std::vector<Elf64_Phdr>& segments) {
    return with_segments(kernel_file(), segments);
}

const std::vector<Elf64_Phdr> good_segments{load(kernel_address, 0, 64, mib),
                                            load(kernel_address + mib, 64, 64, 64)};

Buffer good_kernel() {
    return kernel_with(good_segments);
}

Buffer append(Buffer bytes, std::size_t more) {
    bytes.resize(bytes.size() + more, 0xaa);
    return bytes;
}

GuestKernel read(const Buffer& file, std::uint64_t memory = guest_memory) {
    return read_guest_kernel("kernel", file, memory);
}

std::string refusal(const Buffer& file, std::uint64_t memory = guest_memory) {
    return message_of([&] { read(file, memory); });
}

// ---- kernels

TEST(GuestKernel, AnElfFileIsTakenAsItIs) {
    const GuestKernel kernel = read(good_kernel());
    EXPECT_EQ(kernel.elf, good_kernel());
    EXPECT_TRUE(kernel.setup_header.empty());
    EXPECT_EQ(kernel.memory_end, kernel_address + mib + 64);
}

TEST(GuestKernel, ABzImageGivesItsElfAndSetupHeader) {
    const Buffer image = bzimage_of(append(good_kernel(), 100)); // as by a relocation table
    const GuestKernel kernel = read(image);
    EXPECT_EQ(kernel.elf, good_kernel());
    EXPECT_EQ(kernel.setup_header, Buffer(image.begin() + 0x1f1, image.begin() + 0x26c));
    EXPECT_EQ(longest_command_line(kernel.setup_header), 255U);
}

TEST(GuestKernel, ASetupHeaderOfNoSuchLengthIsRefused) {
    for (const int length : {0, 0x10, 0x39, 0x8f, 0xff}) {
        Buffer image = bzimage_of(good_kernel());
        image[0x201] = static_cast<std::uint8_t>(length);
        EXPECT_PRED2(contains, refusal(image), "kernel: its setup header ends at");
    }
    EXPECT_PRED2(contains, message_of([] { longest_command_line(Buffer(0x4a)); }), "how long");
}

TEST(GuestKernel, OnlyAnExecutableWithRecordsIsTaken) {
    EXPECT_PRED2(contains, refusal(with_segments(kernel_file(ET_DYN), good_segments)),
                 "kernel: not an executable (e_type 3)");
    EXPECT_PRED2(contains, refusal(kernel_file(ET_REL).bytes), "kernel: not an executable (e_type 1)");
    ElfBuilder plain(ET_EXEC);
    plain.add_code(".text", ElfBuilder::text_address, code);
    EXPECT_PRED2(contains, refusal(with_segments(plain.build(), good_segments)), "kernel: no records");
    ElfBuilder without_note(ET_EXEC);
    without_note.add_code(".text", ElfBuilder::text_address, code);
    without_note.add_site_table(one_site);
    EXPECT_PRED2(contains, refusal(with_segments(without_note.build(), good_segments)), "no previrt note");
    ElfFile damaged = kernel_file();
    damaged.edit<SiteRecord>("previrt_sites", 0, [](SiteRecord& record) { record.kind = 0; });
    EXPECT_PRED2(contains, refusal(with_segments(damaged, good_segments)), "kernel: record 0");
}

TEST(GuestKernel, SegmentsFitIntoTheGuest) {
    const auto refused = [](const std::vector<Elf64_Phdr>& segments, const std::string& part) {
        EXPECT_PRED2(contains, refusal(kernel_with(segments)), part);
    };
    refused({}, "no segment to load");
    refused({load(kernel_address, 0, 0, 0)}, "no segment to load");
    refused({load(mib - 1, 0, 16, 16)}, "begins in the first MiB");
    refused({load(0, 0, 16, 2 * mib)}, "begins in the first MiB");
    refused({load(guest_memory - 15, 0, 16, 16)}, "lies beyond the guest's 64 MiB");
    refused({load(kernel_address, 0, 16, guest_memory)}, "lies beyond");
    refused({load(no_room - 16, 0, 16, 16)}, "lies beyond");
    refused({load(kernel_address, 0, 16, mib), load(kernel_address + mib - 1, 0, 16, 16)}, "overlaps");
    refused({load(kernel_address + 8, 0, 16, 16), load(kernel_address, 0, 16, 16)}, "overlaps");
    refused({load(kernel_address, 0, 16, 16), load(kernel_address, 0, 16, 16)}, "overlaps");
    // One just fits.
    EXPECT_EQ(read(kernel_with({load(kernel_address, 0, 16, guest_memory - kernel_address)})).memory_end,
              guest_memory);
    EXPECT_PRED2(contains, refusal(good_kernel(), 16 * mib), "lies beyond the guest's 16 MiB");
}

TEST(GuestKernel, SegmentsLieInTheFile) {
    const auto refused = [](const Elf64_Phdr& segment, const std::string& part) {
        EXPECT_PRED2(contains, refusal(kernel_with({segment})), part);
    };
    refused(load(kernel_address, no_room, 1, mib), "outside the file");
    refused(load(kernel_address, 1, no_room, mib), "outside the file");
    refused(load(kernel_address, 64, good_kernel().size(), mib), "outside the file");
    refused(load(kernel_address, 0, 16, 15), "more bytes in the file than in memory");
    refused(load(no_room - 14, 0, 16, 16), "wrap around");
    refused(load(kernel_address, 0, 16, no_room - kernel_address + 1), "wrap around");
}

TEST(GuestKernel, ItsEntryIsInASegmentsContents) {
    for (const std::uint64_t entry : {std::uint64_t{0}, kernel_address - 1, kernel_address + 64, no_room}) {
        ElfFile file = kernel_file();
        file.bytes = with_segments(file, good_segments);
        file.edit_header([&](Elf64_Ehdr& header) { header.e_entry = entry; });
        EXPECT_PRED2(contains, refusal(file.bytes), "its entry");
    }
}

TEST(GuestKernel, ProgramHeadersOutsideTheFileAreRefused) {
    const auto refused = [](const std::function<void(Elf64_Ehdr&)>& change, const std::string& part) {
        ElfFile file = kernel_file();
        file.bytes = with_segments(file, good_segments);
        file.edit_header(change);
        EXPECT_PRED2(contains, refusal(file.bytes), part);
    };
    refused([](Elf64_Ehdr& header) { header.e_phoff = no_room; }, "program headers lie outside");
    refused([](Elf64_Ehdr& header) { header.e_phoff += 1; }, "program headers lie outside");
    refused([](Elf64_Ehdr& header) { header.e_phnum = 3; }, "program headers lie outside");
    refused([](Elf64_Ehdr& header) { header.e_phnum = PN_XNUM; }, "no kernel has");
    refused([](Elf64_Ehdr& header) { header.e_phentsize = 32; }, "no kernel has");
}

// Nothing but an InputError may come of damage.
TEST(GuestKernel, AnyByteChangedOrMissing) {
    for (const Buffer& good : {good_kernel(), bzimage_of(good_kernel())}) {
        for (std::size_t at = 0; at < good.size(); ++at) {
            for (const int change : {0x00, 0xff, good[at] + 1, good[at] ^ 0x40}) {
                Buffer changed = good;
                changed[at] = static_cast<std::uint8_t>(change);
                try {
                    EXPECT_LE(read(changed).memory_end, guest_memory);
                } catch (const InputError& error) {
                    EXPECT_EQ(std::string(error.what()).rfind("kernel: ", 0), 0U) << error.what();
                }
            }
            const Buffer cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(at));
            try {
                read(cut);
            } catch (const InputError& error) {
                EXPECT_NE(*error.what(), '\0');
            }
        }
    }
}

TEST(LoadSegments, HeadersAreNotReadFromAShortFile) {
    for (std::size_t size = 0; size < sizeof(Elf64_Ehdr); ++size) {
        EXPECT_PRED2(contains, message_of([&] { read_load_segments(Buffer(size)); }), "ends inside");
        EXPECT_PRED2(contains, message_of([&] { elf_file_size(Buffer(size)); }), "ends inside");
    }
}

TEST(LoadSegments, TheFilesSizeIsThatOfItsContents) {
    const Buffer kernel = good_kernel();
    EXPECT_EQ(elf_file_size(kernel), kernel.size());
    EXPECT_EQ(elf_file_size(append(kernel, 1)), kernel.size());
    EXPECT_PRED2(contains, message_of([&] { elf_file_size(Buffer(kernel.begin(), kernel.end() - 1)); }),
                 "outside the file");
}

// ---- packages

Buffer part_of(const Buffer& package, const PackagePart& part) {
    const auto begin = package.begin() + static_cast<std::ptrdiff_t>(part.offset);
    return {begin, begin + static_cast<std::ptrdiff_t>(part.bytes)};
}

PackageHeader header_of(const Buffer& package) {
    PackageHeader header;
    std::memcpy(&header, package.data(), sizeof header);
    return header;
}

TEST(Package, HoldsItsParts) {
    const Buffer kernel(5000, 1);
    const Buffer setup_header(123, 2);
    const Buffer initrd(package_alignment, 3);
    PackageContents contents{.flags = package_print_counters,
                             .guest_memory = guest_memory,
                             .kernel = kernel,
                             .setup_header = setup_header,
                             .initrd = initrd,
                             .command_line = "a b"};
    contents.kernel_sha256[0] = 0x11;
    contents.kernel_sha256[31] = 0x22;
    const Buffer package = make_package(contents);
    const PackageHeader header = header_of(package);
    EXPECT_EQ(std::memcmp(header.magic, "previrt", 8), 0);
    EXPECT_EQ(header.version, package_version);
    EXPECT_EQ(header.flags, package_print_counters);
    EXPECT_EQ(header.bytes, package.size());
    EXPECT_EQ(header.guest_memory, guest_memory);
    EXPECT_EQ(header.kernel_sha256[0], 0x11);
    EXPECT_EQ(header.kernel_sha256[31], 0x22);
    for (const PackagePart& part : {header.kernel, header.setup_header, header.initrd, header.command_line}) {
        EXPECT_EQ(part.offset % package_alignment, 0U);
    }
    EXPECT_EQ(part_of(package, header.kernel), kernel);
    EXPECT_EQ(part_of(package, header.setup_header), setup_header);
    EXPECT_EQ(part_of(package, header.initrd), initrd);
    EXPECT_EQ(part_of(package, header.command_line), (Buffer{'a', ' ', 'b', 0}));
}

TEST(Package, AbsentPartsTakeNothing) {
    const Buffer kernel(1, 1);
    PackageContents contents;
    contents.kernel = kernel;
    const PackageHeader header = header_of(make_package(contents));
    EXPECT_EQ(header.setup_header.bytes, 0U);
    EXPECT_EQ(header.initrd.bytes, 0U);
    EXPECT_EQ(header.kernel.offset, package_alignment);
    EXPECT_EQ(header.command_line.offset, 2 * package_alignment);
    EXPECT_EQ(header.command_line.bytes, 1U); // its NUL
}

TEST(XenDomain, ConfigurationQuotesPaths) {
    const std::string text = xl_configuration({.name = "guest",
                                               .kernel = R"(/a "b"\c/previrt-xen)",
                                               .module = "/p",
                                               .command_line = "a=\"b c\"",
                                               .memory = 300 * mib,
                                               .at_end = {},
                                               .vif = {},
                                               .disks = {}});
    EXPECT_PRED2(contains, text,
                 R"(kernel = "/a \"b\"\\c/previrt-xen")"
                 "\n");
    EXPECT_PRED2(contains, text, "ramdisk = \"/p\"\n");
    EXPECT_PRED2(contains, text,
                 R"(extra = "a=\"b c\"")"
                 "\n");
    EXPECT_PRED2(contains, text, "memory = 300\n");
    EXPECT_PRED2(contains, text, "type = \"pv\"\n");
    EXPECT_PRED2(contains, message_of([] {
                     xl_configuration({.name = "",
                                       .kernel = "/a\nb",
                                       .module = "",
                                       .command_line = {},
                                       .memory = 0,
                                       .at_end = {},
                                       .vif = {},
                                       .disks = {}});
                 }),
                 "control characters");
}

XenDomain smallest_domain() {
    return {.name = "guest",
            .kernel = "/v",
            .module = "/p",
            .command_line = {},
            .memory = mib,
            .at_end = {},
            .vif = {},
            .disks = {}};
}

TEST(XenDomain, WhatBecomesOfItAtItsEnd) {
    XenDomain domain = smallest_domain();
    EXPECT_EQ(xl_configuration(domain).find("extra"), std::string::npos);
    EXPECT_PRED2(contains, xl_configuration(domain), "on_reboot = \"restart\"\non_crash = \"destroy\"\n");
    domain.at_end = "preserve";
    EXPECT_PRED2(contains, xl_configuration(domain),
                 "on_poweroff = \"preserve\"\non_reboot = \"preserve\"\non_crash = \"preserve\"\n");
}

TEST(XenDomain, HasProcessors) {
    XenDomain domain = smallest_domain();
    EXPECT_PRED2(contains, xl_configuration(domain), "vcpus = 1\n");
    domain.processors = 16;
    EXPECT_PRED2(contains, xl_configuration(domain), "vcpus = 16\n");
}

TEST(XenDomain, HasDisks) {
    XenDomain domain = smallest_domain();
    EXPECT_EQ(xl_configuration(domain).find("disk = ["), std::string::npos);
    domain.disks = {"phy:/dev/vda,xvda,w", "vdev=xvdb,target=/dev/vdb"};
    EXPECT_PRED2(contains, xl_configuration(domain),
                 "disk = [\"phy:/dev/vda,xvda,w\", \"vdev=xvdb,target=/dev/vdb\"]\n");
}

TEST(XenDomain, MemoryHoldsGuestVmmAndPackage) {
    EXPECT_EQ(domain_memory(256 * mib, 0), (256 + 16 + 4 + 34) * mib);
    EXPECT_EQ(domain_memory(256 * mib, 1), (256 + 16 + 4 + 34 + 1) * mib);
    EXPECT_EQ(domain_memory(256 * mib, 0, 5), (256 + 16 + 4 + 34 + 2) * mib);
}

// ---- the command

class Pack : public testing::Test {
protected:
    PackOptions options() {
        PackOptions options;
        options.kernel = file("kernel", bzimage_of(good_kernel()));
        options.memory = guest_memory;
        options.vmm = directory_.write("vmm", "a VMM");
        options.output = directory_.path("out/of/it");
        return options;
    }

    std::string file(const std::string& name, const Buffer& bytes) {
        return directory_.write(name, std::string(bytes.begin(), bytes.end()));
    }

    static std::string refusal(const PackOptions& options) {
        return message_of([&] { pack_for_xen(options); });
    }

    [[nodiscard]] const ScratchDirectory& directory() const { return directory_; }

private:
    ScratchDirectory directory_;
};

TEST_F(Pack, WritesWhatXenStarts) {
    PackOptions options = this->options();
    options.initrd = directory().write("initrd", "an initrd");
    options.append = "quiet";
    options.print_counters = true;
    const PackedGuest packed = pack_for_xen(options);
    EXPECT_EQ(read_text(packed.vmm), "a VMM");
    EXPECT_EQ(packed.kernel_sha256, sha256_of_file(options.kernel));
    EXPECT_EQ(packed.domain_memory % mib, 0U);
    EXPECT_GT(packed.domain_memory, guest_memory);

    const Buffer package = read_file(packed.package);
    const PackageHeader header = header_of(package);
    EXPECT_EQ(part_of(package, header.kernel), good_kernel());
    EXPECT_EQ(header.setup_header.bytes, 0x26cU - 0x1f1U);
    const Buffer initrd = part_of(package, header.initrd);
    EXPECT_EQ(std::string(initrd.begin(), initrd.end()), "an initrd");
    const Buffer line = part_of(package, header.command_line);
    EXPECT_EQ(std::string(line.begin(), line.end() - 1), "console=ttyS0 panic=-1 quiet");
    EXPECT_EQ(header.flags, package_print_counters);
    std::string digest;
    for (const std::uint8_t byte : header.kernel_sha256) {
        digest += hex(0x100U + byte).substr(3);
    }
    EXPECT_EQ(digest, packed.kernel_sha256);

    const std::string configuration = read_text(packed.configuration);
    EXPECT_PRED2(contains, configuration, "kernel = \"" + packed.vmm + "\"");
    EXPECT_PRED2(contains, configuration, "memory = " + std::to_string(packed.domain_memory / mib) + "\n");
}

TEST_F(Pack, WhatDoesNotFitIsRefused) {
    PackOptions large = options();
    large.initrd = file("initrd", Buffer(guest_memory - kernel_address - mib));
    EXPECT_PRED2(contains, refusal(large), "--memory: 64 MiB cannot hold the kernel");
    PackOptions wordy = options();
    wordy.append = std::string(300, 'x');
    EXPECT_PRED2(contains, refusal(wordy), "this kernel takes 255");
    for (const std::uint64_t memory : {std::uint64_t{0}, mib + 1, (mib << 20U) + mib, no_room}) {
        PackOptions odd = options();
        odd.memory = memory;
        EXPECT_PRED2(contains, refusal(odd), "--memory: a number of MiB");
    }
    PackOptions without = options();
    without.vmm = directory().path("none");
    EXPECT_PRED2(contains, refusal(without), "none: No such file");
    EXPECT_FALSE(run_command("test -e " + options().output).status == 0);
}

TEST_F(Pack, TheCommandSaysWhatIsMissing) {
    const auto refused = [](const std::string& arguments, const std::string& part) {
        const CommandResult result = run_command(PREVIRT " pack " + arguments);
        EXPECT_EQ(result.status, 2) << result.output;
        EXPECT_PRED2(contains, result.output, part);
    };
    const std::string kernel = options().kernel;
    refused(kernel + " --output " + directory().path("o"), "--for is required");
    refused("--for kvm " + kernel + " --output " + directory().path("o"), "--for");
    refused("--for xen " + kernel, "--output is required");
}

} // namespace

} // namespace previrt
