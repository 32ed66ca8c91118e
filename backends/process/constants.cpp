// SPDX-License-Identifier: BSD-2-Clause
// The addresses here for a kernel that was linked for the upper half of the address space.
#include "backends/common/ring3/layout_constants.hpp"
#include "backends/process/contract/layout.hpp"
#include "inplace-vmm/backend/sites.hpp"
#include "previrt/layout_constants.hpp"

namespace previrt {

namespace {

using namespace process;

std::uint64_t place_of(const LayoutConstantInfo& constant) {
    switch (constant.constant) {
    case LayoutConstant::user_end:
        return user_end - page_size;
    case LayoutConstant::direct_map:
        return ram_address;
    case LayoutConstant::vmalloc:
        return vmalloc_address;
    case LayoutConstant::vmalloc_bytes:
        return vmalloc_bytes;
    case LayoutConstant::vmemmap:
        return frame_table_address;
    case LayoutConstant::cpu_entry_area:
        return processor_area_address;
    case LayoutConstant::espfix:
        return espfix_address;
    case LayoutConstant::modules:
        return modules_address;
    case LayoutConstant::modules_end:
        return modules_end;
    case LayoutConstant::fixmap_top:
        return mapped_slot_address | (constant.place & (slot_bytes - 1));
    }
    return constant.place;
}

} // namespace

Treatment treat_layout_constant(const KnownSite& site) {
    const LayoutConstantInfo* const constant = find_layout_constant(site.record.operand);
    return constant == nullptr ? Treatment{} : Treatment{.way = Way::in_line, .target = place_of(*constant)};
}

} // namespace previrt
