// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/domain.hpp"
#include "backends/xen/layout.hpp"
#include "backends/xen/processors.hpp"
#include "frontends/x86/processor/segment_registers.hpp"
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/backend/processors.hpp"
#include "inplace-vmm/backend/segment_bases.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/processor.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt::xen {

namespace {

constexpr unsigned global_entries = 512;
constexpr unsigned local_entries = 8192;

struct DescriptorPages {
    std::uint64_t* entries; // read-only here: Xen checks each that is written
    unsigned count;
    unsigned written;
};
[[gnu::section("processor")]] DescriptorPages global_table;
[[gnu::section("processor")]] DescriptorPages local_table;

// User mode's GS base as Xen keeps it while the kernel runs. Only user mode changes it, by wrgsbase. Several
// processors count their returns without a lock, so that the count may go back.
struct UserBase {
    std::uint64_t value;
    std::uint64_t returns; // to user mode until then
    bool is_known;

    [[nodiscard]] bool is_current() const {
        return is_known && returns == counters.user_returns && backend::processor_count() == 1;
    }
    void note(std::uint64_t base) {
        *this = {.value = base, .returns = counters.user_returns, .is_known = true};
    }
};
[[gnu::section("processor")]] UserBase user_base;

DescriptorPages take_pages(unsigned count) {
    auto* const entries =
        reinterpret_cast<std::uint64_t*>(take_memory(std::uint64_t{count} * sizeof(std::uint64_t)));
    const std::uint64_t pages = (std::uint64_t{count} * sizeof(std::uint64_t)) / page_size;
    for (std::uint64_t i = 0; i < pages; ++i) {
        make_page_read_only(page_of(entries) + i);
    }
    return {.entries = entries, .count = count, .written = 0};
}

// The VMM uses them if the processor has them, and so leaves them enabled.
bool has_base_instructions;

enum Msr : std::uint32_t { fs_base = 0xc0000100, gs_base = 0xc0000101, kernel_gs_base = 0xc0000102 };

void set_base(unsigned which, std::uint64_t base) {
    must_succeed(__HYPERVISOR_set_segment_base, "set_segment_base", which, base);
}

} // namespace

void start_segments() {
    has_base_instructions = (backend::host_cpuid(7, 0).ebx & 1U) != 0;
    take_descriptors(0);
    start_own_segments();
}

void take_descriptors(unsigned processor) {
    of_processor(processor, global_table) = take_pages(global_entries);
    of_processor(processor, local_table) = take_pages(local_entries);
}

void start_own_segments() {
    backend::set_extensions(0);
    const std::uint64_t frame = machine_frame_of(page_of(global_table.entries));
    must_succeed(__HYPERVISOR_set_gdt, "set_gdt", address_of(&frame), global_entries);
}

} // namespace previrt::xen

