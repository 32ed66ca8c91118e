// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/image/bzimage.hpp"

#include "host/input_error.hpp"

#include <string>

namespace previrt {

namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t sector_size = 512;
constexpr std::size_t setup_sectors_offset = 0x1f1;
constexpr std::size_t boot_flag_offset = 0x1fe;
constexpr std::size_t magic_offset = 0x202;
constexpr std::size_t version_offset = 0x206;
constexpr std::size_t payload_offset_offset = 0x248;
constexpr std::size_t payload_length_offset = 0x24c;
constexpr std::size_t setup_header_end = 0x250; // of the fields read here
constexpr std::uint16_t boot_flag = 0xaa55;
constexpr std::uint32_t header_magic = 0x53726448; // "HdrS"
constexpr std::uint16_t first_version_with_payload = 0x0208;
constexpr std::size_t size_trailer_length = 4;

std::uint16_t read_u16(Bytes bytes, std::size_t offset) {
    return static_cast<std::uint16_t>(bytes[offset] | bytes[offset + 1] << 8U);
}

std::uint32_t read_u32(Bytes bytes, std::size_t offset) {
    return read_u16(bytes, offset) | std::uint32_t{read_u16(bytes, offset + 2)} << 16U;
}

bool has_boot_flag(Bytes file) {
    return file.size() >= boot_flag_offset + 2 && read_u16(file, boot_flag_offset) == boot_flag;
}

bool has_header_magic(Bytes file) {
    return file.size() >= magic_offset + 4 && read_u32(file, magic_offset) == header_magic;
}

std::string version_words(std::uint16_t version) {
    const unsigned minor = version & 0xffU;
    return std::to_string(version >> 8U) + (minor < 10 ? ".0" : ".") + std::to_string(minor);
}

// Returns the boot protocol's version.
std::uint16_t check_setup_header(Bytes file) {
    if (file.size() < setup_header_end) {
        throw InputError("kernel image is too short for a setup header: " + std::to_string(file.size()) +
                         " bytes, at least " + std::to_string(setup_header_end) + " needed");
    }
    if (!has_boot_flag(file)) {
        throw InputError("kernel image has no boot flag 0xaa55 at offset 0x1fe");
    }
    if (!has_header_magic(file)) {
        throw InputError("kernel image has no setup header magic HdrS at offset 0x202");
    }
    const std::uint16_t version = read_u16(file, version_offset);
    if (version < first_version_with_payload) {
        throw InputError("kernel image has boot protocol " + version_words(version) + ", older than " +
                         version_words(first_version_with_payload) +
                         ", and does not say where its kernel is");
    }
    return version;
}

Bytes find_payload(Bytes file) {
    const std::size_t setup_sectors = file[setup_sectors_offset] == 0 ? 4 : file[setup_sectors_offset];
    const std::size_t start = ((setup_sectors + 1) * sector_size) + read_u32(file, payload_offset_offset);
    const std::size_t length = read_u32(file, payload_length_offset);
    if (start > file.size() || length > file.size() - start) {
        throw InputError("kernel image is " + std::to_string(file.size()) +
                         " bytes long, but its payload is " + std::to_string(length) + " bytes at offset " +
                         std::to_string(start));
    }
    return file.subspan(start, length);
}

std::vector<std::uint8_t> decompress_payload(Compression compression, Bytes payload) {
    if (compression == Compression::none) {
        return decompress(compression, payload, payload.size());
    }
    if (payload.size() < size_trailer_length) {
        throw InputError("payload of " + std::to_string(payload.size()) + " bytes has no room for its size");
    }
    const std::size_t stream_length = payload.size() - size_trailer_length;
    const std::size_t expected_size = read_u32(payload, stream_length);
    // gzip's own last field has this size.
    const bool trailer_is_in_stream = compression == Compression::gzip;
    return decompress(compression, trailer_is_in_stream ? payload : payload.first(stream_length),
                      expected_size);
}

} // namespace

bool is_bzimage(Bytes file) {
    return has_boot_flag(file) && has_header_magic(file);
}

BzImage unpack_bzimage(Bytes file) {
    const std::uint16_t version = check_setup_header(file);
    const Bytes payload = find_payload(file);
    const Compression compression = recognise_compression(payload);
    return {.boot_protocol = version,
            .compression = compression,
            .kernel = decompress_payload(compression, payload)};
}

} // namespace previrt
