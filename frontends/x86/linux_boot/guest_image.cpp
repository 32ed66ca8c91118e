// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/linux_boot/guest_image.hpp"

#include "frontends/x86/devices/balloon.hpp"
#include "frontends/x86/devices/console_ports.hpp"
#include "frontends/x86/devices/disks.hpp"
#include "frontends/x86/devices/floating_bus.hpp"
#include "frontends/x86/devices/folders.hpp"
#include "frontends/x86/devices/machine.hpp"
#include "frontends/x86/devices/network.hpp"
#include "frontends/x86/devices/vsock.hpp"
#include "frontends/x86/linux_boot/kernel_elf.hpp"
#include "frontends/x86/paging/page_entry.hpp"
#include "frontends/x86/paging/physical_memory.hpp"
#include "frontends/x86/sites/kernel_sites.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/backend/time.hpp"
#include "inplace-vmm/instruction_counts.hpp"
#include "inplace-vmm/package.hpp"
#include "inplace-vmm/stop.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

namespace previrt {

namespace {

using Bytes = std::span<const std::uint8_t>;

// Below 640 KiB, as a boot loader would.
constexpr std::uint64_t page_tables_at = 0x70000;
constexpr std::uint64_t stack_top_at = 0x7f000;
constexpr std::uint64_t boot_params_at = 0x80000;
constexpr std::uint64_t command_line_at = 0x81000;
constexpr std::uint64_t command_line_room = 0x1000;
constexpr std::uint64_t descriptors_at = 0x82000;
constexpr std::uint64_t low_memory_end = 0x9fc00;
constexpr std::uint64_t high_memory = 0x100000;
constexpr std::uint64_t identity_bytes = std::uint64_t{1} << 30U;

constexpr KernelPlacement& placement = machine_state.kernel;
[[gnu::section(".bss.cache")]] Bytes kernel_file; // in the package; used before the guest starts

std::uint8_t* ram_at(std::uint64_t address, std::uint64_t bytes, const char* what) {
    std::uint8_t* const memory = physical_memory(address, bytes);
    if (memory == nullptr) {
        stop_guest(what, address);
    }
    return memory;
}

Bytes part_of(Bytes package, const PackagePart& part, const char* what) {
    if (part.offset > package.size() || part.bytes > package.size() - part.offset) {
        stop_guest(what, part.offset);
    }
    return package.subspan(part.offset, part.bytes);
}

void load_segments(const KernelElf& elf) {
    std::uint64_t first = ~std::uint64_t{0};
    std::uint64_t end = 0;
    for (unsigned i = 0; i < elf.segment_count(); ++i) {
        const LoadSegment segment = elf.segment(i);
        if (segment.memory_bytes == 0) {
            continue;
        }
        std::uint8_t* const to = segment.physical < high_memory
                                     ? nullptr
                                     : physical_memory(segment.physical, segment.memory_bytes);
        if (to == nullptr) {
            stop_guest("the kernel does not fit into the guest's memory, at", segment.physical);
        }
        std::memcpy(to, segment.bytes.data(), segment.bytes.size());
        std::memset(to + segment.bytes.size(), 0, segment.memory_bytes - segment.bytes.size());
        if (segment.physical < first) {
            first = segment.physical;
            placement.link_delta = segment.address - segment.physical;
        }
        end = segment.physical + segment.memory_bytes > end ? segment.physical + segment.memory_bytes : end;
    }
    placement.physical = first;
    placement.bytes = end - first;
}

// boot_params of Linux's boot protocol, 64-bit entry.
class BootParams {
public:
    explicit BootParams(std::uint8_t* page) : page_(page) {}

