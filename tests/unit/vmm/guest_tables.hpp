// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/paging/page_walk.hpp"

#include <cstdint>
#include <random>
#include <vector>

namespace previrt {

// A guest that writes random page tables, some of them shared, some of one frame at several addresses. RAM is
// mapped once for the kernel, in a slot that never changes.
class RandomGuest {
public:
    static constexpr std::uint64_t ram_bytes = std::uint64_t{16} << 20U;
    static constexpr unsigned table_frames = 64; // from frame 0 on
    static constexpr unsigned direct_slot = 300;

    struct Options {
        std::uint32_t tables = 2000;
        bool large_direct_map = false;
        bool any_level = false; // a table may be used at every level, at several at once
        bool write_protect = true;
        bool toggles = false; // of CR0.WP and EFER.NXE
        bool replaces_pages = false;
    };

    RandomGuest(std::uint32_t seed, Options options);

    void step();
    // What must hold whenever every write has been flushed.
    void check() const;
    void flush();
    // Everything given back: what remains is one empty root.
    void end();

    [[nodiscard]] std::uint64_t accesses_done() const { return done_; }
    [[nodiscard]] std::uint64_t accesses_refused() const { return refused_; }
    [[nodiscard]] std::uint64_t replacements() const { return replacements_; }
    [[nodiscard]] static std::uint64_t replacements_ended();

private:
    std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }
    bool chance(unsigned percent) { return below(100) < percent; }

    std::uint64_t random_address();
    std::uint64_t random_table(unsigned level);
    std::uint64_t random_flags();
    std::uint64_t random_entry(unsigned level);
    std::uint64_t random_place(unsigned level);
    void make_direct_map() const;
    void write_annotated();
    void write_unannotated(std::uint64_t physical, std::uint64_t entry);
    void clear_table();
    void load_root(std::uint64_t root);
    void replace_page(std::uint64_t address);
    void use(std::uint64_t address, Access access);
    static void check_address(std::uint64_t address);
    void check_tables() const;

    std::mt19937 random_;
    Options options_;
    std::vector<std::uint64_t> roots_;
    std::vector<std::uint64_t> tables_; // what the guest's tables hold by the manual
    bool stale_ = false;                // entries were written since the last flush
    bool unannotated_ = false;          // some of them without an annotation
    std::uint64_t done_ = 0;
    std::uint64_t refused_ = 0;
    std::uint64_t replacements_ = 0;
};

} // namespace previrt
