// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "previrt/site_kinds.hpp"
#include "previrt/site_record.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace previrt {

// A record and the address it resolves to.
struct Site {
    std::uint64_t address;
    SiteRecord record;
};

// Executable bytes and the address at which they are loaded.
struct Text {
    std::uint64_t address;
    std::span<const std::uint8_t> bytes;
};

enum class RecordFault : std::uint8_t {
    none,
    unknown_kind,
    reserved_form,
    empty_instruction,
    longer_than_an_instruction,
    outside_text,
    unsorted,
    overlapping,
    wrong_padding,
    wrong_instruction,
    unknown_constant,
    distant_number,
};

const char* describe(RecordFault fault);

struct RecordCheck {
    RecordFault fault;
    std::size_t index; // of the record at fault
};

// A table is trusted as a whole or not at all: the first fault ends the check. `text` must be sorted by
// address.
RecordCheck check_records(std::span<const Site> sites, std::span<const Text> text);

// The sensitive instruction at the start of code that trapped without a record.
struct Recognized {
    const SiteKindInfo* kind; // nullptr: none
    std::size_t length;
};
Recognized recognize_instruction(std::span<const std::uint8_t> code);

// The number that the instruction of a layout constant loads: its last eight bytes.
std::uint64_t layout_number(std::span<const std::uint8_t> instruction);

// Checks the bytes of one site, from its first padding byte on.
RecordFault check_site_bytes(const SiteRecord& record, std::span<const std::uint8_t> bytes);

} // namespace previrt
