// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/sites/kernel_sites.hpp"

#include "frontends/x86/linux_boot/kernel_elf.hpp"
#include "frontends/x86/paging/physical_memory.hpp"
#include "inplace-vmm/rewriter.hpp"
#include "inplace-vmm/site_list.hpp"
#include "inplace-vmm/stop.hpp"

#include <cstring>

namespace previrt {

namespace {

constexpr std::size_t room_for_modules = 4096; // before the list has to grow

// Reads the records in order, as they lie in a linked kernel.
class SiteTable {
public:
    explicit SiteTable(const KernelSection& section) : section_(section) {}

    [[nodiscard]] std::size_t count() const { return section_.bytes.size() / sizeof(SiteRecord); }
    [[nodiscard]] Site at(std::size_t index) const {
        Site site{};
        const std::size_t offset = index * sizeof(SiteRecord);
        std::memcpy(&site.record, section_.bytes.data() + offset, sizeof(SiteRecord));
        site.address = section_.address + offset + static_cast<std::uint64_t>(std::int64_t{site.record.site});
        return site;
    }

private:
    KernelSection section_;
};

// Checks each record together with the one before, so that the order of all is checked.
void check_kernel_records(const SiteTable& table, std::span<const Text> text) {
    Site pair[2];
    for (std::size_t i = 0; i < table.count(); ++i) {
        pair[0] = pair[1];
        pair[1] = table.at(i);
        const std::span<const Site> checked = i == 0 ? std::span(pair).last(1) : std::span(pair);
        const RecordCheck check = check_records(checked, text);
        if (check.fault != RecordFault::none) {
            stop_guest("a record of the kernel, for the site at", pair[1].address, describe(check.fault));
        }
    }
}

} // namespace

void list_kernel_sites(const KernelElf& elf) {
    [[gnu::section(".bss.cache")]] static constinit Text text[64] = {};
    const std::size_t text_count = elf.code_sections(text);
    const KernelSection section = elf.section("previrt_sites");
    const SiteTable table(section);
    if (section.bytes.size() % sizeof(SiteRecord) != 0 || table.count() == 0) {
        stop_guest("the kernel has no records, or a part of one; bytes:", section.bytes.size());
    }
    check_kernel_records(table, {text, text_count});
    if (!start_site_list(table.count() + room_for_modules)) {
        stop_guest("the VMM has no memory for the kernel's sites; records:", table.count());
    }
    for (std::size_t i = 0; i < table.count(); ++i) {
        const Site site = table.at(i);
        const std::uint64_t physical = elf.physical_of(site.address);
        const std::size_t length = site.record.site_length();
        const std::uint8_t* const code = physical_memory(physical, length);
        if (code == nullptr) {
            stop_guest("a site outside the kernel, at", physical);
        }
        KnownSite known{.address = site.address, .record = site.record, .bytes = {}};
        std::memcpy(known.bytes, code, length < sizeof(known.bytes) ? length : sizeof(known.bytes));
        if (!add_site(known)) {
            stop_guest("the VMM has no memory for the site at", site.address);
        }
    }
}

void rewrite_kernel_sites(const KernelElf& elf) {
    // A site's replacement may depend on the sites after it.
    for (const KnownSite& site : known_sites()) {
        const std::size_t length = site.record.site_length();
        std::uint8_t* const code = physical_memory(elf.physical_of(site.address), length);
        const std::size_t kept = length < sizeof(site.bytes) ? length : sizeof(site.bytes);
        if (std::memcmp(code, site.bytes, kept) != 0) {
            continue; // the guest has put other code there
        }
        const Placement placement = elf.is_copied(site.address) ? Placement::copied : Placement::fixed;
        if (!rewrite_site(site, {code, length}, placement)) {
            stop_guest("the VMM has nothing to put in place of the site at", site.address,
                       find_site_kind(site.record.kind)->name);
        }
    }
}

} // namespace previrt
