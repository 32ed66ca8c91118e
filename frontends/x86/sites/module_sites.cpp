// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/sites/module_sites.hpp"

#include "frontends/x86/paging/page_walk.hpp"
#include "frontends/x86/sites/site_code.hpp"
#include "inplace-vmm/rewriter.hpp"
#include "inplace-vmm/stop.hpp"

#include <cstring>

namespace previrt {

namespace {

struct Table {
    std::uint64_t address;
    std::uint64_t bytes;

    [[nodiscard]] std::uint64_t count() const { return bytes / sizeof(SiteRecord); }
};

// The reason why a table cannot be taken.
struct Fault {
    Refusal refusal = Refusal::none;
    const char* reason = "";
    std::uint64_t value = 0;
    const char* detail = "";
};

Fault bad_records(const char* reason, std::uint64_t value, const char* detail = "") {
    return {.refusal = Refusal::bad_records, .reason = reason, .value = value, .detail = detail};
}

bool peek(std::uint64_t address, void* to, std::size_t bytes) {
    return peek_guest(address, static_cast<std::uint8_t*>(to), bytes, Privilege::supervisor) == bytes;
}

struct ReadSite {
    Site site{};
    std::uint8_t code[longest_site];

    [[nodiscard]] std::size_t length() const { return site.record.site_length(); }
    [[nodiscard]] std::uint64_t end() const { return site.address + length(); }
    [[nodiscard]] KnownSite known() const {
        KnownSite known{.address = site.address, .record = site.record, .bytes = {}};
        std::memcpy(known.bytes, code, length() < sizeof(known.bytes) ? length() : sizeof(known.bytes));
        return known;
    }
};

Fault read_site(const Table& table, std::uint64_t index, ReadSite& read) {
    Site& site = read.site;
    const std::uint64_t place = table.address + (index * sizeof(SiteRecord));
    if (!peek(place, &site.record, sizeof(site.record))) {
        return bad_records("an announced record is not in memory, at", place);
    }
    site.address = place + static_cast<std::uint64_t>(std::int64_t{site.record.site});
    if (!peek(site.address, read.code, read.length())) {
        return bad_records("an announced site is not in memory, at", site.address);
    }
    return {};
}

Fault check_table(const Table& table) {
    if (table.bytes % sizeof(SiteRecord) != 0 || table.bytes > most_announced_bytes) {
        return bad_records("a table of records of a length that none has:", table.bytes);
    }
    std::uint64_t previous = 0;
    std::uint64_t previous_end = 0;
    for (std::uint64_t index = 0; index < table.count(); ++index) {
        ReadSite read;
        if (const Fault fault = read_site(table, index, read); fault.refusal != Refusal::none) {
            return fault;
        }
        const Text text{.address = read.site.address, .bytes = {read.code, read.length()}};
        RecordFault found = check_records({&read.site, 1}, {&text, 1}).fault;
        // The records of each section ascend.
        if (found == RecordFault::none && read.site.address >= previous && read.site.address < previous_end) {
            found = RecordFault::overlapping;
        }
        if (found != RecordFault::none) {
            return bad_records("a record of a module, for the site at", read.site.address, describe(found));
        }
        previous = read.site.address;
        previous_end = read.end();
    }
    return {};
}

// Forgets the first `count` sites.
void forget_table(const Table& table, std::uint64_t count) {
    for (std::uint64_t index = 0; index < count; ++index) {
        ReadSite read;
        if (read_site(table, index, read).refusal == Refusal::none) {
            forget_announced_sites(read.site.address, read.length());
        }
    }
}

// Lists all of the table, or nothing.
Fault list_table(const Table& table, bool replaces) {
    for (std::uint64_t index = 0; index < table.count(); ++index) {
        ReadSite read;
        Fault fault = read_site(table, index, read);
        if (fault.refusal == Refusal::none && replaces) {
            forget_announced_sites(read.site.address, read.length());
        }
        if (fault.refusal == Refusal::none && has_sites(read.site.address, read.end())) {
            fault = bad_records("a record of a module, for the site at", read.site.address,
                                describe(RecordFault::overlapping));
        }
        if (fault.refusal == Refusal::none && !add_site(read.known())) {
            fault = {.refusal = Refusal::no_room,
                     .reason = "too many sites; there is room for",
                     .value = known_sites().size()};
        }
        if (fault.refusal != Refusal::none) {
            forget_table(table, index);
            return fault;
        }
    }
    return {};
}

Fault rewrite_table(const Table& table) {
    for (std::uint64_t index = 0; index < table.count(); ++index) {
        ReadSite read;
        if (const Fault fault = read_site(table, index, read); fault.refusal != Refusal::none) {
            return fault;
        }
        if (!rewrite_site(read.known(), {read.code, read.length()}, Placement::fixed)) {
            return {.refusal = Refusal::no_room,
                    .reason = "the VMM has nothing to put in place of the site at",
                    .value = read.site.address,
                    .detail = find_site_kind(read.site.record.kind)->name};
        }
        if (!write_site_code(read.site.address, {read.code, read.length()})) {
            stop_guest("an announced site is not in memory, at", read.site.address);
        }
    }
    return {};
}

Fault take_table(const Table& table, bool replaces) {
    Fault fault = check_table(table);
    if (fault.refusal == Refusal::none) {
        fault = list_table(table, replaces);
    }
    if (fault.refusal == Refusal::none) {
        fault = rewrite_table(table);
        if (fault.refusal != Refusal::none) {
            forget_table(table, table.count());
        }
    }
    return fault;
}

struct [[gnu::packed]] Note {
    std::uint32_t name_bytes;
    std::uint32_t description_bytes;
    std::uint32_t type;
    char name[8];
    std::uint32_t version;
    std::uint32_t record_bytes;
};
static_assert(sizeof(Note) == announced_note_bytes);

Refusal check_note(const AnnouncedModule& module) {
    Note note{};
    if (module.note_bytes == 0) {
        return Refusal::not_prepared;
    }
    // A linker merges the notes of all files into one.
    constexpr char name[] = "previrt"; // with its NUL
    if (module.note_bytes != sizeof(note) || !peek(module.note, &note, sizeof(note)) ||
        note.name_bytes != sizeof(name) || note.description_bytes != sizeof(std::uint64_t) ||
        note.type != 1 || std::memcmp(note.name, name, sizeof(name)) != 0) {
        return Refusal::bad_records;
    }
    return note.version == abi_version && note.record_bytes == sizeof(SiteRecord) ? Refusal::none
                                                                                  : Refusal::other_version;
}

} // namespace

Refusal take_announced_module(const AnnouncedModule& module) {
    const Refusal refusal = check_note(module);
    return refusal != Refusal::none ? refusal : take_table({module.table, module.table_bytes}, false).refusal;
}

void take_announced_sites(std::uint64_t table, std::uint64_t bytes) {
    const Fault fault = take_table({table, bytes}, true);
    if (fault.refusal != Refusal::none) {
        stop_guest(fault.reason, fault.value, fault.detail);
    }
}

void forget_announced_sites(std::uint64_t begin, std::uint64_t bytes) {
    const std::uint64_t end = begin + bytes < begin ? ~std::uint64_t{0} : begin + bytes;
    forget_sites(begin, end);
    free_trampolines(begin, end);
}

} // namespace previrt
