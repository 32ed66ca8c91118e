// SPDX-License-Identifier: BSD-2-Clause
// Comes between virtiofsd and the C library. A guest's overlay opens files with O_NOATIME, and virtiofsd
// hands that flag to Linux, which permits it to a file's owner alone: without it, a user who is not root
// could serve only files of their own.
#include <cstdarg>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

int open_at(int directory, const char* path, int flags, mode_t mode) {
    return static_cast<int>(syscall(SYS_openat, directory, path, flags & ~O_NOATIME, mode));
}

} // namespace

// The names are the C library's. NOLINTBEGIN
extern "C" int openat64(int directory, const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const auto mode = static_cast<mode_t>((flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, int) : 0);
    va_end(arguments);
    return open_at(directory, path, flags, mode);
}

extern "C" int __openat64_2(int directory, const char* path, int flags) {
    return open_at(directory, path, flags, 0);
}
// NOLINTEND
