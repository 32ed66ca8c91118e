// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/paging/shadow/replacements.hpp"

#include "frontends/x86/paging/shadow/entries.hpp"
#include "frontends/x86/paging/shadow/protection.hpp"
#include "inplace-vmm/backend/page_tables.hpp"

namespace previrt {

using namespace shadow;

namespace {

[[gnu::section(".bss.cache")]] ReplacementEvents replacements;

} // namespace

void shadow_start_replacements(ReplacementEvents events) {
    replacements = events;
}

std::optional<ExecutedPage> shadow_executed_page(std::uint64_t address) {
    TableNumber table = current_root;
    for (unsigned level = root_level; level > 1; --level) {
        table = child_of(table, table_index(address, level));
        if (table == no_table) {
            return std::nullopt;
        }
    }
    const Leaf leaf{.table = table, .index = table_index(address, 1)};
    constexpr std::uint64_t rights = page_present | page_writable | page_no_execute;
    if ((real_entry(leaf) & rights) != page_present) {
        return std::nullopt;
    }
    const std::uint64_t frame = backend::guest_frame_of(machine_frame_in(real_entry(leaf)));
    if (frame >= frame_count) {
        return std::nullopt;
    }
    return ExecutedPage{.leaf = leaf, .guest_frame = frame};
}

void shadow_replace(const ExecutedPage& page, std::uint64_t address, std::uint64_t machine_frame) {
    if (!frames[page.guest_frame].replaced) {
        frames[page.guest_frame].replaced = true;
        protect_frame(page.guest_frame);
    }
    const std::uint64_t before = real_entry(page.leaf);
    const std::uint64_t after =
        (before & ~(machine_frame_in(before) << page_shift)) | (machine_frame << page_shift);
    note_leaf(page.leaf, before, after);
    backend::write_entry(page.leaf.table, page.leaf.index, after);
    backend::invalidate_page(address);
}

void shadow::leave_replacement(Leaf leaf, std::uint64_t machine_frame) {
    if (replacements.left != nullptr) {
        replacements.left(machine_frame, leaf);
    }
}

void shadow::end_replacement(std::uint64_t guest_frame) {
    frames[guest_frame].replaced = false;
    for_each_leaf_of(replacements.ended(guest_frame), [](Leaf leaf) {
        refresh_leaf(leaf);
        return true;
    });
    release_frame(guest_frame);
    backend::queue_invalidate_all();
}

} // namespace previrt
