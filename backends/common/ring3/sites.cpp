// SPDX-License-Identifier: BSD-2-Clause
// The treatment of each kind of site if the guest's kernel runs without privilege, beside the VMM.
#include "inplace-vmm/backend/sites.hpp"
#include "backends/common/ring3/layout_constants.hpp"
#include "frontends/x86/processor/extended_state.hpp"
#include "frontends/x86/processor/segment_registers.hpp"
#include "inplace-vmm/rewriter.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt {

extern "C" {
extern const std::uint64_t general_site_pointer;
extern const std::uint64_t page_table_pointer;
extern const std::uint64_t quiet_site_pointer;
extern const std::uint64_t segment_reads_pointer;
extern const std::uint64_t sti_pointer;
extern const std::uint64_t pushf_pointer;
extern const std::uint64_t popf_pointer;
void site_jump();
void system_return_jump();
void interrupt_return_jump();
}

namespace {

constexpr unsigned general_registers = 16;

// site_calls.h has an entry for each register to which ES, DS, FS or GS is read.
Treatment treat_segment_read(const KnownSite& site) {
    constexpr std::uint64_t entry_bytes = 32;
    const unsigned general = site.record.operand & (general_registers - 1);
    if (site.record.shape() != Shape::registers || general == rsp) {
        return {.way = Way::call, .target = general_site_pointer};
    }
    unsigned segment = 0;
    switch (site.record.operand / general_registers) {
    case segment_es:
        break;
    case segment_ds:
        segment = 1;
        break;
    case segment_fs:
        segment = 2;
        break;
    case segment_gs:
        segment = 3;
        break;
    default:
        return {.way = Way::in_line};
    }
    const unsigned width = site.record.width() == 2 ? 0 : 1; // the wider ones clear the upper bits alike
    const unsigned entry = (((segment * 2) + width) * general_registers) + general;
    return {.way = Way::call, .target = segment_reads_pointer + (entry_bytes * entry)};
}

bool is_move_to_cr3(const KnownSite& site) {
    return site.record.shape() == Shape::registers && site.record.operand / general_registers == 3;
}

bool is_move_from_stack_pointer(const KnownSite& site) {
    return site.record.shape() == Shape::registers && site.record.operand % general_registers == rsp;
}

} // namespace

Treatment backend::treat_site(const KnownSite& site) {
    const Treatment call{.way = Way::call, .target = general_site_pointer};
    const Treatment jump{.way = Way::jump, .target = reinterpret_cast<std::uint64_t>(&site_jump)};
    switch (site.kind()) {
    case SiteKind::cli:
    case SiteKind::mov_from_control:
        return {.way = Way::in_line};
    case SiteKind::mov_from_segment:
        return treat_segment_read(site);
    case SiteKind::rdgsbase:
    case SiteKind::wrgsbase:
        return {.way = Way::call, .target = quiet_site_pointer};
    case SiteKind::mov_to_control:
        if (is_move_from_stack_pointer(site)) {
            return jump;
        }
        return is_move_to_cr3(site) ? Treatment{.way = Way::call, .target = quiet_site_pointer} : call;
    // Each raises #GP with an error code of its own. A return to behind the site must find the next
    // instruction.
    case SiteKind::int_n:
        return {};
    case SiteKind::layout_constant:
        return treat_layout_constant(site);
    case SiteKind::xsave:
    case SiteKind::xsaveopt:
    case SiteKind::xrstor:
        return extended_state_is_native() ? Treatment{} : call;
    case SiteKind::page_table_write:
    case SiteKind::page_table_exchange:
    case SiteKind::page_table_compare_exchange:
    case SiteKind::page_table_test_and_clear_bit:
    case SiteKind::page_table_clear_bit:
        return {.way = Way::call, .target = page_table_pointer};
    case SiteKind::sti:
        return {.way = Way::call, .target = sti_pointer};
    case SiteKind::pushf:
    case SiteKind::popf:
        if (site.record.width() != 8) {
            return call;
        }
        return {.way = Way::call, .target = site.kind() == SiteKind::pushf ? pushf_pointer : popf_pointer};
    // RSP may be no stack that can be pushed to. Linux clears the processor's buffers by VERW when the
    // program's RSP is loaded already.
    case SiteKind::swapgs:
    case SiteKind::verw:
        return jump;
    case SiteKind::iret:
        if (site.record.width() != 8) {
            return jump;
        }
        return {.way = Way::jump, .target = reinterpret_cast<std::uint64_t>(&interrupt_return_jump)};
    case SiteKind::sysret:
        if (site.record.width() != 8) {
            return jump;
        }
        return {.way = Way::jump, .target = reinterpret_cast<std::uint64_t>(&system_return_jump)};
    // The same as in user mode; CPUID says so too.
    case SiteKind::rdtsc:
    case SiteKind::rdtscp:
    case SiteKind::rdpid:
    case SiteKind::rdpru:
    case SiteKind::rdpmc:
    case SiteKind::rdfsbase:
    case SiteKind::wrfsbase:
    // Hidden by CPUID: #UD or #GP, as on a processor without them.
    case SiteKind::stac:
    case SiteKind::clac:
    case SiteKind::lkgs:
    case SiteKind::sysexit:
    case SiteKind::erets:
    case SiteKind::eretu:
    case SiteKind::rsm:
    case SiteKind::wrmsrns:
    case SiteKind::rdmsrlist:
    case SiteKind::wrmsrlist:
    case SiteKind::xsaves:
    case SiteKind::xrstors:
    case SiteKind::invpcid:
    case SiteKind::invlpgb:
    case SiteKind::tlbsync:
    case SiteKind::monitor:
    case SiteKind::mwait:
    case SiteKind::vmx:
    case SiteKind::svm:
    case SiteKind::enclave:
    case SiteKind::encrypted_memory:
    case SiteKind::shadow_stack:
    case SiteKind::supervisor_misc:
        return {};
    default:
        return call;
    }
}

} // namespace previrt

namespace previrt::backend {

std::uint64_t general_site_entry() {
    return general_site_pointer;
}

std::uint64_t entry_pointer(std::uint64_t entry) {
    for (const std::uint64_t* const pointer :
         {&general_site_pointer, &page_table_pointer, &quiet_site_pointer, &sti_pointer, &pushf_pointer,
          &popf_pointer}) {
        if (*pointer == entry) {
            return reinterpret_cast<std::uint64_t>(pointer);
        }
    }
    return reinterpret_cast<std::uint64_t>(&general_site_pointer);
}

} // namespace previrt::backend
