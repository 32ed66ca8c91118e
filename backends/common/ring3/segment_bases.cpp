// SPDX-License-Identifier: BSD-2-Clause
// FS and GS bases, by the instructions that level 3 has for them.
#include "backends/common/ring3/segment_bases.hpp"

#include "frontends/x86/processor/segment_registers.hpp"
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/backend/segment_bases.hpp"
#include "inplace-vmm/processor.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt {

void enter_kernel_bases() {
    vcpu.user_gs_base = processor::read_gs_base();
    write_active_gs_base(vcpu.kernel_gs_base);
}

void leave_kernel_bases() {
    write_active_gs_base(vcpu.user_gs_base);
}

void write_active_gs_base(std::uint64_t base) {
    asm volatile("wrgsbase %0" : : "r"(base));
}

} // namespace previrt

namespace previrt::backend {

void load_segment(unsigned segment, std::uint16_t selector) {
    write_segment(segment, selector_to_load(selector));
    if (segment == segment_gs) {
        vcpu.kernel_gs_base = processor::read_gs_base();
    }
}

void load_user_gs(std::uint16_t selector) {
    write_segment(segment_gs, selector_to_load(selector));
    vcpu.user_gs_base = processor::read_gs_base();
    write_active_gs_base(vcpu.kernel_gs_base);
}

std::uint64_t read_fs_base() {
    return processor::read_fs_base();
}

void write_fs_base(std::uint64_t base) {
    asm volatile("wrfsbase %0" : : "r"(base));
}

std::uint64_t read_gs_base(bool user) {
    return user ? vcpu.user_gs_base : vcpu.kernel_gs_base;
}

void write_gs_base(bool user, std::uint64_t base) {
    if (user) {
        vcpu.user_gs_base = base;
    } else {
        vcpu.kernel_gs_base = base;
        write_active_gs_base(base);
    }
}

} // namespace previrt::backend