namespace previrt::backend {

using namespace xen;

bool write_descriptor(bool local, unsigned index, std::uint64_t descriptor) {
    DescriptorPages& table = local ? local_table : global_table;
    if (index >= table.count || table.entries[index] == descriptor) {
        return false;
    }
    const std::uint64_t place = machine_frame_of(page_of(&table.entries[index])) << page_shift;
    must_succeed(__HYPERVISOR_update_descriptor, "update_descriptor",
                 place | (address_of(&table.entries[index]) & (page_size - 1)), descriptor);
    table.written = index >= table.written ? index + 1 : table.written;
    return true;
}

unsigned descriptor_count(bool local) {
    return local ? local_table.count : global_table.count;
}

unsigned descriptors_written(bool local) {
    return local ? local_table.written : global_table.written;
}

void load_local_table(std::uint64_t /*base*/, unsigned entries) {
    mmuext_op operation{};
    operation.cmd = MMUEXT_SET_LDT;
    operation.arg1.linear_addr = entries != 0 ? address_of(local_table.entries) : 0;
    operation.arg2.nr_ents = entries;
    must_succeed(__HYPERVISOR_mmuext_op, "mmuext_op", address_of(&operation), 1, 0, DOMID_SELF);
}

// The front-end has checked the selector: the descriptor tables have it.
void load_segment(unsigned segment, std::uint16_t selector) {
    write_segment(segment, selector);
}

void load_user_gs(std::uint16_t selector) {
    set_base(SEGBASE_GS_USER_SEL, selector);
    user_base.is_known = false;
}

std::uint64_t read_fs_base() {
    if (!has_base_instructions) {
        return processor::read_msr(fs_base);
    }
    return processor::read_fs_base();
}

void write_fs_base(std::uint64_t base) {
    if (has_base_instructions) {
        asm volatile("wrfsbase %0" : : "r"(base));
    } else {
        set_base(SEGBASE_FS, base);
    }
}

std::uint64_t read_gs_base(bool user) {
    if (user) {
        if (!user_base.is_current()) {
            // Xen emulates it: in a PV guest's kernel it is user mode's base.
            user_base.note(processor::read_msr(kernel_gs_base));
        }
        return user_base.value;
    }
    if (!has_base_instructions) {
        return processor::read_msr(gs_base);
    }
    return processor::read_gs_base();
}

void write_gs_base(bool user, std::uint64_t base) {
    if (!user) {
        set_base(SEGBASE_GS_KERNEL, base);
    } else if (!user_base.is_current() || user_base.value != base) {
        set_base(SEGBASE_GS_USER, base);
        user_base.note(base);
    }
}

void set_task_switched(bool set) {
    must_succeed(__HYPERVISOR_fpu_taskswitch, "fpu_taskswitch", set ? 1 : 0);
}

// Xen emulates the write, and keeps its own bits.
void set_extensions(std::uint64_t cr4) {
    constexpr std::uint64_t followed = cr4_tsd | cr4_fsgsbase | cr4_osxsave;
    std::uint64_t value = 0;
    asm volatile("mov %%cr4, %0" : "=r"(value));
    value =
        (value & ~followed) | (cr4 & followed) | (has_base_instructions ? std::uint64_t{cr4_fsgsbase} : 0);
    asm volatile("mov %0, %%cr4" : : "r"(value));
}

void write_debug_register(unsigned number, std::uint64_t value) {
    // Xen refuses addresses of its own and those that are not canonical. The guest never accesses the last
    // byte.
    constexpr unsigned addresses = 4;
    const bool is_done =
        hypercall(__HYPERVISOR_set_debugreg, number, value) == 0 ||
        (number < addresses && hypercall(__HYPERVISOR_set_debugreg, number, ~std::uint64_t{0}) == 0);
    if (!is_done) {
        stop_guest("Xen refuses this value of a debug register:", value);
    }
}

bool compares_debug_registers() {
    return true;
}

std::uint64_t read_debug_register(unsigned number) {
    return static_cast<std::uint64_t>(hypercall(__HYPERVISOR_get_debugreg, number));
}

// Xen emulates it, and keeps the state that it selects.
void write_xcr0(std::uint64_t value) {
    asm volatile("xsetbv" : : "a"(static_cast<std::uint32_t>(value)), "d"(value >> 32U), "c"(0));
}

std::uint64_t read_xcr0() {
    return processor::read_xcr0();
}

CpuidLeaf host_cpuid(std::uint32_t leaf, std::uint32_t subleaf) {
    CpuidLeaf answer{};
    // ud2a and "xen" in front: Xen answers with the features that a PV guest may use.
    asm volatile(".byte 0x0f, 0x0b, 0x78, 0x65, 0x6e; cpuid"
                 : "=a"(answer.eax), "=b"(answer.ebx), "=c"(answer.ecx), "=d"(answer.edx)
                 : "a"(leaf), "c"(subleaf));
    return answer;
}

} // namespace previrt::backend