    template <typename Value>
    void set(std::size_t offset, Value value) {
        std::memcpy(page_ + offset, &value, sizeof(value));
    }
    void add_memory(std::uint64_t address, std::uint64_t bytes, std::uint32_t type) {
        constexpr std::size_t count_at = 0x1e8;
        constexpr std::size_t table_at = 0x2d0;
        constexpr std::size_t entry_bytes = 20;
        const std::size_t entry = table_at + (entry_bytes * page_[count_at]++);
        set(entry, address);
        set(entry + 8, bytes);
        set(entry + 16, type);
    }

private:
    std::uint8_t* page_;
};

// Returns their length.
std::size_t write_clock_words(std::span<char, package_clock_words> to, std::uint64_t khz) {
    constexpr std::string_view before = "tsc_early_khz=";
    constexpr std::string_view behind = " tsc=reliable ";
    constexpr unsigned base = 10;
    char digits[10]; // of 32 bits
    std::size_t count = 0;
    for (auto left = static_cast<std::uint32_t>(khz); left != 0 || count == 0; left /= base) {
        digits[count++] = static_cast<char>('0' + (left % base));
    }
    static_assert(before.size() + sizeof(digits) + behind.size() <= package_clock_words);
    char* at = std::ranges::copy(before, to.data()).out;
    at = std::ranges::reverse_copy(digits, digits + count, at).out;
    at = std::ranges::copy(behind, at).out;
    return static_cast<std::size_t>(at - to.data());
}

std::uint64_t load_initrd(Bytes initrd) {
    if (initrd.empty()) {
        return 0;
    }
    // Linux gets its address in 32 bits.
    const std::uint64_t end = std::min(backend::guest_ram_bytes(), hidden_memory);
    const std::uint64_t room = (initrd.size() + page_bytes - 1) & ~(page_bytes - 1);
    const std::uint64_t kernel_end = placement.physical + placement.bytes;
    if (room > end || end - room < kernel_end) {
        stop_guest("the initial RAM disk does not fit into the guest's memory; its bytes:", initrd.size());
    }
    const std::uint64_t address = (end - room) & ~(page_bytes - 1);
    std::memcpy(ram_at(address, initrd.size(), "no room for the initial RAM disk at"), initrd.data(),
                initrd.size());
    return address;
}

// All clocks of a Linux are based on the time-stamp counter. Without these words, Linux would measure the
// counter by the PIT, and then compare it with ticks: when others have the processor meanwhile, Linux gives
// the counter up and loses the time of late ticks. A user's own words come later and win.
void write_command_line(Bytes command_line) {
    if (command_line.empty()) {
        return;
    }
    char words[package_clock_words];
    const std::size_t length = write_clock_words(words, backend::time_stamp_khz());
    if (command_line.size() > command_line_room - length || command_line.back() != 0) {
        stop_guest("a command line that is too long; its bytes:", command_line.size());
    }
    std::uint8_t* const to = ram_at(command_line_at, command_line_room, "no low memory at");
    std::memcpy(to, words, length);
    std::memcpy(to + length, command_line.data(), command_line.size());
}

void write_boot_params(Bytes setup_header, Bytes command_line, Bytes initrd) {
    constexpr std::uint32_t usable = 1;
    constexpr std::uint32_t reserved = 2;
    constexpr std::size_t header_at = 0x1f1;
    constexpr std::size_t header_room = 0x290 - header_at;
    std::uint8_t* const page = ram_at(boot_params_at, page_bytes, "no low memory at");
    std::memset(page, 0, page_bytes);
    BootParams params(page);
    if (!setup_header.empty()) {
        if (setup_header.size() > header_room) {
            stop_guest("a setup header of a length that no kernel has:", setup_header.size());
        }
        std::memcpy(page + header_at, setup_header.data(), setup_header.size());
    }
    write_command_line(command_line);
    params.set<std::uint8_t>(0x210, 0xff); // a loader without an assigned number
    params.set<std::uint32_t>(0x228, command_line_at);
    params.set<std::uint32_t>(0x218, static_cast<std::uint32_t>(load_initrd(initrd)));
    params.set<std::uint32_t>(0x21c, static_cast<std::uint32_t>(initrd.size()));
    params.add_memory(0, low_memory_end, usable);
    params.add_memory(low_memory_end, high_memory - low_memory_end, reserved);
    const std::uint64_t end = backend::guest_ram_bytes();
    if (end <= hidden_memory) {
        params.add_memory(high_memory, end - high_memory, usable);
        return;
    }
    params.add_memory(high_memory, hidden_memory - high_memory, usable);
    params.add_memory(hidden_memory, hidden_memory_end - hidden_memory, reserved);
    if (end > hidden_memory_end) {
        params.add_memory(hidden_memory_end, end - hidden_memory_end, usable);
    }
}

void write_page_tables() {
    constexpr std::uint64_t table_flags = page_present | page_writable | page_accessed;
    auto* const tables = reinterpret_cast<std::uint64_t*>(
        ram_at(page_tables_at, std::uint64_t{3} * page_bytes, "no low memory at"));
    std::memset(tables, 0, std::uint64_t{3} * page_bytes);
    tables[0] = (page_tables_at + page_bytes) | table_flags;
    tables[entries_per_table] = (page_tables_at + (std::uint64_t{2} * page_bytes)) | table_flags;
    for (std::uint64_t i = 0; i < identity_bytes / large_page_bytes; ++i) {
        tables[(std::uint64_t{2} * entries_per_table) + i] =
            (i * large_page_bytes) | table_flags | page_dirty | page_large;
    }
}

std::uint16_t write_descriptors() {
    constexpr std::uint64_t descriptors[] = {0, 0, 0x00af9b000000ffff, 0x00cf93000000ffff};
    std::memcpy(ram_at(descriptors_at, sizeof(descriptors), "no low memory at"), descriptors,
                sizeof(descriptors));
    return sizeof(descriptors) - 1;
}

} // namespace

BootState place_guest(std::span<const std::uint8_t> package) {
    PackageHeader header{};
    if (package.size() < sizeof(header)) {
        stop_guest("there is no package; bytes:", package.size());
    }
    std::memcpy(&header, package.data(), sizeof(header));
    if (std::memcmp(header.magic, package_magic, sizeof(package_magic)) != 0 ||
        header.version != package_version || header.bytes > package.size()) {
        stop_guest("the module is not a package of this version: pack the kernel with this previrt");
    }
    counters_are_wanted = (header.flags & package_print_counters) != 0;
    cycles_are_wanted = (header.flags & package_count_cycles) != 0;
    machine_state.floating_ends_guest = (header.flags & package_strict) != 0;
    package = package.first(header.bytes);
    kernel_file = part_of(package, header.kernel, "the kernel lies outside the package, at");
    const KernelElf elf(kernel_file);
    load_segments(elf);
    list_kernel_sites(elf);
    write_boot_params(part_of(package, header.setup_header, "the setup header lies outside the package, at"),
                      part_of(package, header.command_line, "the command line lies outside the package, at"),
                      part_of(package, header.initrd, "the initial RAM disk lies outside the package, at"));
    write_page_tables();
    const std::uint64_t now = backend::now(); // loading may have taken seconds
    pc.start(backend::epoch() + now, backend::guest_ram_bytes(), now);
    insert_network_card();
    insert_balloon();
    insert_disks();
    insert_vsock();
    insert_console_ports();
    insert_folders();
    return {.entry = elf.physical_entry(),
            .stack_top = stack_top_at,
            .boot_params = boot_params_at,
            .root = page_tables_at,
            .descriptors = descriptors_at,
            .descriptors_limit = write_descriptors()};
}

void rewrite_kernel() {
    rewrite_kernel_sites(KernelElf(kernel_file));
}

std::uint64_t kernel_link_delta() {
    return placement.link_delta;
}

std::uint64_t guest_link_address(std::uint64_t address) {
    return placement.link_delta != 0 && address - placement.physical < placement.bytes
               ? address + placement.link_delta
               : address;
}

} // namespace previrt
