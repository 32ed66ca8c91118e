// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/processors.hpp"

#include "backends/common/ring3/lock_waiters.hpp"
#include "backends/xen/domain.hpp"
#include "backends/xen/event_ports.hpp"
#include "backends/xen/hypercall.hpp"
#include "backends/xen/processor_roots.hpp"
#include "backends/xen/table_updates.hpp"
#include "inplace-vmm/backend/processors.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <cstring>
#include <optional>

namespace previrt::xen {

extern "C" {
extern std::uint64_t vmm_l1[];
extern std::uint8_t vmm_stack_top[];
[[noreturn]] void xen_start_processor_entry();
}

namespace {

constexpr unsigned most_processors = 64;

unsigned count = 1;
std::uint64_t first_page; // of the others' memory
constinit LockWaiters lock_waiters;

std::uint64_t own_pages() {
    return static_cast<std::uint64_t>(processor_end - processor_start) >> page_shift;
}

std::uint64_t pages_of_each() {
    return own_pages() + 1 + (std::uint64_t{kept_roots} * kept_tables);
}

std::uint64_t own_page(unsigned processor) {
    return first_page + ((processor - 1) * pages_of_each());
}

unsigned count_processors() {
    unsigned found = 1;
    while (found < most_processors && hypercall(__HYPERVISOR_vcpu_op, VCPUOP_is_up, found, 0) >= 0) {
        ++found;
    }
    return found;
}

// Until then the processor has it in the shared page, if at all.
void move_information(unsigned processor) {
    const std::uint8_t* const place = map_place(processor, &vcpu_information);
    of_processor(processor, vcpu_information).evtchn_upcall_mask = 1;
    vcpu_register_vcpu_info information{};
    information.mfn = machine_frame_of(page_of(place));
    information.offset = static_cast<std::uint32_t>(address_of(place) & (page_size - 1));
    must_succeed(__HYPERVISOR_vcpu_op, "register_vcpu_info", VCPUOP_register_vcpu_info, processor,
                 address_of(&information));
}

// As the boot processor's, but for the processor's own pages.
void build_level1(unsigned processor) {
    auto* const entries = reinterpret_cast<std::uint64_t*>(page_pointer(level1_page(processor)));
    std::memcpy(entries, vmm_l1, page_size);
    const std::uint64_t first = (address_of(processor_start) - image_address) >> page_shift;
    for (std::uint64_t i = 0; i < own_pages(); ++i) {
        entries[first + i] = machine_address(own_page(processor) + i) | table_flags;
    }
    make_page_read_only(level1_page(processor));
}

void initialise(unsigned processor) {
    static constinit vcpu_guest_context context{};
    context.flags = VGCF_in_kernel;
    context.user_regs.rip = reinterpret_cast<std::uint64_t>(&xen_start_processor_entry);
    context.user_regs.cs = FLAT_KERNEL_CS;
    context.user_regs.ss = FLAT_KERNEL_SS;
    context.user_regs.rsp = reinterpret_cast<std::uint64_t>(vmm_stack_top);
    context.user_regs.rflags = flag_reserved_one;
    context.kernel_ss = FLAT_KERNEL_SS;
    context.kernel_sp = reinterpret_cast<std::uint64_t>(vmm_stack_top);
    context.ctrlreg[3] = machine_address(kept_page(processor, 0, 4));
    must_succeed(__HYPERVISOR_vcpu_op, "initialise", VCPUOP_initialise, processor, address_of(&context));
}

} // namespace

std::uint64_t level1_page(unsigned processor) {
    return own_page(processor) + own_pages();
}

std::uint64_t kept_page(unsigned processor, unsigned root, unsigned level) {
    return level1_page(processor) + 1 + (std::uint64_t{root} * kept_tables) + (level - 2);
}

std::uint8_t* map_place(unsigned processor, const void* variable) {
    const auto place = reinterpret_cast<std::uint64_t>(variable);
    return processor == 0 ? page_pointer(0) + (place - image_address)
                          : page_pointer(own_page(processor)) + (place - address_of(processor_start));
}

void start_boot_processor() {
    count = count_processors();
    move_information(0);
}

void start_processors() {
    if (count == 1) {
        return;
    }
    first_page = page_of(take_memory((count - 1) * pages_of_each() * page_size));
    start_processor_roots();
    for (unsigned i = 1; i < count; ++i) {
        std::memcpy(page_pointer(own_page(i)), processor_start, own_pages() * page_size);
        of_processor(i, vcpu_information) = {};
        of_processor(i, vcpu).number = i;
        set_activity_of(i, Activity::absent);
        build_level1(i);
        build_processor_roots(i);
        flush_updates();
        take_descriptors(i);
        move_information(i);
        bind_ports(i);
        initialise(i);
    }
}

} // namespace previrt::xen

namespace previrt {

using namespace xen;

std::uint8_t* memory_of_processor(unsigned processor, const void* variable) {
    if (processor == vcpu.number) { // a compiler may not know that two addresses are one place
        return const_cast<std::uint8_t*>(static_cast<const std::uint8_t*>(variable));
    }
    return map_place(processor, variable);
}

void wait_for_lock(const std::uint32_t& lock, std::uint32_t value) {
    lock_waiters.wait(vcpu.number, lock, value, wait_for_call);
}

void wake_one_for_lock(const std::uint32_t& /*lock*/) {
    if (const std::optional<unsigned> processor = lock_waiters.take_next(vcpu.number)) {
        call_processor(*processor);
    }
}

void begin_absent(unsigned processor) {
    must_succeed(__HYPERVISOR_vcpu_op, "up", VCPUOP_up, processor, 0);
}

void interrupt_guest(unsigned processor) {
    call_processor(processor);
}

void wake_sleeper(unsigned processor) {
    call_processor(processor);
}

unsigned backend::processor_count() {
    return count;
}

} // namespace previrt
