// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <liburing.h>
#include <span>

namespace previrt {

// An io_uring that does the calls of a disk on these files, by their places in the list, and polls them. A
// filter of system calls does not bound the work of an io_uring, but these restrictions do, and nobody can
// lift them.
class RestrictedRing {
public:
    // Throws InputError if the kernel has no such rings, or refuses one.
    RestrictedRing(unsigned entries, std::span<const int> files);
    ~RestrictedRing();
    RestrictedRing(const RestrictedRing&) = delete;
    RestrictedRing& operator=(const RestrictedRing&) = delete;

    io_uring* get() { return &ring_; }
    [[nodiscard]] int number() const { return ring_.ring_fd; }

private:
    void register_with(unsigned operation, const void* argument, std::size_t count) const;

    io_uring ring_{};
};

} // namespace previrt
