// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/paging/shadow/pool.hpp"

#include <cstdint>
#include <optional>

// A back-end may let user mode execute a copy of a page that user mode does not write. The copy is not the
// guest's memory. The guest's page is read-only meanwhile: a store to it ends the replacement in all tables,
// and a change of an entry ends it in that entry.
namespace previrt {

struct ReplacementEvents {
    // This leaf no longer maps the copy.
    void (*left)(std::uint64_t machine_frame, shadow::Leaf leaf);
    // No leaf maps it any more. Returns the frame of the copy of this page.
    std::uint64_t (*ended)(std::uint64_t guest_frame);
};
void shadow_start_replacements(ReplacementEvents events);

struct ExecutedPage {
    shadow::Leaf leaf; // in the current root
    std::uint64_t guest_frame;
};
// The guest's page at this address, if user mode may execute and does not write it, and if it is no copy.
std::optional<ExecutedPage> shadow_executed_page(std::uint64_t address);
void shadow_replace(const ExecutedPage& page, std::uint64_t address, std::uint64_t machine_frame);

namespace shadow {

void leave_replacement(Leaf leaf, std::uint64_t machine_frame);
void end_replacement(std::uint64_t guest_frame);

} // namespace shadow

} // namespace previrt
