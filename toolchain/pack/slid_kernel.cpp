// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/pack/slid_kernel.hpp"

#include "host/input_error.hpp"
#include "toolchain/image/elf_headers.hpp"
#include "toolchain/image/places.hpp"
#include "toolchain/image/relocations.hpp"
#include "toolchain/image/site_table.hpp"
#include "toolchain/pack/load_segments.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

namespace previrt {

namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::uint64_t kernel_map = 0xffff'ffff'8000'0000; // Linux's __START_KERNEL_map
constexpr std::uint64_t processor_data = 0; // the link address of each processor's data, which do not move
constexpr std::uint64_t highest_address = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t two_gib = std::uint64_t{1} << 31U;
constexpr std::uint64_t four_gib = std::uint64_t{1} << 32U;
constexpr std::uint64_t large_page = std::uint64_t{1} << 21U; // Linux maps itself with these

constexpr std::uint8_t rex_w = 0x48; // its lower bits extend the numbers of registers
constexpr std::uint8_t rex_w_bit = 0x08;

bool sign_extends(std::uint64_t value) {
    return value < two_gib || value >= kernel_map;
}

template <typename Value>
Value read_at(Bytes bytes, std::uint64_t offset) {
    Value value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

template <typename Value>
void write_at(std::vector<std::uint8_t>& bytes, std::uint64_t offset, const Value& value) {
    std::memcpy(bytes.data() + offset, &value, sizeof value);
}

template <typename Entry>
void write_table(std::vector<std::uint8_t>& bytes, std::uint64_t offset, const std::vector<Entry>& entries) {
    if (!entries.empty()) {
        std::memcpy(bytes.data() + offset, entries.data(), entries.size() * sizeof(Entry));
    }
}

// The distance to add to every address, modulo 2^64.
std::uint64_t distance_to(std::uint64_t address, const std::vector<LoadSegment>& segments) {
    std::uint64_t first = highest_address;
    std::uint64_t last = kernel_map;
    for (const LoadSegment& segment : segments) {
        const std::uint64_t behind_first = segment.memory_size - 1; // a segment has at least one byte
        if (segment.virtual_address == processor_data) {
            continue;
        }
        if (segment.virtual_address < kernel_map ||
            behind_first > highest_address - segment.virtual_address) {
            throw InputError("its segment at " + hex(segment.virtual_address) + " is not in the last 2 GiB");
        }
        first = std::min(first, segment.virtual_address);
        last = std::max(last, segment.virtual_address + behind_first);
    }
    if (first == highest_address) {
        throw InputError("no segment to load");
    }
    const std::uint64_t length = last - first;
    // It lies in one half as a whole: a sum that wraps is in the other.
    if (!sign_extends(address) || (address < two_gib) != (address + length < two_gib)) {
        throw InputError("it would reach to " + hex(address + length) +
                         ", and code reaches only the first and the last 2 GiB");
    }
    if ((address - first) % large_page != 0) {
        throw InputError("it is linked at " + hex(first) + ", and moves by multiples of 2 MiB");
    }
    return address - first;
}

// A change in a section must be a change in memory.
void check_is_loaded(const Section& section, const std::vector<LoadSegment>& segments) {
    const bool loaded = std::ranges::any_of(segments, [&](const LoadSegment& segment) {
        const std::uint64_t inside = section.address - segment.virtual_address;
        return inside <= segment.file_size && section.bytes.size() <= segment.file_size - inside &&
               section.file_offset == segment.file_offset + inside;
    });
    if (!loaded && !section.bytes.empty()) {
        throw InputError(section.name + " is in no segment to load");
    }
}

// The distance of a REX prefix in front of a 32-bit field, if the instruction gives the same result without
// REX.W, except for its upper half, which is then 0. `code` is the code in front of the field. 0: it is no
// such instruction.
std::uint64_t distance_to_rex(Bytes code) {
    constexpr std::uint8_t add_to_rax = 0x05;
    constexpr std::uint8_t lea = 0x8d;
    constexpr std::uint8_t add_or_xor = 0x81;
    constexpr std::uint8_t mov = 0xc7;
    if (code.size() >= 2 && code[code.size() - 2] == rex_w && code.back() == add_to_rax) {
        return 2;
    }
    if (code.size() < 3 || (code[code.size() - 3] & 0xf8U) != rex_w) {
        return 0;
    }
    const std::uint8_t opcode = code[code.size() - 2];
    const unsigned mod = code.back() >> 6U;
    const unsigned extension = (code.back() >> 3U) & 7U;
    const unsigned rm = code.back() & 7U;
    const bool adds_displacement = opcode == lea && mod == 2 && rm != 4; // 4: a SIB byte would follow
    const bool takes_immediate = mod == 3 && ((opcode == add_or_xor && (extension == 0 || extension == 6)) ||
                                              (opcode == mov && extension == 0));
    return adds_displacement || takes_immediate ? 3 : 0;
}

class KernelSlide {
public:
    KernelSlide(const ElfImage& kernel, std::span<const Site> sites, std::uint64_t address)
        : kernel_(kernel), data_(find_processor_data(kernel)), sites_(sites), bytes_(kernel.file()),
          goes_low_(address < two_gib) {
        const std::vector<LoadSegment> segments = read_load_segments(bytes_);
        distance_ = distance_to(address, segments);
        for (const Section& section : kernel.sections()) {
            check_is_loaded(section, segments);
        }
    }

    std::vector<std::uint8_t> apply(std::span<const KernelRelocation> relocations) {
        std::uint64_t end = 0; // of the previous field
        for (const KernelRelocation& relocation : relocations) {
            try {
                move_field(relocation, end);
            } catch (const InputError& error) {
                const std::uint64_t place = relocation.section->address + relocation.in_section;
                throw InputError("the field at " + Places(kernel_).at(place).text() + ' ' + error.what());
            }
            end = relocation.address + relocation.size();
        }
        check_sites();
        move_headers();
        return std::move(bytes_);
    }

private:
    void move_field(const KernelRelocation& relocation, std::uint64_t end_of_previous) {
        const Section& section = *relocation.section;
        if (section.name == site_section) {
            throw InputError("belongs to the records, which do not change when a kernel moves");
        }
        check_is_inside_or_outside_sites(relocation.address, relocation.address + relocation.size());
        const std::uint64_t offset = section.file_offset + relocation.in_section;
        switch (relocation.field) {
        case RelocatedField::full_64:
            write_at(bytes_, offset, read_at<std::uint64_t>(bytes_, offset) + distance_);
            return;
        case RelocatedField::signed_32: {
            const auto linked =
                static_cast<std::uint64_t>(std::int64_t{read_at<std::int32_t>(bytes_, offset)});
            const std::uint64_t moved = linked + distance_;
            const bool is_address = linked >= kernel_map;
            const bool address_fits = goes_low_ ? moved < two_gib : moved >= kernel_map;
            const bool distance_fits = moved < four_gib || sign_extends(moved);
            if (!(is_address ? address_fits : distance_fits)) {
                throw InputError("would hold " + hex(moved) + ", which 32 bits cannot");
            }
            if (!sign_extends(moved)) {
                drop_sign_extension(relocation, end_of_previous);
            }
            write_at(bytes_, offset, static_cast<std::uint32_t>(moved));
            return;
        }
        case RelocatedField::inverse_32:
            move_away_from_processor_data(relocation, offset);
            return;
        }
    }

    // The instruction holds the distance from its own end to a processor's data: less, the further the kernel
    // moves up.
    void move_away_from_processor_data(const KernelRelocation& relocation, std::uint64_t offset) {
        const std::int64_t linked = read_at<std::int32_t>(bytes_, offset);
        // The instruction may have an immediate number behind the field.
        constexpr std::uint64_t slack = 16;
        const std::uint64_t target = relocation.address + static_cast<std::uint64_t>(linked);
        if (data_.section == nullptr || target + slack > data_.section->bytes.size() + (2 * slack)) {
            throw InputError("does not count to the data of a processor");
        }
        const auto moved = static_cast<std::int64_t>(static_cast<std::uint64_t>(linked) - distance_);
        if (moved != static_cast<std::int32_t>(moved)) {
            throw InputError("would hold " + hex(static_cast<std::uint64_t>(moved)) +
                             ", which 32 bits cannot");
        }
        write_at(bytes_, offset, static_cast<std::int32_t>(moved));
    }

    // A distance from __START_KERNEL_map, of 2 to 4 GiB: its instruction must not sign-extend it.
    void drop_sign_extension(const KernelRelocation& relocation, std::uint64_t end_of_previous) {
        const Section& section = *relocation.section;
        const std::uint64_t field = relocation.address;
        const std::uint64_t in_section = relocation.in_section;
        const std::uint64_t distance =
            section.executable ? distance_to_rex(Bytes(bytes_).subspan(section.file_offset, in_section)) : 0;
        if (distance == 0 || field - distance < end_of_previous) {
            throw InputError(
                "would hold more than 31 bits, and belongs to no instruction that is known to take 32");
        }
        check_is_inside_or_outside_sites(field - distance, field + sizeof(std::uint32_t));
        bytes_[section.file_offset + in_section - distance] &= static_cast<std::uint8_t>(~rex_w_bit);
    }

    // A site's instruction may have a field for an operand.
    void check_is_inside_or_outside_sites(std::uint64_t begin, std::uint64_t end) const {
        const auto behind = std::ranges::lower_bound(sites_, end, {}, &Site::address);
        if (behind == sites_.begin()) {
            return;
        }
        const Site& site = *(behind - 1);
        const std::uint64_t end_of_site = site.address + site.record.site_length();
        if (end_of_site > begin && (begin < site.address || end > end_of_site)) {
            throw InputError("is half inside the recorded site at " + hex(site.address));
        }
    }

    // Checks that no field was the opcode or the padding of a site.
    void check_sites() const {
        std::vector<Text> text = code_and_templates(kernel_);
        for (Text& part : text) {
            part.bytes = Bytes(bytes_).subspan(
                static_cast<std::size_t>(part.bytes.data() - kernel_.file().data()), part.bytes.size());
        }
        const RecordCheck check = check_records(sites_, text);
        if (check.fault != RecordFault::none) {
            throw InputError("a relocation changes the site at " + hex(sites_[check.index].address) + ": " +
                             describe(check.fault));
        }
    }

    void move_headers() {
        const auto move_address = [&](std::uint64_t& address) {
            if (address >= kernel_map) {
                address += distance_;
            }
        };
        Elf64_Ehdr header = read_file_header(bytes_);
        std::vector<Elf64_Phdr> segments = read_program_headers(bytes_);
        std::vector<Elf64_Shdr> sections = read_section_headers(bytes_);
        move_address(header.e_entry); // Linux's is physical
        for (Elf64_Phdr& segment : segments) {
            move_address(segment.p_vaddr);
        }
        for (Elf64_Shdr& section : sections) {
            move_address(section.sh_addr);
        }
        write_at(bytes_, 0, header);
        write_table(bytes_, header.e_phoff, segments);
        write_table(bytes_, header.e_shoff, sections);
    }

    const ElfImage& kernel_;
    ProcessorData data_;
    std::span<const Site> sites_; // by address
    std::vector<std::uint8_t> bytes_;
    bool goes_low_;
    std::uint64_t distance_ = 0;
};

} // namespace

std::vector<std::uint8_t> slide_kernel(const KernelFile& kernel, Bytes relocation_table,
                                       std::uint64_t address) {
    const std::vector<Site> sites = read_site_table(kernel, Places(kernel.elf));
    try {
        KernelSlide slide(kernel.elf, sites, address);
        return slide.apply(read_kernel_relocations(kernel.elf, relocation_table));
    } catch (const InputError& error) {
        throw InputError(kernel.path + ": cannot be loaded at " + hex(address) + ": " + error.what());
    }
}

} // namespace previrt
