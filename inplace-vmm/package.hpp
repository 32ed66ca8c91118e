// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// What `previrt pack` hands to an in-place VMM beside its image: one file that begins with this header. The
// VMM checks it like any other input.
struct PackagePart {
    std::uint64_t offset; // from the start of the package; a multiple of package_alignment
    std::uint64_t bytes;  // 0: the part is absent
};

constexpr char package_magic[8] = {'p', 'r', 'e', 'v', 'i', 'r', 't', '\0'};
constexpr std::uint32_t package_version = 1;
constexpr std::uint64_t package_alignment = 4096;

// Bytes that a VMM may put in front of the command line: how fast the time-stamp counter is.
constexpr std::uint64_t package_clock_words = 48;

enum PackageFlags : std::uint32_t {
    package_print_counters = 1, // print the VMM's counters when the guest ends
    package_strict = 2,         // an access that nobody answers ends the guest
};

struct PackageHeader {
    char magic[8];
    std::uint32_t version;
    std::uint32_t flags;
    std::uint64_t bytes;        // of the whole package
    std::uint64_t guest_memory; // RAM the guest is to have
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

// What a user should know, one line, and the guest goes on.
constexpr const char* note_line_prefix = "previrt-vmm: note: ";

// With package_print_counters, one line of JSON before it.
constexpr const char* counters_line_prefix = "previrt-vmm: counters: ";

} // namespace previrt
