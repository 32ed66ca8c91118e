// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/profile/symbol_file.hpp"

#include "host/file.hpp"
#include "host/input_error.hpp"
#include "toolchain/image/elf_image.hpp"
#include "toolchain/image/kernel_file.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <span>
#include <string_view>
#include <system_error>

namespace previrt {

namespace {

constexpr std::uintmax_t largest_file = std::uintmax_t{4}
                                        << 30U; // a vmlinux with debug information has 1 GiB
constexpr std::array<const char*, 4> names = {"vmlinux", "System.map", "build/vmlinux", "build/System.map"};
constexpr std::array<std::uint8_t, 4> elf_magic = {0x7f, 'E', 'L', 'F'};

const Section* find_section(const ElfImage& image, std::string_view name) {
    const auto found = std::ranges::find(image.sections(), name, &Section::name);
    return found == image.sections().end() ? nullptr : &*found;
}

// The build patches a vmlinux before it packs it, but leaves the code's size and place.
bool is_same_kernel(const ElfImage& vmlinux, const ElfImage& kernel) {
    const Section* const ours = find_section(vmlinux, ".text");
    const Section* const theirs = find_section(kernel, ".text");
    return ours != nullptr && theirs != nullptr && ours->address == theirs->address &&
           std::ranges::equal(ours->bytes, theirs->bytes);
}

SymbolFile read_vmlinux(const std::string& path, std::vector<std::uint8_t> bytes, const std::string& kernel) {
    try {
        const ElfImage vmlinux = ElfImage::parse(std::move(bytes));
        if (!is_same_kernel(vmlinux, load_kernel_file(kernel).elf)) {
            throw InputError("its code is not that of " + kernel + "; give the vmlinux of the same build");
        }
        SymbolFile file{.path = path,
                        .symbols = KernelSymbols(vmlinux),
                        .has_lines = find_section(vmlinux, ".debug_line") != nullptr};
        if (file.symbols.empty()) {
            throw InputError("it names no function; give one that was not stripped, or the System.map");
        }
        return file;
    } catch (const InputError& error) {
        throw InputError(path + ": " + error.what());
    }
}

std::string beside(const std::string& kernel, const char* name) {
    return (std::filesystem::path(kernel).parent_path() / name).string();
}

} // namespace

SymbolFile read_symbol_file(const std::string& path, const std::string& kernel) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    if (!error && size > largest_file) {
        throw InputError(path +
                         ": more than 4 GiB; give the vmlinux or the System.map of the kernel's build");
    }
    std::vector<std::uint8_t> bytes = read_file(path);
    if (bytes.size() >= elf_magic.size() &&
        std::ranges::equal(elf_magic, std::span(bytes).first(elf_magic.size()))) {
        return read_vmlinux(path, std::move(bytes), kernel);
    }
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {.path = path, .symbols = KernelSymbols::of_map(path, text)};
}

SymbolFile find_symbol_file(const std::string& kernel) {
    for (const char* const name : names) {
        const std::string path = beside(kernel, name);
        std::error_code error;
        if (!std::filesystem::is_regular_file(path, error) ||
            std::filesystem::equivalent(path, kernel, error)) {
            continue;
        }
        try {
            return read_symbol_file(path, kernel);
        } catch (const InputError& failure) { // the user has not asked for this one
            std::cerr << "previrt: " << failure.what() << '\n';
        }
    }
    const SymbolFile own{.path = kernel, .symbols = KernelSymbols::of_kallsyms(load_kernel_file(kernel).elf)};
    return own.symbols.empty() ? SymbolFile() : own;
}

std::string say_lack_of_symbols(const std::string& kernel) {
    std::string places;
    for (const char* const name : names) {
        places += (places.empty() ? "" : ", ") + beside(kernel, name);
    }
    return "no names of functions: none of " + places + " is there, and " + kernel +
           " has no tables of its functions (CONFIG_KALLSYMS); give a vmlinux or a System.map by --symbols";
}

} // namespace previrt
