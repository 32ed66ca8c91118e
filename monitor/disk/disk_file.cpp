// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/disk/disk_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <system_error>
#include <unistd.h>

namespace previrt {

namespace {

constexpr std::uint32_t usual_block = 512;
constexpr std::uint32_t large_block = 4096;

std::string error_text(int error) {
    return std::generic_category().message(error);
}

} // namespace

DiskFile::DiskFile(DiskChoice choice) : choice_(std::move(choice)) {
    disk_.block_bytes = usual_block;
    if (choice_.is_image()) {
        daemon_ = std::make_unique<StorageDaemon>(open_image(choice_), choice_.is_unsafe);
        disk_.bytes = daemon_->bytes();
    } else {
        file_ = open_disk_file(choice_.path, choice_.is_written());
        measure();
        refuse_other_formats();
    }
    disk_.is_read_only = choice_.is_read_only;
    disk_.keeps_writes = !choice_.is_read_only;
    if (choice_.is_snapshot) {
        overlay_.emplace(disk_.bytes, disk_.block_bytes);
    }
    // An image frees clusters of its own.
    disk_.discards = !choice_.is_read_only && (choice_.is_snapshot || choice_.is_image() || frees_space());
}

void DiskFile::refuse(const std::string& reason) const {
    refuse_disk(choice_.path, reason);
}

void DiskFile::measure() {
    struct stat status{};
    if (fstat(number(), &status) != 0) {
        refuse(error_text(errno));
    }
    disk_.bytes = static_cast<std::uint64_t>(status.st_size);
    if (file_.is_device) {
        int block = 0;
        if (ioctl(number(), BLKGETSIZE64, &disk_.bytes) != 0 || ioctl(number(), BLKSSZGET, &block) != 0) {
            refuse("the block device does not say its size: " + error_text(errno));
        }
        disk_.block_bytes = static_cast<std::uint32_t>(block);
        if (disk_.block_bytes != usual_block && disk_.block_bytes != large_block) {
            refuse("a block of the device has " + std::to_string(block) + " bytes, and not 512 or 4096");
        }
    }
    if (disk_.bytes == 0) {
        refuse("it is empty; `truncate -s 1G " + choice_.path + "` makes a disk of 1 GiB");
    }
    if (disk_.bytes % disk_.block_bytes != 0) {
        refuse("its size of " + std::to_string(disk_.bytes) + " bytes is no multiple of the block size, " +
               std::to_string(disk_.block_bytes) + "; `truncate -s %" + std::to_string(disk_.block_bytes) +
               " " + choice_.path + "` appends the missing zeros");
    }
}

// A guest could make a header of another format itself: only the user may say that this is no mistake.
void DiskFile::refuse_other_formats() const {
    if (choice_.format.empty() && looks_like_qcow2(file_.descriptor)) {
        refuse(
            "it is a qcow2 image, and previrt guesses no format: with ,format=qcow2 the guest gets the disk "
            "in it, with ,format=raw these bytes as they are");
    }
}

bool DiskFile::frees_space() const {
    if (!file_.is_device) {
        // Behind its end there is nothing to free, but a file system that frees nothing says so.
        return fallocate(number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                         static_cast<off_t>(disk_.bytes), large_block) == 0;
    }
    struct stat status{};
    if (fstat(number(), &status) != 0) {
        return false;
    }
    const std::string device = "/sys/dev/block/" + std::to_string(major(status.st_rdev)) + ":" +
                               std::to_string(minor(status.st_rdev));
    for (const char* const queue : {"/queue/", "/../queue/"}) { // the latter of a partition
        std::uint64_t most = 0;
        if (std::ifstream(device + queue + "write_zeroes_max_bytes") >> most) {
            return most != 0;
        }
    }
    return false;
}

} // namespace previrt
