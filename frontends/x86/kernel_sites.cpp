// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/kernel_sites.hpp"

#include "frontends/x86/kernel_elf.hpp"
#include "frontends/x86/physical_memory.hpp"
#include "inplace-vmm/rewriter.hpp"
#include "inplace-vmm/site_list.hpp"
#include "inplace-vmm/stop.hpp"

#include <cstring>

namespace previrt {

void list_kernel_sites(const KernelElf& elf) {
    static Site sites[16384];
    static Text text[64];
    const std::size_t text_count = elf.code_sections(text);
    const std::span<const std::uint8_t> table = elf.section("previrt_sites").bytes;
    const std::uint64_t table_address = elf.section("previrt_sites").address;
    const std::size_t count = table.size() / sizeof(SiteRecord);
    if (table.size() % sizeof(SiteRecord) != 0 || count == 0 || count > sizeof(sites) / sizeof(sites[0])) {
        stop_guest("the kernel has no records, or too many; records:", count);
    }
    for (std::size_t i = 0; i < count; ++i) {
        std::memcpy(&sites[i].record, table.data() + (i * sizeof(SiteRecord)), sizeof(SiteRecord));
        sites[i].address = table_address + (i * sizeof(SiteRecord)) +
                           static_cast<std::uint64_t>(std::int64_t{sites[i].record.site});
    }
    const RecordCheck check = check_records({sites, count}, {text, text_count});
    if (check.fault != RecordFault::none) {
        stop_guest("a record of the kernel, for the site at", sites[check.index].address,
                   describe(check.fault));
    }
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t physical = elf.physical_of(sites[i].address);
        const std::size_t length = sites[i].record.site_length();
        const std::uint8_t* const code = physical_memory(physical, length);
        if (code == nullptr) {
            stop_guest("a site outside the kernel, at", physical);
        }
        KnownSite known{.address = sites[i].address, .record = sites[i].record, .bytes = {}};
        std::memcpy(known.bytes, code, length < sizeof(known.bytes) ? length : sizeof(known.bytes));
        if (!add_site(known)) {
            stop_guest("too many sites");
        }
    }
}

void rewrite_kernel_sites(const KernelElf& elf) {
    // A site's replacement may depend on those that follow it.
    for (const KnownSite& site : known_sites()) {
        const std::size_t length = site.record.site_length();
        std::uint8_t* const code = physical_memory(elf.physical_of(site.address), length);
        const std::size_t kept = length < sizeof(site.bytes) ? length : sizeof(site.bytes);
        if (std::memcmp(code, site.bytes, kept) != 0) {
            continue; // the guest has put something else there
        }
        rewrite_site(site, {code, length},
                     elf.is_copied(site.address) ? Placement::copied : Placement::fixed);
    }
}

} // namespace previrt
