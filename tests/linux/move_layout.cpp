// SPDX-License-Identifier: BSD-2-Clause
// move-layout VMLINUX: what the in-place VMM of a process does to layout constants, done to a linked kernel
// in place. All that has an address of its own but the image and its modules moves to the lower half. If a
// constant were unrecorded, or if Linux took the sign of an address for its side, the kernel would not boot.
#include "host/file.hpp"
#include "host/input_error.hpp"
#include "inplace-vmm/record_check.hpp"
#include "previrt/layout_constants.hpp"
#include "toolchain/image/kernel_file.hpp"
#include "toolchain/image/site_table.hpp"

#include <cstdio>
#include <cstring>
#include <iostream>

namespace previrt {

namespace {

constexpr std::uint64_t slot(unsigned index) {
    return std::uint64_t{index} << 39U;
}

std::uint64_t new_place(const LayoutConstantInfo& constant) {
    constexpr std::uint64_t gib = std::uint64_t{1} << 30U;
    switch (constant.constant) {
    case LayoutConstant::user_end:
        return slot(254) - 4096;
    case LayoutConstant::direct_map:
        return slot(254);
    case LayoutConstant::espfix: // half of the last slot, as in a process
        return slot(255);
    case LayoutConstant::vmalloc:
        return slot(255) + (256 * gib);
    case LayoutConstant::vmalloc_bytes:
        return 192 * gib;
    case LayoutConstant::vmemmap:
        return slot(255) + (448 * gib);
    case LayoutConstant::cpu_entry_area:
        return slot(255) + (480 * gib);
    case LayoutConstant::fixmap_top:
        return slot(255) | (constant.place & (slot(1) - 1));
    case LayoutConstant::modules: // within 2 GiB of the image, which stays
    case LayoutConstant::modules_end:
        break;
    }
    return constant.place;
}

void move_layout(const std::string& path) {
    const KernelFile file = load_kernel_file(path);
    std::vector<std::uint8_t> bytes = file.elf.file();
    std::size_t moved = 0;
    for (const Site& site : read_site_table(file, Places(file.elf))) {
        if (static_cast<SiteKind>(site.record.kind) != SiteKind::layout_constant) {
            continue;
        }
        const Section& section = *file.elf.section_at(site.address);
        const std::size_t length = site.record.site_length();
        const auto code = section.bytes.subspan(site.address - section.address, length);
        const LayoutConstantInfo& constant = *find_layout_constant(site.record.operand);
        const std::uint64_t number = layout_number(code) + (new_place(constant) - constant.place);
        const std::size_t end = section.file_offset + (site.address - section.address) + length;
        std::memcpy(bytes.data() + end - sizeof number, &number, sizeof number);
        moved += new_place(constant) != constant.place ? 1 : 0;
    }
    write_file(path, bytes);
    std::printf("move-layout: %zu numbers moved\n", moved);
}

} // namespace

} // namespace previrt

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: move-layout VMLINUX\n";
        return 2;
    }
    try {
        previrt::move_layout(argv[1]);
        return 0;
    } catch (const previrt::InputError& error) {
        std::cerr << "move-layout: " << error.what() << '\n';
        return 2;
    }
}
