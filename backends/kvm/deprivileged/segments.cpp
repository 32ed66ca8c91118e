// SPDX-License-Identifier: BSD-2-Clause
#include "backends/kvm/deprivileged/segments.hpp"
#include "backends/common/ring3/segment_bases.hpp"
#include "backends/kvm/deprivileged/domain.hpp"
#include "frontends/x86/processor/cpuid.hpp"
#include "frontends/x86/processor/segment_registers.hpp"
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/instruction_counts.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt::kvm {

extern "C" {
[[gnu::section(".shared.tables")]] std::uint64_t global_table[global_entries + own_entries];
[[gnu::section(".shared.tables")]] std::uint64_t local_table[local_entries];
}

namespace {

constexpr std::uint64_t user_code_32 = 0x00cffb000000ffff;
constexpr std::uint64_t user_data = 0x00cff3000000ffff;
constexpr std::uint64_t user_code = 0x00affb000000ffff;
constexpr std::uint64_t level_0_code = 0x00af9b000000ffff;

[[gnu::section("processor")]] unsigned global_written;
[[gnu::section("processor")]] unsigned local_written;

} // namespace

void start_segments() {
    global_table[selector_user_data >> 3U] = user_data;
    global_table[selector_user_code >> 3U] = user_code;
    global_table[(selector_user_code >> 3U) - 2] = user_code_32;
    global_table[selector_level_0 >> 3U] = level_0_code;
}

bool is_long_code(std::uint16_t selector) {
    constexpr std::uint64_t long_mode = std::uint64_t{1} << 53U;
    constexpr unsigned in_local = 4;
    const unsigned index = selector >> 3U;
    if ((selector & in_local) != 0) {
        return (local_table[index] & long_mode) != 0;
    }
    return index < global_entries && (global_table[index] & long_mode) != 0;
}

} // namespace previrt::kvm

namespace previrt {

// The front-end has checked the selector: the descriptor tables have it.
std::uint16_t selector_to_load(std::uint16_t selector) {
    return selector;
}

} // namespace previrt

namespace previrt::backend {

using namespace kvm;

// The selectors of this level's own code and data stay: if the guest has other descriptors there, it sees
// them in its own table.
bool write_descriptor(bool local, unsigned index, std::uint64_t descriptor) {
    std::uint64_t* const table = local ? local_table : global_table;
    if (index >= descriptor_count(local) || table[index] == descriptor ||
        (!local && (index == selector_user_data >> 3U || index == selector_user_code >> 3U))) {
        return false;
    }
    table[index] = descriptor;
    unsigned& written = local ? local_written : global_written;
    written = index >= written ? index + 1 : written;
    return true;
}

unsigned descriptor_count(bool local) {
    return local ? local_entries : global_entries;
}

unsigned descriptors_written(bool local) {
    return local ? local_written : global_written;
}

// It is always loaded. Descriptors past its end are not present.
void load_local_table(std::uint64_t /*base*/, unsigned entries) {
    for (unsigned i = entries; i < local_written; ++i) {
        local_table[i] = 0;
    }
    local_written = entries < local_written ? entries : local_written;
}

void set_task_switched(bool set) {
    constexpr std::uint64_t base = cr0_pg | cr0_am | cr0_wp | cr0_ne | cr0_et | cr0_mp | cr0_pe;
    ++counters.hypercalls[call_write_cr0];
    count_crossing(call_write_cr0);
    call_level_0(level_0_write_cr0, base | (set ? std::uint64_t{cr0_ts} : 0));
}

// Instructions for FS and GS bases, and XSAVE, are enabled in any case. Where the host's processor faults
// CPUID at level 3, programs ask KVM, and KVM's answer shows this OSXSAVE.
void set_extensions(std::uint64_t cr4) {
    constexpr std::uint64_t base = cr4_pae | cr4_pge | cr4_osfxsr | cr4_fsgsbase;
    ++counters.hypercalls[call_write_cr4];
    count_crossing(call_write_cr4);
    call_level_0(level_0_write_cr4, base | (offered_cr4_bits() & cr4_osxsave) | (cr4 & cr4_tsd));
}

} // namespace previrt::backend
