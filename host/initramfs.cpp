// SPDX-License-Identifier: BSD-2-Clause
#include "host/initramfs.hpp"

#include "host/file.hpp"

namespace previrt {

std::string Initramfs::make_place(const std::string& name) {
    for (std::size_t slash = name.find('/', 1); slash != std::string::npos;
         slash = name.find('/', slash + 1)) {
        const std::string directory = name.substr(1, slash - 1);
        if (names_.insert(directory).second) {
            archive_.add_directory(directory);
        }
    }
    const std::string place = name.substr(1);
    return names_.insert(place).second ? place : "";
}

void Initramfs::add_file(const std::string& name, std::span<const std::uint8_t> contents, bool executable) {
    if (const std::string place = make_place(name); !place.empty()) {
        archive_.add_file(place, contents, executable);
    }
}

void Initramfs::add_file_of_host(const std::string& name) {
    add_file(name, read_file(name), true);
}

void Initramfs::add_link(const std::string& name, const std::string& target) {
    if (const std::string place = make_place(name); !place.empty()) {
        archive_.add_link(place, target);
    }
}

} // namespace previrt
