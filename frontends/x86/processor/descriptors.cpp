// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/processor/descriptors.hpp"

#include "frontends/x86/paging/guest_memory.hpp"
#include "frontends/x86/paging/page_walk.hpp"
#include "frontends/x86/processor/exceptions.hpp"
#include "frontends/x86/processor/segment_registers.hpp"
#include "frontends/x86/processor/usual_return.hpp"
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <algorithm>

namespace previrt {

namespace {

constexpr std::uint16_t table_indicator = 4;
constexpr std::uint64_t accessed_type = std::uint64_t{1} << 40U;

struct Place {
    std::uint64_t address;
    std::uint64_t room; // bytes from the descriptor to the table's end
};

std::optional<Place> place_of(std::uint16_t selector) {
    const bool local = (selector & table_indicator) != 0;
    if (local && !vcpu.ldt.present) {
        return {};
    }
    const std::uint64_t base = local ? vcpu.ldt.base : vcpu.gdt.base;
    const std::uint64_t limit = local ? vcpu.ldt.limit : vcpu.gdt.limit;
    const std::uint64_t offset = selector & 0xfff8U;
    if (offset + 7 > limit) {
        return {};
    }
    return Place{base + offset, limit + 1 - offset};
}

bool is_beyond_reach(const Descriptor& descriptor, std::uint16_t selector) {
    const unsigned wanted = std::max<unsigned>(vcpu.cpl, selector & 3U);
    return !descriptor.is_conforming() && descriptor.privilege() < wanted;
}

// Other descriptors are kept out of the real table: the kernel runs at user mode's level, so user mode could
// load them.
bool is_for_user_mode(const Descriptor& descriptor) {
    return descriptor.privilege() == 3 || descriptor.is_conforming();
}

// Loading a segment sets its accessed bit.
bool set_accessed(std::uint16_t selector, const Descriptor& descriptor) {
    if ((descriptor.low & accessed_type) != 0) {
        return true;
    }
    const std::optional<Place> place = place_of(selector);
    return !place || write_guest(place->address, descriptor.low | accessed_type);
}

} // namespace

std::span<const std::uint64_t> known_global_table() {
    const std::uint64_t bytes = std::uint64_t{vcpu.gdt.limit} + 1;
    if ((bytes | vcpu.gdt.base) % sizeof(std::uint64_t) != 0) {
        return {};
    }
    const auto* const table = reinterpret_cast<const std::uint64_t*>(known_memory(vcpu.gdt.base, bytes));
    return table == nullptr ? std::span<const std::uint64_t>{}
                            : std::span(table, bytes / sizeof(std::uint64_t));
}

Lookup read_descriptor(std::uint16_t selector, Descriptor& descriptor) {
    const std::optional<Place> place = place_of(selector);
    if (!place) {
        return Lookup::outside;
    }
    descriptor = {};
    if (!read_guest(place->address, descriptor.low)) {
        return Lookup::faulted;
    }
    const bool is_long = descriptor.is_system() && descriptor.type() != 0;
    if (is_long && place->room >= 16 && !read_guest(place->address + 8, descriptor.high)) {
        return Lookup::faulted;
    }
    return Lookup::found;
}

bool is_64_bit_code() {
    Descriptor code{};
    return vcpu.cpl == 0 || (read_descriptor(static_cast<std::uint16_t>(vcpu.cs), code) == Lookup::found &&
                             code.is_long_code());
}

std::optional<Descriptor> read_code_segment(std::uint16_t selector, unsigned privilege) {
    if (is_null(selector)) {
        raise_exception(general_protection, 0);
        return {};
    }
    Descriptor descriptor{};
    const Lookup lookup = read_descriptor(selector, descriptor);
    if (lookup == Lookup::faulted) {
        return {};
    }
    const bool level_fits = descriptor.is_conforming()
                                ? descriptor.privilege() <= privilege
                                : descriptor.privilege() == privilege && (selector & 3U) <= privilege;
    const bool both_sizes = ((descriptor.low >> 53U) & 3U) == 3;
    if (lookup == Lookup::outside || !descriptor.is_code() || !level_fits || both_sizes) {
        raise_exception(general_protection, selector_error(selector));
        return {};
    }
    if (!descriptor.present()) {
        raise_exception(segment_not_present, selector_error(selector));
        return {};
    }
    if (!set_accessed(selector, descriptor)) {
        return {};
    }
    return descriptor;
}

bool load_data_segment(unsigned segment, std::uint16_t selector) {
    Descriptor descriptor{};
    if (!is_null(selector)) {
        const Lookup lookup = read_descriptor(selector, descriptor);
        if (lookup == Lookup::faulted) {
            return false;
        }
        if (lookup == Lookup::outside || !descriptor.is_readable() || is_beyond_reach(descriptor, selector)) {
            raise_exception(general_protection, selector_error(selector));
            return false;
        }
        if (!descriptor.present()) {
            raise_exception(segment_not_present, selector_error(selector));
            return false;
        }
        if (!set_accessed(selector, descriptor)) {
            return false;
        }
        follow_global_table();
    }
    const bool is_real = !is_null(selector) && is_for_user_mode(descriptor);
    vcpu.kernel_selector[segment] = is_real ? 0 : selector;
    const bool is_users_gs = segment == segment_gs && vcpu.gs_exchanged != 0;
    if (is_users_gs) {
        backend::load_user_gs(is_real ? selector : 0);
    } else {
        backend::load_segment(segment, is_real ? selector : 0);
    }
    if (!is_real && segment == segment_fs) {
        backend::write_fs_base(is_null(selector) ? 0 : descriptor.base());
    } else if (!is_real && segment == segment_gs) {
        backend::write_gs_base(is_users_gs, is_null(selector) ? 0 : descriptor.base());
    }
    return true;
}

bool load_stack_segment(std::uint16_t selector) {
    if (is_null(selector)) {
        if (vcpu.cpl == 3 || (selector & 3U) != vcpu.cpl) {
            raise_exception(general_protection, 0);
            return false;
        }
        vcpu.ss = selector;
        return true;
    }
    Descriptor descriptor{};
    const Lookup lookup = read_descriptor(selector, descriptor);
    if (lookup == Lookup::faulted) {
        return false;
    }
    if (lookup == Lookup::outside || !descriptor.is_writable() || (selector & 3U) != vcpu.cpl ||
        descriptor.privilege() != vcpu.cpl) {
        raise_exception(general_protection, selector_error(selector));
        return false;
    }
    if (!descriptor.present()) {
        raise_exception(stack_fault, selector_error(selector));
        return false;
    }
    if (!set_accessed(selector, descriptor)) {
        return false;
    }
    vcpu.ss = selector;
    return true;
}

namespace {

bool load_system_segment(std::uint16_t selector, std::uint8_t type, SystemSegment& segment) {
    Descriptor descriptor{};
    const Lookup lookup =
        (selector & table_indicator) != 0 ? Lookup::outside : read_descriptor(selector, descriptor);
    if (lookup == Lookup::faulted) {
        return false;
    }
    if (lookup == Lookup::outside || !descriptor.is_system() || descriptor.type() != type) {
        raise_exception(general_protection, selector_error(selector));
        return false;
    }
    if (!descriptor.present()) {
        raise_exception(segment_not_present, selector_error(selector));
        return false;
    }
    segment = {.selector = selector, .base = descriptor.base(), .limit = descriptor.limit(), .present = true};
    return true;
}

} // namespace

bool load_local_table(std::uint16_t selector) {
    if (is_null(selector)) {
        vcpu.ldt = {.selector = selector, .base = 0, .limit = 0, .present = false};
        backend::load_local_table(0, 0);
        return true;
    }
    if (!load_system_segment(selector, type_ldt, vcpu.ldt)) {
        return false;
    }
    follow_local_table();
    return true;
}

bool load_task_register(std::uint16_t selector) {
    if (is_null(selector)) {
        raise_exception(general_protection, 0);
        return false;
    }
    if (!load_system_segment(selector, type_task_available, vcpu.task)) {
        return false;
    }
    Descriptor descriptor{};
    constexpr std::uint64_t busy = std::uint64_t{2} << 40U;
    return read_descriptor(selector, descriptor) == Lookup::found &&
           write_guest(vcpu.gdt.base + (selector & 0xfff8U), descriptor.low | busy);
}

void load_global_table(std::uint64_t base, std::uint16_t limit) {
    vcpu.gdt = {.base = base, .limit = limit};
    usual_return.code = 0;
    follow_global_table();
}

namespace {

// The part of a guest's descriptor that the real table gets: user mode's code and data, present or not.
std::uint64_t visible(std::uint64_t descriptor) {
    const Descriptor what{.low = descriptor, .high = 0};
    if (what.is_system() || !is_for_user_mode(what)) {
        return 0;
    }
    constexpr std::uint64_t level = std::uint64_t{3} << 45U; // all of the guest runs at this level
    return what.present() ? descriptor | accessed_type | level : descriptor;
}

// Copies the mapped part of a table. False: nothing had changed.
bool follow_table(std::uint64_t base, std::uint64_t bytes, bool local) {
    constexpr unsigned batch = 16;
    const auto entries = std::max<unsigned>(static_cast<unsigned>(bytes / sizeof(std::uint64_t)),
                                            backend::descriptors_written(local));
    const unsigned count = std::min(backend::descriptor_count(local), entries);
    bool changed = false;
    for (unsigned first = 0; first < count; first += batch) {
        std::uint64_t descriptors[batch] = {};
        const std::uint64_t offset = std::uint64_t{first} * sizeof(std::uint64_t);
        if (offset < bytes) {
            const std::uint64_t readable = std::min<std::uint64_t>(sizeof(descriptors), bytes - offset);
            peek_guest(base + offset, reinterpret_cast<std::uint8_t*>(descriptors), readable,
                       Privilege::supervisor);
        }
        if (!local && first == 0) {
            descriptors[0] = 0;
        }
        for (unsigned i = 0; i < batch && first + i < count; ++i) {
            changed = backend::write_descriptor(local, first + i, visible(descriptors[i])) || changed;
        }
    }
    return changed;
}

} // namespace

namespace {

// The global table as it was followed last: each return to another process asks whether it has changed.
struct FollowedTable {
    static constexpr std::size_t most = 16;
    std::uint64_t descriptors[most];
    std::uint64_t base;
    std::uint64_t bytes; // 0: it is longer than that, or was not in memory

