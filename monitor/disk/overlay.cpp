// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/disk/overlay.hpp"

#include "host/input_error.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <system_error>
#include <unistd.h>

namespace previrt {

namespace {

constexpr std::uint64_t bits_of_byte = 8;

Descriptor make_unnamed_file(std::uint64_t bytes) {
    const char* const chosen = std::getenv("TMPDIR"); // NOLINT(concurrency-mt-unsafe): nobody sets it
    // Not /tmp, which may be the machine's memory.
    const std::string directory = chosen != nullptr && *chosen != '\0' ? chosen : "/var/tmp";
    constexpr mode_t owner = 0600;
    Descriptor file(open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, owner));
    if (file.number() < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
        std::string name = directory + "/previrt-disk-XXXXXX";
        file = Descriptor(mkostemp(name.data(), O_CLOEXEC));
        if (file.number() >= 0) {
            unlink(name.c_str());
        }
    }
    if (file.number() < 0 || ftruncate(file.number(), static_cast<off_t>(bytes)) != 0) {
        throw InputError("--disk: no temporary file for a snapshot in " + directory + ": " +
                         std::generic_category().message(errno) + "; TMPDIR names another directory for it");
    }
    return file;
}

} // namespace

DiskOverlay::DiskOverlay(std::uint64_t bytes, std::uint32_t block_bytes)
    : block_bytes_(block_bytes), file_(make_unnamed_file(bytes)),
      bits_(Mapping::of_zeros(((bytes / block_bytes) + bits_of_byte - 1) / bits_of_byte)) {}

bool DiskOverlay::is_written(std::uint64_t block) const {
    return (bits_.bytes()[block / bits_of_byte] >> (block % bits_of_byte) & 1U) != 0;
}

DiskOverlay::Run DiskOverlay::run_at(std::uint64_t offset, std::uint64_t most) const {
    Run run{.is_written = is_written(offset / block_bytes_), .bytes = 0};
    const std::uint64_t before = offset % block_bytes_; // of a read that was continued
    while (run.bytes < most && is_written((offset + run.bytes) / block_bytes_) == run.is_written) {
        run.bytes += block_bytes_ - (run.bytes == 0 ? before : 0);
    }
    run.bytes = run.bytes < most ? run.bytes : most;
    return run;
}

void DiskOverlay::mark(std::uint64_t offset, std::uint64_t bytes) {
    const std::uint64_t first = (offset + block_bytes_ - 1) / block_bytes_;
    const std::uint64_t end = (offset + bytes) / block_bytes_;
    for (std::uint64_t block = first; block < end; ++block) {
        bits_.bytes()[block / bits_of_byte] |= static_cast<std::uint8_t>(1U << (block % bits_of_byte));
    }
}

} // namespace previrt
