// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/disk/opened_file.hpp"

#include "host/input_error.hpp"
#include "monitor/disk/file_lock.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace previrt {

namespace {

std::string error_text(int error) {
    return std::generic_category().message(error);
}

} // namespace

void refuse_disk(const std::string& path, const std::string& reason) {
    throw InputError("--disk " + path + ": " + reason);
}

void lock_opened_file(const std::string& path, const Descriptor& file, bool is_written) {
    if (!lock_disk_file(file.number(), is_written)) {
        refuse_disk(path,
                    errno == EAGAIN || errno == EACCES
                        ? std::string("another guest has it, and one of the two would write to it; several "
                                      "guests may have it with ,ro or ,snapshot in all of them")
                        : "it cannot be locked against other guests: " + error_text(errno));
    }
}

OpenedFile open_disk_file(const std::string& path, bool is_written) {
    struct stat status{};
    if (stat(path.c_str(), &status) != 0) {
        refuse_disk(path, error_text(errno) +
                              (errno == ENOENT ? "; `truncate -s 1G " + path + "` makes an empty disk" : ""));
    }
    OpenedFile file{.descriptor = Descriptor(), .is_device = S_ISBLK(status.st_mode)};
    if (!file.is_device && !S_ISREG(status.st_mode)) {
        refuse_disk(path, "it is neither a regular file nor a block device");
    }
    // With O_EXCL, a block device that is mounted, or part of another device, is refused.
    const int exclusive = file.is_device && is_written ? O_EXCL : 0;
    file.descriptor =
        Descriptor(open(path.c_str(), (is_written ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOCTTY | exclusive));
    if (file.descriptor.number() < 0) {
        const int error = errno;
        std::string remedy;
        if (error == EBUSY) {
            remedy = "; it is mounted, or a part of another device";
        } else if (is_written && (error == EACCES || error == EROFS || error == EPERM)) {
            remedy = "; with ,ro the guest only reads it, with ,snapshot it forgets the writes at its end";
        }
        refuse_disk(path, error_text(error) + remedy);
    }
    lock_opened_file(path, file.descriptor, is_written);
    return file;
}

bool looks_like_qcow2(const Descriptor& file) {
    constexpr std::string_view qcow2("QFI\xfb", 4);
    std::array<char, qcow2.size()> begin{};
    return pread(file.number(), begin.data(), begin.size(), 0) == static_cast<ssize_t>(begin.size()) &&
           std::string_view(begin.data(), begin.size()) == qcow2;
}

} // namespace previrt
