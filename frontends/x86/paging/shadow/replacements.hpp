// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/paging/shadow/pool.hpp"

#include <cstdint>
#include <optional>

// A back-end may have user mode execute a copy in place of a page that it does not write. The copy is no
// memory of the guest's. The guest's page is read-only meanwhile: a store to it ends the replacement
// everywhere, and whatever changes an entry ends it there.
namespace previrt {

struct ReplacementEvents {
    // There a copy is executed no more.
    void (*left)(std::uint64_t machine_frame, shadow::Leaf leaf);
    // Nor anywhere: gives the frame of the copy of this page.
    std::uint64_t (*ended)(std::uint64_t guest_frame);
};
void shadow_start_replacements(ReplacementEvents events);

struct ExecutedPage {
    shadow::Leaf leaf; // of the current root
    std::uint64_t guest_frame;
};
// A page of the guest's at this address that user mode may execute and does not write; not a copy of one.
std::optional<ExecutedPage> shadow_executed_page(std::uint64_t address);
void shadow_replace(const ExecutedPage& page, std::uint64_t address, std::uint64_t machine_frame);

namespace shadow {

void leave_replacement(Leaf leaf, std::uint64_t machine_frame);
void end_replacement(std::uint64_t guest_frame);

} // namespace shadow

} // namespace previrt
