// SPDX-License-Identifier: BSD-2-Clause
// Maps the image at its linked address. Until then it runs elsewhere: this file is compiled
// position-independent and names nothing by an absolute address.
#include "backends/xen/hypercall.hpp"
#include "backends/xen/layout.hpp"

namespace previrt::xen {

namespace {

constexpr std::uint64_t table_flags = 0x67; // present, writable, user, accessed, dirty
constexpr std::uint64_t read_only_flags = 0x65;

struct BootSpace {
    const std::uint64_t* machine_frames; // by page number

    [[nodiscard]] std::uint64_t machine_of(const void* pointer) const {
        const std::uint64_t page = (reinterpret_cast<std::uint64_t>(pointer) - boot_address) >> page_shift;
        return machine_frames[page] << page_shift;
    }
};

const std::uint64_t* boot_pointer(std::uint64_t machine_entry) {
    const auto* const pages = reinterpret_cast<const std::uint64_t*>(MACH2PHYS_VIRT_START);
    constexpr std::uint64_t address_mask = 0x000ffffffffff000;
    return reinterpret_cast<const std::uint64_t*>(
        boot_address + (pages[(machine_entry & address_mask) >> page_shift] << page_shift));
}

void make_read_only(const BootSpace& space, void* table) {
    hypercall(__HYPERVISOR_update_va_mapping, reinterpret_cast<std::uint64_t>(table),
              space.machine_of(table) | read_only_flags, UVMF_INVLPG);
}

} // namespace

extern "C" {

// From the linker script and boot.S. Hidden: found relative to RIP, at their present addresses.
[[gnu::visibility("hidden")]] extern std::uint8_t image_start[];
[[gnu::visibility("hidden")]] extern std::uint8_t image_data[];
[[gnu::visibility("hidden")]] extern std::uint8_t image_end[];
[[gnu::visibility("hidden")]] extern std::uint64_t vmm_l1[];
[[gnu::visibility("hidden")]] extern std::uint64_t vmm_l2[];

[[gnu::visibility("hidden")]] void map_image(const start_info* info);

void map_image(const start_info* info) {
    const BootSpace space{reinterpret_cast<const std::uint64_t*>(info->mfn_list)};
    const auto pages = static_cast<std::uint64_t>(image_end - image_start) >> page_shift;
    for (std::uint64_t page = 0; page < pages; ++page) {
        std::uint8_t* const here = image_start + (page << page_shift);
        const bool is_table = here == reinterpret_cast<std::uint8_t*>(vmm_l1) ||
                              here == reinterpret_cast<std::uint8_t*>(vmm_l2);
        vmm_l1[page] =
            space.machine_of(here) | (is_table || here < image_data ? read_only_flags : table_flags);
    }
    vmm_l1[shared_info_index] = info->shared_info | table_flags;
    vmm_l2[table_entries - 1] = space.machine_of(vmm_l1) | table_flags;
    make_read_only(space, vmm_l1);
    make_read_only(space, vmm_l2);
    const auto* const root = reinterpret_cast<const std::uint64_t*>(info->pt_base);
    const std::uint64_t* const upper = boot_pointer(root[table_entries - 1]);
    mmu_update update{.ptr = space.machine_of(upper + (table_entries - 1)) |
                             (std::uint64_t{table_entries - 1} * 8) | MMU_NORMAL_PT_UPDATE,
                      .val = space.machine_of(vmm_l2) | table_flags};
    hypercall(__HYPERVISOR_mmu_update, reinterpret_cast<std::uint64_t>(&update), 1, 0, DOMID_SELF);
}
}

} // namespace previrt::xen
