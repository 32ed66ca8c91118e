// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/xen/hypervisor.hpp"

#include "host/cached_directory.hpp"
#include "host/debian_packages.hpp"
#include "host/file.hpp"
#include "host/input_error.hpp"
#include "toolchain/image/decompress.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace previrt {

namespace {

constexpr const char* image = "/boot/xen-4.17-amd64.gz";
constexpr std::size_t largest_hypervisor = std::size_t{64} << 20U;
constexpr std::size_t shortest_gzip = 18; // RFC 1952: a header of 10 bytes, a trailer of 8

constexpr const char* name_in_cache = "xen-4.17";

const DebianPackages& packages() {
    static const DebianPackages list{
        .names = {"xen-hypervisor-4.17-amd64"}, .dependencies_of = {}, .files = {}};
    return list;
}

std::string find_image() {
    if (std::filesystem::exists(image)) {
        return image;
    }
    return cached_directory(
               name_in_cache, packages().list(),
               [&](const std::string& directory) { unpack_debian_packages(packages(), directory); }) +
           image;
}

// The last field.
std::size_t size_in_trailer(std::span<const std::uint8_t> file) {
    std::size_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        size |= std::size_t{file[file.size() - 4 + i]} << (8 * i);
    }
    return size;
}

} // namespace

void write_xen_hypervisor(const std::string& path) {
    const std::string packed = find_image();
    const std::vector<std::uint8_t> file = read_file(packed);
    if (recognise_compression(file) != Compression::gzip || file.size() < shortest_gzip ||
        size_in_trailer(file) > largest_hypervisor) {
        throw InputError(packed + ": not a hypervisor packed with gzip");
    }
    try {
        write_file(path, decompress(Compression::gzip, file, size_in_trailer(file)));
    } catch (const InputError& error) {
        throw InputError(packed + ": " + error.what());
    }
}

std::string locate_xen_hypervisor() {
    if (std::filesystem::exists(image)) {
        return std::string("Xen is ") + image;
    }
    return "Xen 4.17 " + locate_debian_packages(packages(), name_in_cache);
}

} // namespace previrt
