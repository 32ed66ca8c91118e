// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/grants.hpp"

#include "backends/xen/domain.hpp"
#include "backends/xen/layout.hpp"
#include "backends/xen/table_updates.hpp"
#include "inplace-vmm/stop.hpp"

namespace previrt::xen {

static_assert(sizeof(grant_entry_v1) == 8);
static_assert(offsetof(grant_entry_v1, domid) == 2 && offsetof(grant_entry_v1, frame) == 4);

extern "C" grant_entry_v1 grant_table[]; // image.lds

namespace {

constexpr unsigned most_grants = page_size / sizeof(grant_entry_v1);

domid_t other_domain;
grant_ref_t next_grant = GNTTAB_NR_RESERVED_ENTRIES;

} // namespace

// One frame of the table, which Xen owns and this domain maps.
void start_grants(domid_t to) {
    other_domain = to;
    xen_pfn_t frame = 0;
    gnttab_setup_table setup{};
    setup.dom = DOMID_SELF;
    setup.nr_frames = 1;
    setup.frame_list.p = &frame;
    must_succeed(__HYPERVISOR_grant_table_op, "setup_table", GNTTABOP_setup_table, address_of(&setup), 1);
    if (setup.status != GNTST_okay) {
        stop_guest("Xen gave no grant table; status", static_cast<std::uint16_t>(-setup.status));
    }
    queue_update(machine_address(vmm_table_page(1)) + entry_offset(grant_table_index),
                 (frame << page_shift) | table_flags | entry_no_execute);
    flush_updates();
}

grant_ref_t grant_pages(const std::uint8_t* first, unsigned count, Grant grant) {
    if (count > most_grants - next_grant) {
        stop_guest("more grants than one frame holds:", count);
    }
    const grant_ref_t reference = next_grant;
    for (unsigned i = 0; i < count; ++i) {
        grant_entry_v1& entry = grant_table[next_grant++];
        entry.domid = other_domain;
        entry.frame = static_cast<std::uint32_t>(machine_frame_of(page_of(first) + i));
        const unsigned flags = GTF_permit_access | (grant == Grant::to_read ? GTF_readonly : 0U);
        __atomic_store_n(&entry.flags, static_cast<std::uint16_t>(flags), __ATOMIC_RELEASE);
    }
    return reference;
}

} // namespace previrt::xen
