// SPDX-License-Identifier: BSD-2-Clause
#include "host/cpio_archive.hpp"

#include "host/input_error.hpp"

#include <array>
#include <limits>
#include <sys/stat.h>
#include <utility>

namespace previrt {

namespace {

constexpr const char* end_mark = "TRAILER!!!";

std::span<const std::uint8_t> bytes_of(const std::string& text) {
    // Characters as bytes.
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}; // NOLINT(*-reinterpret-cast)
}

std::string eight_digits(std::uint32_t value) {
    std::string digits(8, '0');
    for (std::size_t i = digits.size(); i-- > 0; value >>= 4U) {
        digits[i] = "0123456789abcdef"[value & 15U];
    }
    return digits;
}

} // namespace

void CpioArchive::add(const std::string& path, std::uint32_t mode, std::span<const std::uint8_t> contents) {
    if (contents.size() > std::numeric_limits<std::uint32_t>::max()) {
        throw InputError(path + ": too large for an initramfs");
    }
    const auto append = [&](std::span<const std::uint8_t> part) {
        bytes_.insert(bytes_.end(), part.begin(), part.end());
    };
    const auto align = [&] { bytes_.resize((bytes_.size() + 3) / 4 * 4); };
    // Number, mode, user, group, links, time, size, major and minor of the device and of its own, length of
    // the name, checksum (none).
    const std::array<std::uint32_t, 13> fields = {++entries_,
                                                  mode,
                                                  0,
                                                  0,
                                                  1,
                                                  0,
                                                  static_cast<std::uint32_t>(contents.size()),
                                                  0,
                                                  0,
                                                  0,
                                                  0,
                                                  static_cast<std::uint32_t>(path.size() + 1),
                                                  0};
    append(bytes_of("070701"));
    for (const std::uint32_t field : fields) {
        append(bytes_of(eight_digits(field)));
    }
    append(bytes_of(path + '\0'));
    align();
    append(contents);
    align();
}

void CpioArchive::add_directory(const std::string& path) {
    add(path, S_IFDIR | 0755U, {});
}

void CpioArchive::add_link(const std::string& path, const std::string& target) {
    add(path, S_IFLNK | 0777U, bytes_of(target));
}

void CpioArchive::add_file(const std::string& path, std::span<const std::uint8_t> contents, bool executable) {
    add(path, S_IFREG | (executable ? 0755U : 0644U), contents);
}

std::vector<std::uint8_t> CpioArchive::finish() && {
    add(end_mark, 0, {});
    return std::move(bytes_);
}

} // namespace previrt
