// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/process/contract/layout.hpp"
#include "backends/process/host_map.hpp"
#include "frontends/x86/paging/page_walk.hpp"
#include "inplace-vmm/vcpu.hpp"
#include "tests/unit/process/memory/fake_domain.hpp"
#include "tests/unit/process/memory/host_process.hpp"
#include "tests/unit/vmm/guest_view.hpp"

#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <vector>

namespace previrt {

// A guest in host processes that writes random page tables, as Linux lays out its memory there: RAM is mapped
// for the kernel by no table, the kernel's part is the same in every root, and only the kernel's own root has
// the modules. What the model of the host maps is compared with the guest's own tables.
class ProcessGuest {
public:
    static constexpr std::uint64_t ram_bytes = std::uint64_t{16} << 20U;
    static constexpr std::uint64_t frame_count = ram_bytes / page_bytes;
    static constexpr unsigned table_frames = 256; // from frame 0 on
    static constexpr unsigned root_count = 5;     // from frame 1 on; the first is the kernel's own

    static constexpr std::uint64_t module_address = 0x7fc00000;

    struct Options {
        std::uint32_t tables = 1000;
        fake::ProcessPlace place = {};
        fake::HostLimits limits = {};
        bool write_protect = true;
        bool toggles = false;         // of CR0.WP and EFER.NXE
        bool shares_tables = false;   // several entries name one table of the user's part
        bool restricts_above = false; // entries above level 1 take rights away
    };

    ProcessGuest(std::uint32_t seed, const Options& options);

    void step();
    // What must hold whenever every write has been flushed.
    void check();
    void flush();

    [[nodiscard]] std::uint64_t accesses_done() const { return done_; }
    [[nodiscard]] std::uint64_t accesses_refused() const { return refused_; }
    [[nodiscard]] std::uint64_t code_pages_copied() const { return copied_; }
    [[nodiscard]] std::uint64_t most_ranges_seen() const { return most_ranges_seen_; }

private:
    // An entry of the guest's tables.
    struct Place {
        std::uint64_t table; // frame
        unsigned index;
        unsigned level;
        std::uint64_t child; // the table that it may name; 0: any of its level
        bool is_kernels;
    };

    std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }
    bool chance(unsigned percent) { return below(100) < percent; }

    void make_tables();
    void set(std::uint64_t frame, unsigned index, std::uint64_t entry);
    std::uint64_t random_address();
    static Place kernel_place(unsigned level, unsigned upper, unsigned directory, unsigned index1);
    static Place user_place(unsigned root, unsigned level, unsigned slot, unsigned upper, unsigned directory,
                            unsigned index1);
    Place random_place();
    std::uint64_t random_flags(const Place& place);
    std::uint64_t random_entry(const Place& place);
    void write_annotated(const Place& place, std::uint64_t entry);
    void write_some();
    void write_unannotated();
    void load_root(unsigned root);
    void change_processor(unsigned processor);
    [[nodiscard]] bool is_stale() const { return stale_[vcpu.number]; }
    void toggle();
    void call_often(std::uint64_t address);
    void write_to_ram(std::uint64_t frame);

    [[nodiscard]] fake::HostProcess& process_of(Access access) const;
    [[nodiscard]] std::optional<std::uint64_t> reach(std::uint64_t address, Access access) const;
    [[nodiscard]] process::Filled fill(std::uint64_t address, Access access) const;
    void use(std::uint64_t address, Access access);
    void follow_bits(const GuestView& view, Access access);
    // process_guest_checks.cpp
    static void check_page(std::uint64_t address, const fake::HostProcess::Page& page, bool by_user);
    static void check_process(const fake::HostProcess& process, bool by_user);
    static void check_ram();
    struct WritableTables {
        std::set<std::uint64_t> by_kernel;
        std::set<std::uint64_t> by_user; // with --isolate alone
    };
    [[nodiscard]] WritableTables writable_tables() const;
    void check_tables() const;

    std::mt19937 random_;
    Options options_;
    std::vector<std::uint64_t> tables_; // what the guest's tables hold by the manual
    std::vector<bool> stale_;           // by processor: entries were written since its last flush
    std::vector<bool> has_begun_;
    std::vector<WritableTables> left_writable_; // by processor: the last writable_tables()
    std::uint64_t done_ = 0;
    std::uint64_t refused_ = 0;
    std::uint64_t copied_ = 0;
    std::uint64_t most_ranges_seen_ = 0;
};

// With the kernel's own root for the modules.
GuestView process_view(std::uint64_t address, Access access);
// Whether the contents that user mode executes there are those of the frame.
bool is_executed_copy(const fake::HostProcess::Page& page, std::uint64_t frame);

// The system call in each page of code.
constexpr unsigned call_offset = 0x100;
constexpr unsigned rewritten_bytes = 8;

} // namespace previrt
