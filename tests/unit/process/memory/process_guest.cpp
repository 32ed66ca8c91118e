// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/process/memory/process_guest.hpp"

#include "backends/process/address_space_processes.hpp"
#include "backends/process/host_calls.hpp"
#include "backends/process/user_mode/calls.hpp"
#include "backends/process/user_mode/process.hpp"
#include "frontends/x86/machine_state.hpp"
#include "frontends/x86/paging/shadow/tables.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/backend/page_tables.hpp"
#include "inplace-vmm/vcpu.hpp"
#include "tests/unit/vmm/fake_backend.hpp"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>

namespace previrt {

namespace {

using process::Filled;

std::uint8_t* frame_bytes(std::uint64_t frame) {
    return backend::guest_ram() + (frame * page_bytes);
}

} // namespace

ProcessGuest::ProcessGuest(std::uint32_t seed, const Options& options)
    : random_(seed), options_(options), tables_(std::size_t{table_frames} * entries_per_table),
      stale_(options.place.processors), has_begun_(options.place.processors),
      left_writable_(options.place.processors) {
    has_begun_[0] = true;
    fake::HostProcess::random.seed(seed);
    fake::HostProcess::limits = {};
    fake::choose_process_place(options.place);
    fake::start(ram_bytes, options.tables);
    fake::HostProcess::limits = options.limits;
    enter_long_mode(options.write_protect);
    // syscall; cmp $0xfffff001, %rax
    constexpr std::uint8_t call[rewritten_bytes] = {0x0f, 0x05, 0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff};
    for (std::uint64_t frame = table_frames; frame < frame_count; ++frame) {
        std::memcpy(frame_bytes(frame) + call_offset, call, sizeof(call));
    }
    machine_state.kernel = {};
    machine_state.kernel.reserved = {.first = process::modules_address,
                                     .bytes = process::modules_end - process::modules_address};
    make_tables();
    load_root(0);
    load_root(1);
    // From now on the VMM knows the kernel's root.
    use(module_address, {});
}

void ProcessGuest::load_root(unsigned root) {
    vcpu.cr3 = (root + 1) * page_bytes;
    load_shadow_root();
    stale_[vcpu.number] = false;
}

void ProcessGuest::flush() {
    shadow_flush();
    stale_[vcpu.number] = false;
}

void ProcessGuest::toggle() {
    if (chance(50)) {
        vcpu.cr0 ^= cr0_wp;
    } else {
        vcpu.efer ^= efer_nxe;
    }
    shadow_rebuild();
    flush();
}

void ProcessGuest::call_often(std::uint64_t address) {
    const Access access{.user = true, .fetch = true};
    use(address, access);
    if (testing::Test::HasFatalFailure() || !reach(address, access)) {
        return;
    }
    constexpr unsigned often = 64;
    const process::Host& host = process::current_host();
    const std::uint64_t behind = (address & ~(page_bytes - 1)) + call_offset + 2;
    for (unsigned i = 0; i < often; ++i) {
        process::note_user_call(process::isolates() ? host.user_root : host.root(), behind);
    }
    const auto page = process_of(access).page(address);
    copied_ += page && page->offset < fake::offset_of_frame(0) ? 1 : 0;
}

void ProcessGuest::write_to_ram(std::uint64_t frame) {
    const std::uint64_t address = process::ram_address + (frame * page_bytes);
    const auto is_writable = [&] {
        const auto page = fake::current_process().page(address);
        return page && (page->protection & process::may_write) != 0;
    };
    if (!is_writable()) {
        ASSERT_TRUE(process::let_kernel_write(address)) << "nobody lets the kernel write to frame " << frame;
    }
    ASSERT_TRUE(is_writable()) << "frame " << frame;
    ++frame_bytes(frame)[0x200 + below(16)];
}

fake::HostProcess& ProcessGuest::process_of(Access access) const {
    return access.user && options_.place.isolates ? fake::user_process() : fake::current_process();
}

// The guest-physical address of the access, if the host lets it happen.
std::optional<std::uint64_t> ProcessGuest::reach(std::uint64_t address, Access access) const {
    const auto page = process_of(access).page(address);
    std::uint32_t needed = access.fetch ? process::may_execute : process::may_read;
    if (access.write) {
        needed = process::may_write;
    }
    if (!page || (page->protection & needed) == 0) {
        return std::nullopt;
    }
    const std::uint64_t in_page = address & (page_bytes - 1);
    if (page->offset >= fake::offset_of_frame(0)) {
        return page->offset - fake::offset_of_frame(0) + in_page;
    }
    const std::uint64_t physical = process_view(address, access).physical;
    EXPECT_TRUE(is_stale() || is_executed_copy(*page, physical >> page_shift)) << std::hex << address;
    return physical;
}

Filled ProcessGuest::fill(std::uint64_t address, Access access) const {
    const process::HostAccess wanted{.write = access.write, .fetch = access.fetch};
    return access.user && options_.place.isolates
               ? process::fill_user(process::current_host().user_root, address, wanted)
               : process::fill_host(shadow_root_of(address), address, wanted);
}

void ProcessGuest::follow_bits(const GuestView& view, Access access) {
    for (const std::uint64_t place : view.used()) {
        tables_[place / 8] |= page_accessed;
    }
    tables_[view.used().back() / 8] |= access.write ? std::uint64_t{page_dirty} : 0;
}

// As entries.cpp takes a page fault.
void ProcessGuest::use(std::uint64_t address, Access access) {
    const GuestView before = process_view(address, access);
    // Without --isolate user mode reaches what the kernel does.
    const bool is_open =
        before.allowed || (!options_.place.isolates &&
                           process_view(address, {.write = access.write, .fetch = access.fetch}).allowed);
    const auto describe = [&] {
        return testing::Message() << text_of(address, access) << " root " << std::hex << vcpu.cr3;
    };
    std::optional<std::uint64_t> reached = reach(address, access);
    if (reached) {
        ++done_;
        ASSERT_TRUE(is_stale() || is_open) << describe();
        if (!is_stale()) {
            ASSERT_EQ(*reached, before.physical) << describe();
            ASSERT_TRUE(before.accessed && (before.dirty || !access.write)) << describe();
        }
    }
    constexpr unsigned most_faults = 3;
    for (unsigned faults = 0; !reached; ++faults) {
        ASSERT_LT(faults, most_faults) << describe() << ": the same fault again and again";
        Filled filled = fill(address, access);
        // Until a flush, a cleared entry may still give a page, as a processor's TLB may.
        const bool may_be_stale = is_stale() && filled == Filled::done;
        if (filled == Filled::absent) {
            const ShadowFault fault = shadow_fault(address, access);
            ASSERT_TRUE(agrees(before, fault)) << describe();
            if (fault.verdict == FaultVerdict::guest) {
                ++refused_;
                return;
            }
            follow_bits(before, access);
            filled = fill(address, access);
        }
        if (filled == Filled::refused) {
            ASSERT_LT(address, fake::HostProcess::limits.lowest) << describe();
            return;
        }
        ASSERT_EQ(filled, Filled::done) << describe() << ": the shadow has not what it hid";
        ASSERT_TRUE(may_be_stale || is_open) << describe();
        reached = reach(address, access);
        if (reached) {
            ++done_;
            ASSERT_TRUE(may_be_stale || *reached == before.physical) << describe();
        }
    }
    const std::uint64_t frame = *reached >> page_shift;
    if (access.write && frame >= table_frames) {
        ++frame_bytes(frame)[0x300 + below(16)];
    }
    most_ranges_seen_ = std::max<std::uint64_t>(most_ranges_seen_, fake::current_process().ranges().size());
}

void ProcessGuest::change_processor(unsigned processor) {
    const bool begins = !has_begun_[processor];
    has_begun_[processor] = true;
    if (options_.place.isolates) {
        (void)fake::user_process();
    }
    left_writable_[vcpu.number] = writable_tables();
    fake::change_processor(processor);
    // Also before its flush: the VMM would miss what the processor writes there.
    const WritableTables now = writable_tables();
    const WritableTables& left = left_writable_[processor];
    ASSERT_TRUE(begins || (std::ranges::includes(left.by_kernel, now.by_kernel) &&
                           std::ranges::includes(left.by_user, now.by_user)))
        << "another processor made a table of a page that this one may write to";
    if (begins) {
        enter_long_mode(options_.write_protect);
        load_root(1 + below(root_count - 1));
    }
    if (!is_stale() && chance(20)) { // whatever others have done since its last flush
        check();
    }
}

void ProcessGuest::step() {
    if (options_.place.processors > 1 && chance(30)) {
        change_processor(below(options_.place.processors));
    }
    const unsigned what = below(100);
    if (what < 40) {
        use(random_address(), {.write = chance(40), .user = chance(60), .fetch = false});
    } else if (what < 50) {
        use(random_address(), {.user = chance(70), .fetch = true});
    } else if (what < 75) {
        write_some();
    } else if (what < 78) {
        write_unannotated();
    } else if (what < 84) {
        flush();
    } else if (what < 88) {
        const std::uint64_t address = random_address();
        shadow_invalidate(address);
    } else if (what < 90) {
        write_to_ram(table_frames + below(static_cast<std::uint32_t>(frame_count) - table_frames));
    } else if (what < 92 && options_.place.rewrites_user_calls) {
        call_often(random_address());
    } else if (what < 99 || !options_.toggles) {
        load_root(below(root_count));
    } else {
        toggle();
    }
    if (!testing::Test::HasFatalFailure() && !is_stale() && chance(2)) {
        check();
    }
}

} // namespace previrt
