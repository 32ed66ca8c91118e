// SPDX-License-Identifier: BSD-2-Clause
// An ELF file and the relocation table behind it, as a bzImage unpacks to: it is moved or it is said why not.
#include "host/input_error.hpp"
#include "toolchain/image/bzimage.hpp"
#include "toolchain/pack/load_segments.hpp"
#include "toolchain/pack/slid_kernel.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

namespace {

constexpr std::size_t largest_input = std::size_t{64} << 10U;
constexpr std::uint64_t low_address = 0x7000'0000;
constexpr std::uint64_t high_address = 0xffff'ffff'9100'0000;

void slide(const previrt::KernelFile& kernel, std::span<const std::uint8_t> table, std::uint64_t address) {
    try {
        if (previrt::slide_kernel(kernel, table, address).size() != kernel.elf.file().size()) {
            std::abort();
        }
    } catch (const previrt::InputError&) {
        return; // as it should be for damaged input
    }
}

void slide_both_ways(std::span<const std::uint8_t> input) {
    try {
        const auto elf = input.first(previrt::elf_file_size(input));
        const previrt::KernelFile kernel =
            previrt::parse_kernel_file("input", std::vector(elf.begin(), elf.end()));
        for (const std::uint64_t address : {low_address, high_address}) {
            slide(kernel, input.subspan(elf.size()), address);
        }
    } catch (const previrt::InputError&) {
        return;
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span input(data, size);
    if (size <= largest_input && !previrt::is_bzimage(input)) { // those are fuzz_bzimage's
        slide_both_ways(input);
    }
    return 0;
}
