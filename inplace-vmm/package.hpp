// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// The file that `previrt pack` hands to an in-place VMM beside the VMM's image. It begins with PackageHeader.
// The VMM checks it like any other input.
struct PackagePart {
    std::uint64_t offset; // from the start of the package; a multiple of package_alignment
    std::uint64_t bytes;  // 0: the part is absent
};

constexpr char package_magic[8] = {'p', 'r', 'e', 'v', 'i', 'r', 't', '\0'};
constexpr std::uint32_t package_version = 1;
constexpr std::uint64_t package_alignment = 4096;

// Room for the words that a VMM may put in front of the command line: the rate of the time-stamp counter.
constexpr std::uint64_t package_clock_words = 48;

enum PackageFlags : std::uint32_t {
    package_print_counters = 1, // print the VMM's counters when the guest ends
    package_strict = 2,         // an access that no device answers ends the guest
    package_count_cycles = 4,   // of the VMM, beside each count of an instruction
};

struct PackageHeader {
    char magic[8];
    std::uint32_t version;
    std::uint32_t flags;
    std::uint64_t bytes;        // of the whole package
    std::uint64_t guest_memory; // the guest's RAM
    PackagePart kernel;         // the ELF image, as linked
    PackagePart setup_header;   // of a bzImage: its bytes from 0x1f1 to the end of the header
    PackagePart initrd;
    PackagePart command_line;       // ends with a NUL
    std::uint8_t kernel_sha256[32]; // of the file that was packed
};
static_assert(sizeof(PackageHeader) == 128);

// A VMM ends its console output with a line of this prefix and one of the words.
constexpr const char* end_line_prefix = "previrt-vmm: end: ";
constexpr const char* end_powered_off = "powered off";
constexpr const char* end_rebooted = "rebooted";
constexpr const char* end_stopped = "stopped"; // ", " and the reason follow

// Begins one line for the user; the guest goes on.
constexpr const char* note_line_prefix = "previrt-vmm: note: ";

// Begins one line of JSON before the end, with package_print_counters.
constexpr const char* counters_line_prefix = "previrt-vmm: counters: ";

} // namespace previrt
