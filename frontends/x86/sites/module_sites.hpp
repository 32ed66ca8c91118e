// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

constexpr std::uint64_t most_announced_bytes = std::uint64_t{1} << 20U;
constexpr std::uint64_t announced_note_bytes = 28;

// The tag of the announcing instruction: the request of the guest's kernel.
enum class AnnouncementTag : std::uint8_t {
    table = 0,  // records; no answer
    module = 1, // records and note of a module; has an answer
    forget = 2, // code that goes away
    copy = 3,   // code that was copied and may run; has an answer
    read = 4,   // code that was copied and will be read
};

// Why a module must not run. The guest's kernel gets the number: docs/records.md.
enum class Refusal : std::uint8_t {
    none = 0,
    not_prepared = 1,
    other_version = 2,
    bad_records = 3,
    no_room = 4,
};

// Virtual addresses of the guest; 0 bytes: absent.
struct AnnouncedModule {
    std::uint64_t table;
    std::uint64_t table_bytes;
    std::uint64_t note;
    std::uint64_t note_bytes;
};

// Checks note and records as a whole, then rewrites the module's code in place. A refused module stays
// unchanged.
Refusal take_announced_module(const AnnouncedModule& module);
// The same without a note. A bad table stops the guest.
void take_announced_sites(std::uint64_t table, std::uint64_t bytes);
// Forgets all sites in this range.
void forget_announced_sites(std::uint64_t begin, std::uint64_t bytes);

} // namespace previrt
