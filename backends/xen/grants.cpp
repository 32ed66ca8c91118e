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

constexpr unsigned grants_of_frame = page_size / sizeof(grant_entry_v1);

unsigned frames; // that are mapped
grant_ref_t next_grant = GNTTAB_NR_RESERVED_ENTRIES;

// One frame more of the table, which Xen owns and this domain maps.
void map_frame() {
    xen_pfn_t list[grant_table_frames] = {};
    gnttab_setup_table setup{};
    setup.dom = DOMID_SELF;
    setup.nr_frames = frames + 1;
    setup.frame_list.p = list;
    must_succeed(__HYPERVISOR_grant_table_op, "setup_table", GNTTABOP_setup_table, address_of(&setup), 1);
    if (setup.status != GNTST_okay) {
        stop_guest("Xen gave no grant table; status", static_cast<std::uint16_t>(-setup.status));
    }
    queue_update(machine_address(vmm_table_page(1)) + entry_offset(grant_table_index + frames),
                 (list[frames] << page_shift) | table_flags | entry_no_execute);
    flush_updates();
    ++frames;
}

} // namespace

grant_ref_t grant_pages(domid_t to, const std::uint8_t* first, unsigned count, Grant grant) {
    if (count > (grant_table_frames * grants_of_frame) - next_grant) {
        stop_guest("more grants than the table holds:", count);
    }
    while (next_grant + count > frames * grants_of_frame) {
        map_frame();
    }
    const grant_ref_t reference = next_grant;
    for (unsigned i = 0; i < count; ++i) {
        grant_entry_v1& entry = grant_table[next_grant++];
        entry.domid = to;
        entry.frame = static_cast<std::uint32_t>(machine_frame_of(page_of(first) + i));
        const unsigned flags = GTF_permit_access | (grant == Grant::to_read ? GTF_readonly : 0U);
        __atomic_store_n(&entry.flags, static_cast<std::uint16_t>(flags), __ATOMIC_RELEASE);
    }
    return reference;
}

} // namespace previrt::xen
