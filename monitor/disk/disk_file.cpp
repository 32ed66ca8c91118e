// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/disk/disk_file.hpp"

#include "host/input_error.hpp"
#include "monitor/disk/file_lock.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <linux/fs.h>
#include <string_view>
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
    open_file();
    measure();
    refuse_other_formats();
    const bool writes_to_file = !choice_.is_read_only && !choice_.is_snapshot;
    if (!lock_disk_file(file_.number(), writes_to_file)) {
        refuse(errno == EAGAIN || errno == EACCES
                   ? std::string(
                         "another guest has it, and one of the two would write to it; several guests may "
                         "have it with ,ro or ,snapshot in all of them")
                   : "it cannot be locked against other guests: " + error_text(errno));
    }
    disk_.is_read_only = choice_.is_read_only;
    disk_.keeps_writes = !choice_.is_read_only;
    if (choice_.is_snapshot) {
        overlay_.emplace(disk_.bytes, disk_.block_bytes);
    }
    disk_.discards = !choice_.is_read_only && (choice_.is_snapshot || frees_space());
}

void DiskFile::refuse(const std::string& reason) const {
    throw InputError("--disk " + choice_.path + ": " + reason);
}

void DiskFile::open_file() {
    struct stat status{};
    if (stat(choice_.path.c_str(), &status) != 0) {
        refuse(error_text(errno) +
               (errno == ENOENT ? "; `truncate -s 1G " + choice_.path + "` makes an empty disk" : ""));
    }
    is_device_ = S_ISBLK(status.st_mode);
    if (!is_device_ && !S_ISREG(status.st_mode)) {
        refuse("it is neither a regular file nor a block device");
    }
    const bool writes_to_file = !choice_.is_read_only && !choice_.is_snapshot;
    // With O_EXCL, a block device that is mounted, or part of another device, is refused.
    const int exclusive = is_device_ && writes_to_file ? O_EXCL : 0;
    file_ = Descriptor(
        open(choice_.path.c_str(), (writes_to_file ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOCTTY | exclusive));
    if (file_.number() >= 0) {
        return;
    }
    std::string remedy;
    if (errno == EBUSY) {
        remedy = "; it is mounted, or a part of another device";
    } else if (writes_to_file && (errno == EACCES || errno == EROFS || errno == EPERM)) {
        remedy = "; with ,ro the guest only reads it, with ,snapshot it forgets the writes at its end";
    }
    refuse(error_text(errno) + remedy);
}

void DiskFile::measure() {
    struct stat status{};
    if (fstat(file_.number(), &status) != 0) {
        refuse(error_text(errno));
    }
    disk_.block_bytes = usual_block;
    disk_.bytes = static_cast<std::uint64_t>(status.st_size);
    if (is_device_) {
        int block = 0;
        if (ioctl(file_.number(), BLKGETSIZE64, &disk_.bytes) != 0 ||
            ioctl(file_.number(), BLKSSZGET, &block) != 0) {
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
    constexpr std::string_view qcow2("QFI\xfb", 4);
    std::array<char, qcow2.size()> begin{};
    if (choice_.says_format ||
        pread(file_.number(), begin.data(), begin.size(), 0) != static_cast<ssize_t>(begin.size())) {
        return;
    }
    if (std::string_view(begin.data(), begin.size()) == qcow2) {
        refuse("it is a qcow2 image, and the only format so far is raw; `qemu-img convert -f qcow2 -O raw " +
               choice_.path +
               " NEW` makes a raw file of it, and with ,format=raw the guest gets these bytes "
               "as they are");
    }
}

bool DiskFile::frees_space() const {
    if (!is_device_) {
        // Behind its end there is nothing to free, but a file system that frees nothing says so.
        return fallocate(file_.number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                         static_cast<off_t>(disk_.bytes), large_block) == 0;
    }
    struct stat status{};
    if (fstat(file_.number(), &status) != 0) {
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
