// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/pack/guest_package.hpp"

#include "host/file.hpp"
#include "host/input_error.hpp"
#include "inplace-vmm/package.hpp"
#include "toolchain/pack/command_line.hpp"
#include "toolchain/pack/package_file.hpp"

#include <array>
#include <charconv>

namespace previrt {

namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

std::array<std::uint8_t, 32> bytes_of(const std::string& digest) {
    std::array<std::uint8_t, 32> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const char* const digits = digest.data() + (2 * i);
        std::from_chars(digits, digits + 2, bytes[i], 16);
    }
    return bytes;
}

void check_sizes(const GuestPackageOptions& options, const GuestKernel& kernel, std::uint64_t initrd_bytes,
                 const std::string& command_line) {
    if (initrd_bytes > options.memory - kernel.memory_end) {
        throw InputError("--memory: " + std::to_string(options.memory / mib) +
                         " MiB cannot hold the kernel (to " + std::to_string(kernel.memory_end / mib) +
                         " MiB) and an initrd of " + std::to_string(initrd_bytes / mib) + " MiB");
    }
    if (!kernel.setup_header.empty() &&
        command_line.size() + package_clock_words > longest_command_line(kernel.setup_header)) {
        throw InputError("--append: the command line has " + std::to_string(command_line.size()) +
                         " characters, this kernel takes " +
                         std::to_string(longest_command_line(kernel.setup_header)) + " with " +
                         std::to_string(package_clock_words) + " of the VMM's");
    }
}

std::vector<std::uint8_t> read_initrd(const GuestPackageOptions& options) {
    if (options.initrd.empty()) {
        return options.before_initrd;
    }
    std::vector<std::uint8_t> initrd = read_file(options.initrd);
    initrd.insert(initrd.begin(), options.before_initrd.begin(), options.before_initrd.end());
    return initrd;
}

} // namespace

std::vector<std::uint8_t> make_guest_package(const GuestKernel& kernel, const GuestPackageOptions& options) {
    const std::vector<std::uint8_t> initrd = read_initrd(options);
    const std::string command_line = guest_command_line(options.append);
    check_sizes(options, kernel, initrd.size(), command_line);
    return make_package({.flags = (options.print_counters ? std::uint32_t{package_print_counters} : 0) |
                                  (options.count_cycles ? std::uint32_t{package_count_cycles} : 0) |
                                  (options.strict ? std::uint32_t{package_strict} : 0),
                         .guest_memory = options.memory,
                         .kernel = kernel.elf,
                         .setup_header = kernel.setup_header,
                         .initrd = initrd,
                         .command_line = command_line,
                         .kernel_sha256 = bytes_of(kernel.sha256)});
}

} // namespace previrt
