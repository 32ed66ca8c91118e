// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/disk/file_lock.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <initializer_list>
#include <span>

namespace previrt {

namespace {

// QEMU's protocol: a byte is locked for each kind of use that a program makes of the file, and another byte
// for each that it does not bear in others. All locks are shared; a program then looks whether another one
// has locked the counterpart.
enum Use : unsigned { read = 0, write = 1, resize = 3 };
constexpr off_t first_use = 100;
constexpr off_t first_refusal = 200;

struct flock lock_of(off_t byte, short type) {
    struct flock lock{};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = byte;
    lock.l_len = 1;
    return lock;
}

bool lock_byte(int file, off_t byte) {
    struct flock lock = lock_of(byte, F_RDLCK);
    return fcntl(file, F_OFD_SETLK, &lock) == 0;
}

bool is_free(int file, off_t byte) {
    struct flock lock = lock_of(byte, F_WRLCK);
    if (fcntl(file, F_OFD_GETLK, &lock) != 0) {
        return false;
    }
    errno = EAGAIN;
    return lock.l_type == F_UNLCK;
}

bool lock(int file, std::span<const Use> uses, std::span<const Use> refused) {
    for (const Use use : uses) {
        if (!lock_byte(file, first_use + use)) {
            return false;
        }
    }
    for (const Use use : refused) {
        if (!lock_byte(file, first_refusal + use)) {
            return false;
        }
    }
    return std::ranges::all_of(uses, [&](Use use) { return is_free(file, first_refusal + use); }) &&
           std::ranges::all_of(refused, [&](Use use) { return is_free(file, first_use + use); });
}

} // namespace

bool lock_disk_file(int file, bool is_written) {
    constexpr Use reader[] = {read};
    constexpr Use writer[] = {read, write};
    constexpr Use refused[] = {write, resize};
    return lock(file, is_written ? std::span<const Use>(writer) : std::span<const Use>(reader), refused);
}

} // namespace previrt
