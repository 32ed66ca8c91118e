// SPDX-License-Identifier: BSD-2-Clause
#include "inplace-vmm/backend/segment_bases.hpp"
#include "frontends/x86/processor/segment_registers.hpp"
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/vcpu.hpp"
#include "tests/backends/ptrace/child.hpp"
#include "tests/backends/ptrace/segment_bases.hpp"

namespace previrt::traced {

namespace {

std::uint64_t& gs_base(bool user) {
    return user ? vcpu.user_gs_base : vcpu.kernel_gs_base;
}

// Of the selectors that the guest can have, the host's table has one for data.
std::uint16_t loadable(std::uint16_t selector) {
    constexpr std::uint16_t level_3 = 3;
    return (selector | level_3) == user_data ? user_data : 0;
}

} // namespace

void enter_with_gs_base() {
    gs_base(vcpu.cpl == 3) = child_registers.gs_base;
}

void leave_with_gs_base() {
    child_registers.gs_base = gs_base(vcpu.cpl == 3);
}

} // namespace previrt::traced

namespace previrt::backend {

using namespace traced;

std::uint64_t read_fs_base() {
    return child_registers.fs_base;
}

void write_fs_base(std::uint64_t base) {
    child_registers.fs_base = base;
}

std::uint64_t read_gs_base(bool user) {
    return gs_base(user);
}

void write_gs_base(bool user, std::uint64_t base) {
    gs_base(user) = base;
}

void load_segment(unsigned segment, std::uint16_t selector) {
    switch (segment) {
    case segment_es:
        child_registers.es = loadable(selector);
        break;
    case segment_ds:
        child_registers.ds = loadable(selector);
        break;
    case segment_fs:
        child_registers.fs = loadable(selector);
        write_fs_base(0);
        break;
    default:
        child_registers.gs = loadable(selector);
        write_gs_base(false, 0);
    }
}

void load_user_gs(std::uint16_t selector) {
    child_registers.gs = loadable(selector);
    write_gs_base(true, 0);
}

} // namespace previrt::backend
