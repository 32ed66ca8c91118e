// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>

namespace previrt {

struct PackOptions {
    std::string kernel; // a bzImage or an ELF executable
    std::string initrd; // empty: none
    std::string append;
    std::uint64_t memory = std::uint64_t{256} << 20U;
    unsigned processors = 1;
    std::string output;           // a directory
    std::string domain = "guest"; // its name
    std::string vmm;              // empty: the one that was built with this previrt
    bool print_counters = false;
    bool count_cycles = false;
    bool strict = false; // an access that no device answers ends the guest
};

struct PackedGuest {
    std::string vmm; // the files, with their directory
    std::string package;
    std::string configuration;
    std::string kernel_sha256; // of the given file
    std::uint64_t domain_memory;
};

// Writes the files for Xen: a copy of the VMM, the package, and a configuration for xl. Throws InputError.
PackedGuest pack_for_xen(const PackOptions& options);

} // namespace previrt
