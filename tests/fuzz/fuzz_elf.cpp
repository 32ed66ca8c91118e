// SPDX-License-Identifier: BSD-2-Clause
#include "host/input_error.hpp"
#include "toolchain/audit/audit.hpp"
#include "toolchain/image/bzimage.hpp"
#include "toolchain/image/kernel_file.hpp"
#include "toolchain/image/places.hpp"
#include "toolchain/image/site_table.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace {

constexpr std::size_t largest_input = std::size_t{64} << 10U;

// Damaged input may be refused; anything else is a fault of ours.
template <typename Action>
void allow_refusal(Action action) {
    try {
        action();
    } catch (const previrt::InputError&) {
        return;
    }
}

std::optional<previrt::KernelFile> parse(std::span<const std::uint8_t> input) {
    std::optional<previrt::KernelFile> file;
    allow_refusal(
        [&] { file.emplace(previrt::parse_kernel_file("input", std::vector(input.begin(), input.end()))); });
    return file;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span input(data, size);
    if (size > largest_input || previrt::is_bzimage(input)) { // those are fuzz_bzimage's
        return 0;
    }
    const std::optional<previrt::KernelFile> file = parse(input);
    if (!file) {
        return 0;
    }
    allow_refusal([&] {
        const previrt::KernelFile sorted =
            previrt::parse_kernel_file("sorted", previrt::sort_site_table(*file));
        previrt::read_site_table(sorted, previrt::Places(sorted.elf));
    });
    allow_refusal([&] {
        previrt::read_site_table(*file, previrt::Places(file->elf)); // audit() would refuse it later
        previrt::ExceptionList exceptions;
        previrt::audit(*file, exceptions);
    });
    return 0;
}