    [[nodiscard]] bool is_current(const std::uint64_t* now) const {
        std::uint64_t changed = 0;
        for (std::size_t i = 0; i < bytes / sizeof(std::uint64_t); ++i) {
            changed |= descriptors[i] ^ now[i];
        }
        return changed == 0;
    }
};
[[gnu::section(".bss.cache")]] FollowedTable followed;

} // namespace

bool follow_global_table() {
    const std::uint64_t bytes = std::uint64_t{vcpu.gdt.limit} + 1;
    const std::span<const std::uint64_t> now = known_global_table();
    const bool is_short = !now.empty() && now.size() <= FollowedTable::most;
    if (is_short && followed.base == vcpu.gdt.base && followed.bytes == bytes &&
        followed.is_current(now.data())) {
        return false;
    }
    const bool changed = follow_table(vcpu.gdt.base, bytes, false);
    followed.base = vcpu.gdt.base;
    followed.bytes = is_short ? bytes : 0;
    if (is_short) {
        std::ranges::copy(now, followed.descriptors);
    }
    return changed;
}

bool follow_local_table() {
    if (!vcpu.ldt.present) {
        return false;
    }
    const std::uint64_t bytes = std::uint64_t{vcpu.ldt.limit} + 1;
    const bool changed = follow_table(vcpu.ldt.base, bytes, true);
    backend::load_local_table(vcpu.ldt.base, static_cast<unsigned>(bytes / 8));
    return changed;
}

std::optional<std::uint32_t> access_rights(std::uint16_t selector) {
    Descriptor descriptor{};
    if (is_null(selector) || read_descriptor(selector, descriptor) != Lookup::found ||
        is_beyond_reach(descriptor, selector)) {
        return {};
    }
    constexpr std::uint32_t valid_system_types = 1U << 2U | 1U << 9U | 1U << 11U | 1U << 12U;
    if (descriptor.is_system() && ((valid_system_types >> descriptor.type()) & 1U) == 0) {
        return {};
    }
    return static_cast<std::uint32_t>(descriptor.low >> 32U) & 0x00f0ff00U;
}

std::optional<std::uint32_t> segment_limit(std::uint16_t selector) {
    Descriptor descriptor{};
    if (is_null(selector) || read_descriptor(selector, descriptor) != Lookup::found ||
        is_beyond_reach(descriptor, selector)) {
        return {};
    }
    constexpr std::uint32_t valid_system_types = 1U << 2U | 1U << 9U | 1U << 11U;
    if (descriptor.is_system() && ((valid_system_types >> descriptor.type()) & 1U) == 0) {
        return {};
    }
    return descriptor.limit();
}

bool may_read_segment(std::uint16_t selector) {
    Descriptor descriptor{};
    return !is_null(selector) && read_descriptor(selector, descriptor) == Lookup::found &&
           descriptor.is_readable() && !is_beyond_reach(descriptor, selector);
}

bool may_write_segment(std::uint16_t selector) {
    Descriptor descriptor{};
    return !is_null(selector) && read_descriptor(selector, descriptor) == Lookup::found &&
           descriptor.is_writable() && !is_beyond_reach(descriptor, selector);
}

std::uint16_t guest_selector(unsigned segment) {
    if (segment == segment_cs || segment == segment_ss) {
        return static_cast<std::uint16_t>(segment == segment_cs ? vcpu.cs : vcpu.ss);
    }
    const std::uint16_t real = read_segment(segment);
    return real != 0 ? real : vcpu.kernel_selector[segment];
}

void drop_kernel_segments() {
    for (std::uint16_t& selector : vcpu.kernel_selector) {
        selector = 0;
    }
}

} // namespace previrt
