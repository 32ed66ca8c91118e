// SPDX-License-Identifier: BSD-2-Clause
// The monitor's questions. Each begins on an empty stack, in the VMM's own page tables, and ends with the
// answer.
#include "backends/kvm/privileged/devices.hpp"
#include "backends/kvm/privileged/domain.hpp"
#include "backends/kvm/privileged/processors.hpp"
#include "frontends/x86/devices/device_memory.hpp"
#include "frontends/x86/devices/machine.hpp"
#include "frontends/x86/devices/port_access.hpp"
#include "frontends/x86/linux_boot/guest_image.hpp"
#include "frontends/x86/sites/copied_sites.hpp"
#include "frontends/x86/sites/module_sites.hpp"
#include "inplace-vmm/backend/events.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/backend/sites.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/instruction_counts.hpp"
#include "inplace-vmm/package.hpp"
#include "inplace-vmm/site_list.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt::kvm_privileged {

extern "C" {
extern std::uint8_t question_stack_top[];
void question_entry();
[[noreturn]] void question_asked();

[[gnu::section(".header"), gnu::used]] const ImageHeader image_header = {
    .magic = {'p', 'v', 't', '-', 'k', 'v', 'p', '\0'},
    .entry = reinterpret_cast<std::uint64_t>(&question_entry),
    .stack_top = reinterpret_cast<std::uint64_t>(&question_stack_top),
    .device_bytes = sizeof(Pc),
};
}

namespace {

// Part of the image, because find_site() also runs in the guest's page tables.
constexpr std::size_t most_sites = 40960;
alignas(KnownSite) std::uint8_t sites[most_sites * sizeof(KnownSite)];

void load() {
    start_events();
    mailbox.boot = place_guest(package());
    start_processors();
}

void count_trapped(SiteKind kind) {
    if (vcpu.cpl != 0) {
        return; // a program has no sites
    }
    ++counters.trapped_sites[static_cast<std::uint8_t>(kind)];
    // The monitor, which has the exit, does not read RIP.
    count_elsewhere(kind == SiteKind::in || kind == SiteKind::out ? previrt::Cause::port_access
                                                                  : previrt::Cause::device_access);
}

void access_devices(Question question) {
    take_delivered();
    const auto port = static_cast<std::uint16_t>(mailbox.address);
    switch (question) {
    case Question::read_port:
        count_trapped(SiteKind::in);
        mailbox.value = read_port(port, mailbox.width);
        break;
    case Question::write_port:
        count_trapped(SiteKind::out);
        write_port(port, mailbox.width, static_cast<std::uint32_t>(mailbox.value));
        break;
    case Question::read_memory:
        count_trapped(SiteKind::mmio_read);
        read_device(mailbox.address, &mailbox.value, mailbox.width);
        break;
    case Question::write_memory:
        count_trapped(SiteKind::mmio_write);
        write_device(mailbox.address, &mailbox.value, mailbox.width);
        break;
    default:
        take_events();
    }
    after_question();
}

void take_announcement(const Announcement& what) {
    switch (static_cast<AnnouncementTag>(what.tag)) {
    case AnnouncementTag::table:
        take_announced_sites(what.rdi, what.rsi);
        return;
    case AnnouncementTag::module: {
        // For a module that was not prepared, the processor does everything that sites are for.
        const bool is_prepared = what.rcx != 0 || what.rsi != 0;
        const Refusal refusal =
            is_prepared
                ? take_announced_module(
                      {.table = what.rdi, .table_bytes = what.rsi, .note = what.rdx, .note_bytes = what.rcx})
                : Refusal::none;
        mailbox.value = static_cast<std::uint64_t>(refusal);
        return;
    }
    case AnnouncementTag::forget:
        forget_announced_sites(what.rdi, what.rsi);
        return;
    case AnnouncementTag::copy:
        mailbox.value = static_cast<std::uint64_t>(
            take_copied_sites({.to = what.rdi, .from = what.rdx, .bytes = what.rsi}));
        return;
    case AnnouncementTag::read:
        show_own_instructions({.to = what.rdi, .from = what.rdx, .bytes = what.rsi});
        return;
    }
    stop_guest("an announcement that the VMM does not know:", what.tag);
}

void answer(Question question) {
    switch (question) {
    case Question::load:
        load();
        return;
    case Question::activate:
        enter_address_space(mailbox.cr3);
        rewrite_kernel();
        take_devices();
        return;
    case Question::read_port:
    case Question::write_port:
    case Question::read_memory:
    case Question::write_memory:
    case Question::packets:
        access_devices(question);
        return;
    case Question::announce:
        take_announcement(mailbox.announcement);
        return;
    case Question::halt:
        end_guest(end_powered_off);
    case Question::reset:
        end_guest(end_rebooted);
    }
    stop_guest("a question that the VMM does not know:", static_cast<std::uint64_t>(question));
}

// The state of the processor for which the monitor asks, for walks of its page tables. One of several may
// still be in its start, and sites walk by the state of the others.
class Asker {
public:
    Asker() {
        vcpu.cr0 = mailbox.cr0;
        vcpu.cr3 = mailbox.cr3;
        vcpu.cr4 = mailbox.cr4;
        vcpu.efer = mailbox.efer;
        vcpu.cpl = static_cast<std::uint8_t>(mailbox.privilege_level);
    }
    void leave() const {
        if (has_several_processors() && mailbox.question != Question::activate) {
            vcpu.cr0 = cr0_;
            vcpu.cr4 = cr4_;
            vcpu.efer = efer_;
        }
    }

private:
    std::uint64_t cr0_ = vcpu.cr0;
    std::uint64_t cr4_ = vcpu.cr4;
    std::uint64_t efer_ = vcpu.efer;
};

} // namespace

extern "C" void question_asked() {
    take_vmm();
    const Asker asker;
    answer(mailbox.question);
    asker.leave();
    give_vmm();
    request_of_monitor(PortRequest::answer);
    stop_guest("the monitor took no answer");
}

} // namespace previrt::kvm_privileged

namespace previrt::backend {

// Gives all of it, once: the image has no more.
std::span<KnownSite> memory_for_sites(std::size_t least) {
    using namespace kvm_privileged;
    if (least > most_sites || !known_sites().empty()) {
        return {};
    }
    return {reinterpret_cast<KnownSite*>(sites), most_sites};
}

KernelFaults kernel_faults() {
    return KernelFaults::to_the_guest;
}

} // namespace previrt::backend
