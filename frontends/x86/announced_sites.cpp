// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/announced_sites.hpp"

#include "frontends/x86/page_walk.hpp"
#include "frontends/x86/physical_memory.hpp"
#include "inplace-vmm/rewriter.hpp"
#include "inplace-vmm/stop.hpp"

#include <cstring>

namespace previrt {

namespace {

constexpr std::size_t longest_site = 30; // that a record can describe

void peek(std::uint64_t address, void* to, std::size_t bytes, const char* otherwise) {
    if (peek_guest(address, static_cast<std::uint8_t*>(to), bytes, Privilege::supervisor) != bytes) {
        stop_guest(otherwise, address);
    }
}

Site read_site(std::uint64_t table, std::uint64_t index, std::uint8_t (&code)[longest_site]) {
    Site site{};
    const std::uint64_t place = table + (index * sizeof(SiteRecord));
    peek(place, &site.record, sizeof(site.record), "an announced record is not in memory, at");
    site.address = place + static_cast<std::uint64_t>(std::int64_t{site.record.site});
    const std::size_t length = site.record.site_length();
    peek(site.address, code, length, "an announced site is not in memory, at");
    const Text text{.address = site.address, .bytes = {code, length}};
    const RecordCheck check = check_records({&site, 1}, {&text, 1});
    if (check.fault != RecordFault::none) {
        stop_guest("a record of a module, for the site at", site.address, describe(check.fault));
    }
    return site;
}

// Whatever the guest's page tables say of writing: a module's text may be read-only already.
void write_code(std::uint64_t address, const std::uint8_t* code, std::size_t length) {
    for (std::size_t i = 0; i < length; ++i) {
        const PageWalk walk = walk_page(address + i, {});
        std::uint8_t* const byte = walk.faults ? nullptr : physical_memory(walk.physical, 1);
        if (byte == nullptr) {
            stop_guest("an announced site is not in memory, at", address);
        }
        *byte = code[i];
    }
}

} // namespace

void take_announced_sites(std::uint64_t table, std::uint64_t bytes) {
    if (bytes % sizeof(SiteRecord) != 0 || bytes > most_announced_bytes) {
        stop_guest("a table of records of a length that none has:", bytes);
    }
    const std::uint64_t count = bytes / sizeof(SiteRecord);
    // The whole table is checked before a byte is changed.
    for (const bool apply : {false, true}) {
        std::uint64_t previous = 0;
        std::uint64_t previous_end = 0;
        for (std::uint64_t index = 0; index < count; ++index) {
            std::uint8_t code[longest_site];
            const Site site = read_site(table, index, code);
            // The records of each section ascend.
            if (site.address >= previous && site.address < previous_end) {
                stop_guest("a record of a module, for the site at", site.address,
                           describe(RecordFault::overlapping));
            }
            previous = site.address;
            previous_end = site.address + site.record.site_length();
            if (!apply) {
                continue;
            }
            KnownSite known{.address = site.address, .record = site.record, .bytes = {}};
            const std::size_t length = site.record.site_length();
            std::memcpy(known.bytes, code, length < sizeof(known.bytes) ? length : sizeof(known.bytes));
            if (!add_site(known)) {
                stop_guest("too many sites; there is room for", known_sites().size());
            }
            if (!rewrite_site(known, {code, length}, Placement::fixed)) {
                stop_guest("the VMM has nothing to put in place of the site at", site.address,
                           find_site_kind(site.record.kind)->name);
            }
            write_code(site.address, code, length);
        }
    }
}

} // namespace previrt
