// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/sites/copied_sites.hpp"

#include "frontends/x86/instructions/instruction.hpp"
#include "frontends/x86/paging/page_walk.hpp"
#include "frontends/x86/sites/site_code.hpp"
#include "inplace-vmm/rewriter.hpp"

#include <cstring>

namespace previrt {

namespace {

struct Code {
    std::uint8_t bytes[longest_site];
    std::size_t length;

    [[nodiscard]] std::span<const std::uint8_t> all() const { return {bytes, length}; }
};

// Of the length of the site. False: it is not in memory.
bool read_code(std::uint64_t address, const KnownSite& site, Code& code) {
    code.length = site.record.site_length();
    return peek_guest(address, code.bytes, code.length, Privilege::supervisor) == code.length;
}

bool has_own_bytes(const KnownSite& site) {
    return site.record.site_length() <= sizeof(site.bytes);
}

bool is_own(const KnownSite& site, const Code& code) {
    return has_own_bytes(site) && std::memcmp(code.bytes, site.bytes, code.length) == 0;
}

// The guest may have put other code at the site's place.
bool is_in_place(const KnownSite& site) {
    Code code{};
    return read_code(site.address, site, code) && (is_own(site, code) || is_rewritten(site, code.all()));
}

bool is_bounded(const CodeCopy& copy) {
    const std::uint64_t distance = copy.to > copy.from ? copy.to - copy.from : copy.from - copy.to;
    return copy.bytes <= most_copied_bytes && copy.to + copy.bytes >= copy.to &&
           copy.from + copy.bytes >= copy.from && distance >= copy.bytes;
}

bool is_relative(const KnownSite& site) {
    const Instruction* const instruction = decode_site(site, site.address);
    return instruction == nullptr || (instruction->operand_is_memory && instruction->memory.is_relative);
}

// Padding behind an instruction may be left out of a copy: the unchanged instruction, which faults, then
// stands for the site.
bool stands_alone(const KnownSite& site, const CodeCopy& copy) {
    const std::size_t length = site.record.instruction_length();
    const std::uint64_t offset = site.address - copy.from;
    Code code{};
    return site.address >= copy.from && length <= copy.bytes - offset && site.padding_in_front() == 0 &&
           !find_site_kind(site.record.kind)->silent && length <= sizeof(site.bytes) &&
           peek_guest(copy.to + offset, code.bytes, length, Privilege::supervisor) == length &&
           std::memcmp(code.bytes, site.bytes, length) == 0;
}

// The site at its new place, with the instruction that stands there: the original one, or as the guest has
// adjusted it to the place. False: no site is there.
bool move_site(const KnownSite& site, const CodeCopy& copy, KnownSite& moved) {
    moved = site;
    moved.address = copy.to + (site.address - copy.from);
    Code code{};
    if (!read_code(moved.address, site, code) || !has_own_bytes(site)) {
        return false;
    }
    // A guest that copies a call adjusts its distance.
    if (is_rewritten(site, code.all()) || is_rewritten(moved, code.all())) {
        return is_own(site, code) || !is_relative(moved);
    }
    std::memcpy(moved.bytes, code.bytes, code.length);
    return check_site_bytes(site.record, code.all()) == RecordFault::none;
}

Refusal take_site(const KnownSite& moved) {
    if (!add_site(moved)) {
        return Refusal::no_room;
    }
    Code code{.bytes = {}, .length = moved.record.site_length()};
    std::memcpy(code.bytes, moved.bytes, code.length);
    if (!rewrite_site(moved, {code.bytes, code.length}, Placement::fixed)) {
        return Refusal::no_room;
    }
    return write_site_code(moved.address, code.all()) ? Refusal::none : Refusal::bad_records;
}

Refusal copy_site(const KnownSite& site, const CodeCopy& copy) {
    const bool is_whole = site.address >= copy.from && site.end() <= copy.from + copy.bytes;
    KnownSite moved{};
    if (is_whole && move_site(site, copy, moved)) {
        return take_site(moved);
    }
    return !is_in_place(site) || stands_alone(site, copy) ? Refusal::none : Refusal::bad_records;
}

} // namespace

Refusal take_copied_sites(const CodeCopy& copy) {
    if (!is_bounded(copy)) {
        return Refusal::bad_records;
    }
    forget_announced_sites(copy.to, copy.bytes);
    const std::size_t count = sites_in(copy.from, copy.from + copy.bytes).size();
    for (std::size_t i = 0; i < count; ++i) {
        const KnownSite site = sites_in(copy.from, copy.from + copy.bytes)[i]; // the list moves
        if (const Refusal refusal = copy_site(site, copy); refusal != Refusal::none) {
            forget_announced_sites(copy.to, copy.bytes);
            return refusal;
        }
    }
    return Refusal::none;
}

void show_own_instructions(const CodeCopy& copy) {
    if (!is_bounded(copy)) {
        return;
    }
    for (const KnownSite& site : sites_in(copy.from, copy.from + copy.bytes)) {
        const bool is_whole = site.address >= copy.from && site.end() <= copy.from + copy.bytes;
        // A layout constant's own number is not the one that the guest has.
        if (!is_whole || !has_own_bytes(site) || site.kind() == SiteKind::layout_constant) {
            continue;
        }
        const std::uint64_t place = copy.to + (site.address - copy.from);
        Code code{};
        if (read_code(place, site, code) && is_rewritten(site, code.all())) {
            write_site_code(place, {site.bytes, code.length});
        }
    }
}

} // namespace previrt
