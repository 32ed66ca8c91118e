// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/vmm/fake_backend.hpp"

#include "frontends/x86/devices/machine.hpp"
#include "frontends/x86/paging/shadow/tables.hpp"
#include "frontends/x86/processor/extended_state.hpp"
#include "inplace-vmm/backend/console.hpp"
#include "inplace-vmm/backend/events.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/backend/processors.hpp"
#include "inplace-vmm/backend/released_memory.hpp"
#include "inplace-vmm/backend/segment_bases.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"
#include "tests/unit/vmm/fake_disks.hpp"
#include "tests/unit/vmm/fake_tables.hpp"

#include <algorithm>
#include <cstring>

namespace previrt {

[[gnu::section("processor")]] Vcpu vcpu;
bool counters_are_wanted;

void stop_guest(std::string_view reason) {
    throw fake::Stop(std::string(reason));
}
void stop_guest(std::string_view reason, std::uint64_t value) {
    throw fake::Stop(std::string(reason) + ' ' + std::to_string(value));
}
void stop_guest(std::string_view reason, std::uint64_t value, std::string_view detail) {
    throw fake::Stop(std::string(reason) + ' ' + std::to_string(value) + ": " + std::string(detail));
}
void tell_of_panic() {
    fake::host.console += "(told of the panic)";
}
void end_guest(std::string_view word) {
    throw fake::End(std::string(word));
}

Treatment backend::treat_site(const KnownSite& site) {
    if (is_extended_state(site.kind()) && extended_state_is_native()) {
        return {};
    }
    return fake::treatments[site.record.kind];
}

void backend::write_trampoline(const KnownSite& site, std::size_t number, std::uint64_t /*address*/,
                               std::span<std::uint8_t> code, std::uint64_t target) {
    std::ranges::fill(code, std::uint8_t{0xcc});
    const std::uint64_t values[] = {site.address, number, target};
    std::memcpy(code.data(), values, sizeof(values));
}

namespace fake {

Host host;
Treatment treatments[256];

namespace {
std::vector<std::uint64_t> shadow_memory;
} // namespace

void start(std::uint64_t ram_bytes, std::uint32_t table_count) {
    host = {};
    disks.clear();
    std::ranges::fill(treatments, Treatment{});
    vcpu = {};
    counters = {};
    counters_are_wanted = false;
    start_tables(ram_bytes, table_count);
    start_shadow_tables([](std::uint64_t bytes) {
        shadow_memory.assign((bytes + 7) / 8, 0);
        return reinterpret_cast<std::uint8_t*>(shadow_memory.data());
    });
    pc = {};
}

} // namespace fake

namespace backend {

using fake::host;

std::span<KnownSite> memory_for_sites(std::size_t least) {
    if (least > host.most_sites) {
        return {};
    }
    return host.site_memory.emplace_back(least);
}
bool can_release_memory() {
    return true;
}
void release_memory(std::uint64_t first_frame, std::uint64_t count) {
    std::memset(guest_ram() + (first_frame * page_bytes), 0, count * page_bytes);
}
KernelFaults kernel_faults() {
    return host.kernel_faults;
}

std::uint64_t general_site_entry() {
    return fake::general_entry;
}
std::uint64_t entry_pointer(std::uint64_t entry) {
    return entry + (fake::general_pointer - fake::general_entry);
}
std::uint64_t interrupt_cell() {
    return fake::cell;
}
std::uint64_t read_fs_base() {
    return host.bases.fs;
}
void write_fs_base(std::uint64_t base) {
    host.bases.fs = base;
}
std::uint64_t read_gs_base(bool user) {
    return user ? host.bases.user_gs : host.bases.kernel_gs;
}
void write_gs_base(bool user, std::uint64_t base) {
    (user ? host.bases.user_gs : host.bases.kernel_gs) = base;
}
void load_segment(unsigned segment, std::uint16_t selector) {
    host.selectors[segment] = selector;
}
void load_user_gs(std::uint16_t selector) {
    host.selectors[5] = selector;
}
bool write_descriptor(bool local, unsigned index, std::uint64_t descriptor) {
    const bool changed = host.descriptors[{local, index}] != descriptor;
    host.descriptors[{local, index}] = descriptor;
    return changed;
}
unsigned descriptor_count(bool local) {
    return local ? 8192 : 512;
}
unsigned descriptors_written(bool local) {
    unsigned end = 0;
    for (const auto& [place, descriptor] : host.descriptors) {
        end = place.first == local && descriptor != 0 ? std::max(end, place.second + 1) : end;
    }
    return end;
}
void load_local_table(std::uint64_t /*base*/, unsigned /*entries*/) {}
void set_task_switched(bool set) {
    host.task_switched = set;
}
void set_extensions(std::uint64_t cr4) {
    host.extensions = cr4;
}
void write_debug_register(unsigned number, std::uint64_t value) {
    host.debug[number] = value;
}
std::uint64_t read_debug_register(unsigned number) {
    return host.debug[number];
}
bool compares_debug_registers() {
    return true;
}
void write_xcr0(std::uint64_t /*value*/) {} // it is the host's
std::uint64_t read_xcr0() {
    return host.xcr0;
}
void execute_state_instruction(const StateInstruction& instruction) {
    host.state_instruction = instruction;
}
CpuidLeaf host_cpuid(std::uint32_t leaf, std::uint32_t subleaf) {
    const auto found = host.cpuid.find({leaf, subleaf});
    return found == host.cpuid.end() ? CpuidLeaf{} : found->second;
}
std::uint64_t now() {
    return host.now;
}
std::optional<std::uint64_t> stolen_time() {
    return host.stolen_time;
}
std::uint64_t time_of_ticks(std::uint64_t ticks) {
    return ticks;
}
std::uint64_t epoch() {
    return fake::epoch;
}
std::uint64_t time_stamp_khz() {
    return 2'345'678;
}
void set_timer(std::optional<std::uint64_t> when) {
    host.timer = when;
}
void idle() {
    if (!host.timer) {
        throw fake::Misuse("the guest sleeps for ever");
    }
    host.now = std::max(host.now, *host.timer);
}
bool take_events() {
    return host.timer && *host.timer <= host.now;
}
void request_attention() {}

namespace {
fake::Packet packet_in_room;
bool packets_moved;
} // namespace

std::optional<NetworkAddress> network_address() {
    return host.network.address;
}
bool network_is_up() {
    return host.network.is_up;
}
bool takes_unfinished_packets() {
    return host.network.finishes_packets;
}
std::span<std::uint8_t> packet_room(std::uint32_t least) {
    if (host.network.sent.size() == host.network.room) {
        return {};
    }
    packet_in_room.assign(std::max<std::size_t>(least, host.network.room_bytes), 0xcc);
    return packet_in_room;
}
void send_packet(std::uint32_t bytes, const ethernet::Unfinished& left) {
    if (bytes == 0 || bytes > packet_in_room.size()) {
        throw fake::Misuse("a packet that does not fit its room");
    }
    packet_in_room.resize(bytes);
    host.network.sent.push_back(packet_in_room);
    host.network.left.push_back(left);
    packets_moved = true;
}
std::optional<ReceivedPacket> received_packet() {
    if (host.network.received.empty()) {
        return {};
    }
    ReceivedPacket packet = host.network.states.empty() ? ReceivedPacket{} : host.network.states.front();
    packet.bytes = host.network.received.front();
    return packet;
}
void release_packet() {
    host.network.received.pop_front();
    if (!host.network.states.empty()) {
        host.network.states.pop_front();
    }
    packets_moved = true;
}
void notify_packets() {
    host.network.calls += packets_moved ? 1 : 0;
    packets_moved = false;
}

void write_console(std::string_view text) {
    host.console += text;
}
std::optional<std::uint8_t> read_console() {
    if (host.input.empty()) {
        return {};
    }
    const auto character = static_cast<std::uint8_t>(host.input.front());
    host.input.erase(0, 1);
    return character;
}
void power_off() {
    throw fake::End("powered off");
}
void reboot() {
    throw fake::End("rebooted");
}
void crash() {
    throw fake::Stop("crash");
}

} // namespace backend

} // namespace previrt
