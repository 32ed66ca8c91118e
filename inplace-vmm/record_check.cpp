// SPDX-License-Identifier: BSD-2-Clause
#include "inplace-vmm/record_check.hpp"

#include "inplace-vmm/encoding.hpp"
#include "previrt/layout_constants.hpp"

#include <algorithm>
#include <ranges>

namespace previrt {

namespace {

constexpr unsigned longest_instruction = 15;
constexpr std::uint8_t cs_prefix = 0x2e;
constexpr std::uint8_t int3 = 0xcc;
constexpr std::uint8_t nop_3[] = {0x0f, 0x1f, 0x00};
constexpr std::uint8_t nop_4[] = {0x0f, 0x1f, 0x40, 0x00};

// With other instructions the prefix has no meaning, or makes another instruction.
constexpr bool may_repeat(SiteKind kind) {
    return kind == SiteKind::ins || kind == SiteKind::outs;
}

bool all_are(std::span<const std::uint8_t> bytes, std::uint8_t value) {
    return std::ranges::all_of(bytes, [value](std::uint8_t byte) { return byte == value; });
}

bool padding_matches(const SiteKindInfo& info, std::span<const std::uint8_t> bytes) {
    switch (info.padding) {
    case Padding::front:
        return all_are(bytes, cs_prefix);
    case Padding::trap:
        return all_are(bytes, int3);
    case Padding::nop:
        return bytes.size() == info.nop_bytes &&
               (std::ranges::equal(bytes, nop_3) || std::ranges::equal(bytes, nop_4));
    }
    return false;
}

bool width_is_coded(std::uint8_t form) {
    return ((form >> 3U) & 7U) <= 4;
}

RecordFault check_fields(const SiteRecord& record) {
    const SiteKindInfo* const info = find_site_kind(record.kind);
    if (info == nullptr) {
        return RecordFault::unknown_kind;
    }
    if ((record.form & 0x80U) != 0 || record.shape() > Shape::dx || !width_is_coded(record.form) ||
        (record.repeats() && !may_repeat(info->kind))) {
        return RecordFault::reserved_form;
    }
    if (record.instruction_length() == 0) {
        return RecordFault::empty_instruction;
    }
    const unsigned executed =
        info->padding == Padding::front ? record.site_length() : record.instruction_length();
    return executed > longest_instruction ? RecordFault::longer_than_an_instruction : RecordFault::none;
}

// The text that contains all of [address, address + length), or nullptr.
const Text* find_text(std::span<const Text> text, std::uint64_t address, std::uint64_t length) {
    std::size_t low = 0;
    std::size_t high = text.size();
    while (low < high) {
        const std::size_t middle = low + ((high - low) / 2);
        if (text[middle].address <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return nullptr;
    }
    const Text& candidate = text[low - 1];
    const std::uint64_t offset = address - candidate.address;
    const std::uint64_t size = candidate.bytes.size();
    return offset < size && length <= size - offset ? &candidate : nullptr;
}

RecordFault check_constant(const SiteRecord& record, std::span<const std::uint8_t> instruction) {
    const LayoutConstantInfo* const constant = find_layout_constant(record.operand);
    if (constant == nullptr) {
        return RecordFault::unknown_constant;
    }
    return constant->covers(layout_number(instruction)) ? RecordFault::none : RecordFault::distant_number;
}

RecordFault check_site(const Site& site, std::span<const Text> text) {
    const RecordFault fields = check_fields(site.record);
    if (fields != RecordFault::none) {
        return fields;
    }
    const std::uint64_t length = site.record.site_length();
    const Text* const found = find_text(text, site.address, length);
    if (found == nullptr) {
        return RecordFault::outside_text;
    }
    return check_site_bytes(site.record, found->bytes.subspan(site.address - found->address, length));
}

} // namespace

Recognized recognize_instruction(std::span<const std::uint8_t> code) {
    const std::size_t longest = std::min<std::size_t>(code.size(), longest_instruction);
    for (const SiteKindInfo& info : site_kinds) {
        if (info.annotates != Annotates::nothing) {
            continue;
        }
        for (const Encoding& encoding : std::span(info.encodings, info.encoding_count)) {
            for (std::size_t length = 1; length <= longest; ++length) {
                const auto bytes = code.first(length);
                if (encoding_matches(encoding, false, bytes) ||
                    (may_repeat(info.kind) && encoding_matches(encoding, true, bytes))) {
                    return {&info, length};
                }
            }
        }
    }
    return {nullptr, 0};
}

std::uint64_t layout_number(std::span<const std::uint8_t> instruction) {
    std::uint64_t number = 0;
    for (const std::uint8_t byte : std::views::reverse(instruction.last(sizeof number))) {
        number = (number << 8U) | byte;
    }
    return number;
}

const char* describe(RecordFault fault) {
    switch (fault) {
    case RecordFault::none:
        return "no fault";
    case RecordFault::unknown_kind:
        return "its kind is unknown";
    case RecordFault::reserved_form:
        return "its operand form has a reserved value";
    case RecordFault::empty_instruction:
        return "its instruction has no bytes";
    case RecordFault::longer_than_an_instruction:
        return "its instruction is longer than 15 bytes";
    case RecordFault::outside_text:
        return "its site is not inside an executable section or .rodata";
    case RecordFault::unsorted:
        return "its site lies before that of the record in front of it";
    case RecordFault::overlapping:
        return "its site overlaps that of the record in front of it";
    case RecordFault::wrong_padding:
        return "the padding at its site is not the padding of its kind";
    case RecordFault::wrong_instruction:
        return "the bytes at its site are not an instruction of its kind";
    case RecordFault::unknown_constant:
        return "its layout constant is unknown";
    case RecordFault::distant_number:
        return "the number at its site is not near the place of its layout constant";
    }
    return "unknown fault";
}

RecordFault check_site_bytes(const SiteRecord& record, std::span<const std::uint8_t> bytes) {
    const RecordFault fields = check_fields(record);
    if (fields != RecordFault::none) {
        return fields;
    }
    if (bytes.size() != record.site_length()) {
        return RecordFault::outside_text;
    }
    const SiteKindInfo& info = *find_site_kind(record.kind);
    const bool in_front = info.padding == Padding::front;
    const auto padding =
        in_front ? bytes.first(record.padding_length()) : bytes.last(record.padding_length());
    const auto instruction =
        in_front ? bytes.last(record.instruction_length()) : bytes.first(record.instruction_length());
    if (!padding_matches(info, padding)) {
        return RecordFault::wrong_padding;
    }
    // On AMD, lock mov %cr0 is an access to CR8.
    if (has_lock_prefix(instruction) && info.annotates != Annotates::level) {
        return RecordFault::wrong_instruction;
    }
    const bool known =
        std::ranges::any_of(std::span(info.encodings, info.encoding_count), [&](const Encoding& encoding) {
            return encoding_matches(encoding, record.repeats(), instruction);
        });
    if (!known) {
        return RecordFault::wrong_instruction;
    }
    return info.annotates == Annotates::constant ? check_constant(record, instruction) : RecordFault::none;
}

RecordCheck check_records(std::span<const Site> sites, std::span<const Text> text) {
    std::uint64_t previous = 0;
    std::uint64_t end_of_previous = 0;
    for (std::size_t i = 0; i < sites.size(); ++i) {
        const Site& site = sites[i];
        const RecordFault fault = check_site(site, text);
        if (fault != RecordFault::none) {
            return {fault, i};
        }
        if (site.address < previous) {
            return {RecordFault::unsorted, i};
        }
        if (site.address < end_of_previous) {
            return {RecordFault::overlapping, i};
        }
        previous = site.address;
        end_of_previous = site.address + site.record.site_length(); // inside its text: cannot wrap
    }
    return {RecordFault::none, sites.size()};
}

} // namespace previrt
