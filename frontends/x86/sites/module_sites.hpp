// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

constexpr std::uint64_t most_announced_bytes = std::uint64_t{1} << 20U;
constexpr std::uint64_t announced_note_bytes = 28;

// What a guest's kernel tells by the tag of the instruction.
enum class AnnouncementTag : std::uint8_t {
    table = 0,  // records; it takes no answer
    module = 1, // records and note of a module; it takes an answer
    forget = 2, // code that goes
};

// Why a module must not run: the guest's kernel gets the number. docs/records.md
enum class Refusal : std::uint8_t {
    none = 0,
    not_prepared = 1,
    other_version = 2,
    bad_records = 3,
    no_room = 4,
};

// At a guest's virtual addresses; 0 bytes: there is none.
struct AnnouncedModule {
    std::uint64_t table;
    std::uint64_t table_bytes;
    std::uint64_t note;
    std::uint64_t note_bytes;
};

// The note and the records are checked as a whole; then the module's code is rewritten in place. What is
// refused stays as it is.
Refusal take_announced_module(const AnnouncedModule& module);
// The same without a note. What cannot be taken stops the guest.
void take_announced_sites(std::uint64_t table, std::uint64_t bytes);
// No site begins there any more.
void forget_announced_sites(std::uint64_t begin, std::uint64_t bytes);

} // namespace previrt
