// SPDX-License-Identifier: BSD-2-Clause
// The host keeps the global descriptor table: a guest's code and data are those of any 64-bit process.
#include "backends/process/segments.hpp"

#include "backends/process/local_table.hpp"
#include "frontends/x86/segment_registers.hpp"
#include "inplace-vmm/backend.hpp"
#include "inplace-vmm/processor.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt::process {

extern "C" {
std::uint64_t user_gs_base; // while the kernel runs
std::uint64_t kernel_gs_base;
}

namespace {

std::uint64_t debug_registers[8];

constexpr unsigned data_segments[] = {segment_es, segment_ds, segment_fs, segment_gs};

std::uint16_t host_selector(std::uint16_t selector) {
    constexpr unsigned privilege = 3;
    constexpr unsigned in_local = 4;
    if ((selector & in_local) != 0) {
        return has_local_segment(selector) ? selector : 0;
    }
    return (selector | privilege) == selector_user_data ? selector : 0;
}

void write_active_gs_base(std::uint64_t base) {
    asm volatile("wrgsbase %0" : : "r"(base));
}

} // namespace

void enter_kernel_bases() {
    user_gs_base = processor::read_gs_base();
    write_active_gs_base(kernel_gs_base);
}

void leave_kernel_bases() {
    write_active_gs_base(user_gs_base);
}

SegmentState read_segments() {
    SegmentState state{
        .selectors = {}, .fs_base = processor::read_fs_base(), .gs_base = processor::read_gs_base()};
    for (const unsigned segment : data_segments) {
        state.selectors[segment] = read_segment(segment);
    }
    return state;
}

void write_segments(const SegmentState& state) {
    for (const unsigned segment : data_segments) {
        if (read_segment(segment) != state.selectors[segment]) {
            write_segment(segment, host_selector(state.selectors[segment]));
        }
    }
    backend::write_fs_base(state.fs_base);
    write_active_gs_base(state.gs_base);
}

} // namespace previrt::process

namespace previrt::backend {

using namespace process;

// One that the host does not have is null to the processor; the front-end has the guest's.
void load_segment(unsigned segment, std::uint16_t selector) {
    write_segment(segment, host_selector(selector));
    if (segment == segment_gs) {
        kernel_gs_base = processor::read_gs_base();
    }
}

void load_user_gs(std::uint16_t selector) {
    write_segment(segment_gs, host_selector(selector));
    user_gs_base = processor::read_gs_base();
    write_active_gs_base(kernel_gs_base);
}

std::uint64_t read_fs_base() {
    return processor::read_fs_base();
}

void write_fs_base(std::uint64_t base) {
    asm volatile("wrfsbase %0" : : "r"(base));
}

std::uint64_t read_gs_base(bool user) {
    return user ? user_gs_base : kernel_gs_base;
}

void write_gs_base(bool user, std::uint64_t base) {
    if (user) {
        user_gs_base = base;
    } else {
        kernel_gs_base = base;
        write_active_gs_base(base);
    }
}

void set_task_switched(bool set) {
    if (set) {
        stop_guest("CR0.TS and EM are not modelled in a process");
    }
}

// The host has enabled FS and GS base instructions and XSAVE for all its processes. TSD would deny the
// time-stamp counter to the VMM too.
void set_extensions(std::uint64_t /*cr4*/) {}

// They hold what was written and never compare: what the host reports is a single step.
void write_debug_register(unsigned number, std::uint64_t value) {
    debug_registers[number & 7U] = value;
}

std::uint64_t read_debug_register(unsigned number) {
    constexpr std::uint64_t single_step = 1U << 14U;
    return debug_registers[number & 7U] | (number == 6 ? single_step : 0);
}

// The host has enabled what its processor has; user mode and the kernel see that by themselves.
void write_xcr0(std::uint64_t /*value*/) {}

CpuidLeaf host_cpuid(std::uint32_t leaf, std::uint32_t subleaf) {
    CpuidLeaf answer{};
    asm volatile("cpuid"
                 : "=a"(answer.eax), "=b"(answer.ebx), "=c"(answer.ecx), "=d"(answer.edx)
                 : "a"(leaf), "c"(subleaf));
    return answer;
}

} // namespace previrt::backend
