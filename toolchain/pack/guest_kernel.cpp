// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/pack/guest_kernel.hpp"

#include "host/digest.hpp"
#include "host/file.hpp"
#include "host/input_error.hpp"
#include "toolchain/image/places.hpp"
#include "toolchain/image/site_table.hpp"
#include "toolchain/pack/load_segments.hpp"
#include "toolchain/pack/slid_kernel.hpp"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <utility>

namespace previrt {

namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::uint64_t first_mib = std::uint64_t{1} << 20U;
constexpr std::uint64_t first_2_gib = std::uint64_t{1} << 31U;

// Documentation/arch/x86/boot.rst: the header runs to 0x202 plus the byte at 0x201; the boot parameters have
// this much room for it.
constexpr std::size_t setup_header_start = 0x1f1;
constexpr std::size_t jump_length_offset = 0x201;
constexpr std::size_t jump_base = 0x202;
constexpr std::size_t setup_header_limit = 0x290;
constexpr std::size_t command_line_size_offset = 0x238;

std::vector<std::uint8_t> setup_header_of(Bytes file) {
    const std::size_t end = jump_base + file[jump_length_offset];
    if (end > file.size() || end > setup_header_limit || end < command_line_size_offset + 4) {
        throw InputError("its setup header ends at " + hex(end) + ", not between " +
                         hex(command_line_size_offset + 4) + " and " +
                         hex(std::min(file.size(), setup_header_limit)));
    }
    const Bytes header = file.subspan(setup_header_start, end - setup_header_start);
    return {header.begin(), header.end()};
}

void check_is_executable(const ElfImage& image) {
    Elf64_Ehdr header;
    std::memcpy(&header, image.file().data(), sizeof header); // ElfImage is at least this large
    if (header.e_type != ET_EXEC) {
        throw InputError("not an executable (e_type " + std::to_string(header.e_type) +
                         "): a guest's kernel is a bzImage or a linked ELF file");
    }
}

std::string range_of(const LoadSegment& segment) {
    return "the segment at " + hex(segment.physical_address) + "-" + hex(segment.end());
}

// Returns the end of the last one.
std::uint64_t check_segments(const std::vector<LoadSegment>& segments, std::uint64_t guest_memory) {
    if (segments.empty()) {
        throw InputError("no segment to load");
    }
    std::uint64_t end = first_mib;
    for (const LoadSegment& segment : segments) {
        if (segment.physical_address < first_mib) {
            throw InputError(range_of(segment) + " begins in the first MiB, where the platform's own is");
        }
        if (segment.physical_address < end) {
            throw InputError(range_of(segment) + " overlaps the one before it");
        }
        end = segment.end();
        if (end > guest_memory) {
            throw InputError(range_of(segment) + " lies beyond the guest's " +
                             std::to_string(guest_memory >> 20U) + " MiB of RAM");
        }
    }
    return end;
}

void check_entry(std::uint64_t entry, const std::vector<LoadSegment>& segments) {
    const bool inside = std::ranges::any_of(segments, [&](const LoadSegment& segment) {
        return entry >= segment.physical_address && entry - segment.physical_address < segment.file_size;
    });
    if (!inside) {
        throw InputError("its entry " + hex(entry) + " is no physical address of a segment's contents");
    }
}

GuestKernel check(const KernelFile& kernel, Bytes file, std::uint64_t guest_memory) {
    check_is_executable(kernel.elf);
    const Bytes unpacked = kernel.elf.file();
    const Bytes elf = unpacked.first(elf_file_size(unpacked));
    const Bytes behind = unpacked.subspan(elf.size());
    const std::vector<LoadSegment> segments = read_load_segments(elf);
    const std::uint64_t end = check_segments(segments, guest_memory);
    check_entry(kernel.elf.entry(), segments);
    GuestKernel guest{.path = kernel.path,
                      .elf = {elf.begin(), elf.end()},
                      .relocation_table = {},
                      .setup_header = {},
                      .memory_end = end,
                      .sha256 = {}};
    if (kernel.packed) {
        guest.relocation_table = {behind.begin(), behind.end()};
        guest.setup_header = setup_header_of(file);
    }
    return guest;
}

bool is_linked_low(const LoadSegment& segment) {
    return segment.virtual_address < first_2_gib &&
           segment.memory_size <= first_2_gib - segment.virtual_address;
}

// A kernel of an older previrt, or one without RANDOMIZE_MEMORY or with X86_5LEVEL, would use the VMM's
// addresses.
void require_recorded(const KernelFile& kernel, std::span<const LayoutConstantInfo> layout) {
    if (layout.empty()) {
        return;
    }
    const std::vector<Site> sites = read_site_table(kernel, Places(kernel.elf));
    for (const LayoutConstantInfo& constant : layout) {
        const bool is_recorded = std::ranges::any_of(sites, [&](const Site& site) {
            return static_cast<SiteKind>(site.record.kind) == SiteKind::layout_constant &&
                   site.record.operand == static_cast<std::uint8_t>(constant.constant);
        });
        if (!is_recorded) {
            throw InputError(kernel.path + ": it does not record " + std::string(constant.name) +
                             ", which is elsewhere here: build it anew by previrt build-linux");
        }
    }
}

} // namespace

GuestKernel load_guest_kernel(const std::string& path, std::uint64_t guest_memory) {
    constexpr std::uint64_t most_memory = first_mib << 20U; // no sum of sizes wraps
    if (guest_memory == 0 || guest_memory % first_mib != 0 || guest_memory > most_memory) {
        throw InputError("--memory: a number of MiB, up to 1T");
    }
    return read_guest_kernel(path, read_file(path), guest_memory);
}

GuestKernel read_guest_kernel(const std::string& path, const std::vector<std::uint8_t>& file,
                              std::uint64_t guest_memory) {
    const KernelFile kernel = parse_kernel_file(path, file);
    GuestKernel guest;
    try {
        guest = check(kernel, file, guest_memory);
    } catch (const InputError& error) {
        throw InputError(path + ": " + error.what());
    }
    if (read_site_table(kernel, Places(kernel.elf)).empty()) {
        throw InputError(path + ": no records of sensitive instructions: it was built without previrt's "
                                "macros (previrt build-linux makes one with them)");
    }
    guest.sha256 = sha256_of(file);
    return guest;
}

void slide_guest_kernel(GuestKernel& kernel, std::uint64_t address,
                        std::span<const LayoutConstantInfo> layout) {
    const std::vector<LoadSegment> segments = read_load_segments(kernel.elf); // checked before
    const auto high = std::ranges::find_if_not(segments, is_linked_low);
    if (high == segments.end()) {
        return;
    }
    if (kernel.relocation_table.empty()) {
        throw InputError(
            kernel.path + ": it is linked at " + hex(high->virtual_address) +
            ", and has no relocation table to load it at " + hex(address) +
            " by: give the bzImage of a Linux with CONFIG_RELOCATABLE and CONFIG_RANDOMIZE_BASE");
    }
    const KernelFile file{kernel.path, std::nullopt, ElfImage::parse(std::move(kernel.elf))};
    require_recorded(file, layout);
    kernel.elf = slide_kernel(file, kernel.relocation_table, address);
    kernel.relocation_table.clear(); // it names the fields' old addresses
}

std::uint32_t longest_command_line(Bytes setup_header) {
    std::uint32_t size = 0;
    constexpr std::size_t offset = command_line_size_offset - setup_header_start;
    if (setup_header.size() < offset + sizeof size) {
        throw InputError("the setup header does not say how long a command line may be");
    }
    std::memcpy(&size, setup_header.data() + offset, sizeof size);
    return size;
}

} // namespace previrt
