// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/paging/shadow/protection.hpp"

#include "frontends/x86/paging/shadow/entries.hpp"
#include "frontends/x86/paging/shadow/replacements.hpp"
#include "frontends/x86/paging/shadow/roots.hpp"
#include "inplace-vmm/backend/page_tables.hpp"
#include "inplace-vmm/backend/processors.hpp"
#include "inplace-vmm/counters.hpp"

namespace previrt::shadow {

namespace {

constexpr unsigned most_unsynchronized = 64;
[[gnu::section(".bss.cache")]] std::uint64_t unsynchronized[most_unsynchronized];
[[gnu::section(".bss.cache")]] unsigned unsynchronized_count;

// Their tables may have been dropped since, or stand for others.
constexpr unsigned most_waiting = 256;
[[gnu::section(".data.cache")]] Leaf waiting[most_waiting];
[[gnu::section(".bss.cache")]] unsigned waiting_count;

[[gnu::noinline]] void complete_waiting_leaves() {
    for (; waiting_count > 0; --waiting_count) {
        const Leaf leaf = waiting[waiting_count - 1];
        const Table& table = tables[leaf.table];
        if (table.in_use && table.level == 1 && table.large_entry == 0) {
            change_leaf(leaf, guest_table(table.guest_frame)[leaf.index]);
        }
    }
}

bool is_writable(std::uint64_t entry) {
    constexpr std::uint64_t both = page_present | page_writable;
    return (entry & both) == both;
}

// ~0: no frame of the guest.
std::uint64_t frame_in(std::uint64_t entry) {
    const std::uint64_t frame =
        (entry & page_present) != 0 ? backend::guest_frame_of(machine_frame_in(entry)) : ~std::uint64_t{0};
    return frame < frame_count ? frame : ~std::uint64_t{0};
}

void make_read_only(Leaf leaf, Frame& frame) {
    const std::uint64_t entry = real_entry(leaf) & ~std::uint64_t{page_writable | page_dirty};
    backend::write_entry(leaf.table, leaf.index, entry);
    --frame.writers;
}

} // namespace

void note_leaf(Leaf leaf, std::uint64_t before, std::uint64_t after) {
    const std::uint64_t old_frame = frame_in(before);
    const std::uint64_t new_frame = frame_in(after);
    if (old_frame != ~std::uint64_t{0}) {
        Frame& frame = frames[old_frame];
        if (is_writable(before)) {
            --frame.writers;
            frame.let_go = complete_invalidations;
        }
        if (old_frame != new_frame && frame.writer == leaf) {
            frame.writer = {};
        }
    } else if ((before & page_present) != 0) {
        leave_replacement(leaf, machine_frame_in(before));
    }
    if (new_frame != ~std::uint64_t{0} && (is_writable(after) || is_protected(new_frame))) {
        Frame& frame = frames[new_frame];
        frame.writers += is_writable(after) ? 1 : 0;
        if (frame.writer.table == no_table) {
            frame.writer = leaf;
        }
    }
}

void protect_frame(std::uint64_t number) {
    Frame& frame = frames[number];
    if (frame.writers == 0) {
        // Other processors may have had no flush since then.
        const bool has_others = backend::processor_count() != 1 && frame.let_go != 0;
        if (frame.let_go == complete_invalidations || has_others) {
            backend::queue_invalidate_all(); // the guest could still write there
        }
        return;
    }
    if (frame.writer.table != no_table && is_writable(real_entry(frame.writer))) {
        make_read_only(frame.writer, frame);
    }
    // Rare: pages that become page tables were the kernel's alone before.
    if (frame.writers != 0) {
        for_each_leaf_of(backend::machine_frame(number), [&](Leaf leaf) {
            if (is_writable(real_entry(leaf))) {
                make_read_only(leaf, frame);
            }
            return frame.writers != 0;
        });
    }
    backend::queue_invalidate_all();
}

void release_frame(std::uint64_t number) {
    const Leaf leaf = frames[number].writer;
    if (leaf.table != no_table) {
        refresh_leaf(leaf);
        backend::flush_entries();
    }
}

void let_write(std::uint64_t number) {
    if (frames[number].replaced) {
        end_replacement(number);
        if (!is_protected(number)) {
            return;
        }
    }
    ++counters.unannotated_writes;
    drop_unused_root(number);
    Frame& frame = frames[number];
    if (frame.tables == no_table) {
        return;
    }
    if (unsynchronized_count == most_unsynchronized) {
        synchronize();
    }
    frame.unsynchronized = true;
    unsynchronized[unsynchronized_count++] = number;
    release_frame(number);
}

void start_protection() {
    waiting_count = 0;
    unsynchronized_count = 0;
}

void let_leaf_wait(Leaf leaf) {
    if ((real_entry(leaf) & page_present) == 0) {
        return;
    }
    if (waiting_count == most_waiting) {
        complete_waiting_leaves();
    }
    waiting[waiting_count++] = leaf;
}

void leaf_follows(Leaf leaf) {
    if (waiting_count != 0 && waiting[waiting_count - 1] == leaf) {
        --waiting_count;
    }
}

void synchronize() {
    complete_waiting_leaves();
    const unsigned count = unsynchronized_count;
    unsynchronized_count = 0;
    for (unsigned i = 0; i < count; ++i) {
        Frame& frame = frames[unsynchronized[i]];
        if (!frame.unsynchronized) {
            continue; // no longer a table
        }
        // In this order: another processor may be writing there.
        frame.unsynchronized = false;
        protect_frame(unsynchronized[i]);
        for_each_table(unsynchronized[i], follow_table);
    }
}

} // namespace previrt::shadow
