// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/disk/restricted_ring.hpp"

#include "host/input_error.hpp"

#include <cerrno>
#include <initializer_list>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace previrt {

namespace {

[[noreturn]] void refuse(const char* call, int error) {
    throw InputError(std::string(call) + ": " + std::generic_category().message(error));
}

io_uring_restriction allowed_operation(io_uring_op operation) {
    io_uring_restriction restriction{};
    restriction.opcode = IORING_RESTRICTION_SQE_OP;
    restriction.sqe_op = static_cast<std::uint8_t>(operation);
    return restriction;
}

io_uring_restriction required_flags(std::uint8_t flags) {
    io_uring_restriction restriction{};
    restriction.opcode = IORING_RESTRICTION_SQE_FLAGS_REQUIRED;
    restriction.sqe_flags = flags;
    return restriction;
}

} // namespace

RestrictedRing::RestrictedRing(unsigned entries, std::span<const int> files) {
    io_uring_params parameters{};
    parameters.flags = IORING_SETUP_R_DISABLED;
    if (const int error = io_uring_queue_init_params(entries, &ring_, &parameters); error < 0) {
        refuse("io_uring_setup", -error);
    }
    try {
        if ((parameters.features & IORING_FEAT_RSRC_TAGS) == 0) {
            throw InputError("io_uring: a kernel before 5.13 reports an event only once");
        }
        register_with(IORING_REGISTER_FILES, files.data(), files.size());
        std::vector<io_uring_restriction> restrictions{required_flags(IOSQE_FIXED_FILE)};
        for (const io_uring_op operation :
             {IORING_OP_READV, IORING_OP_WRITEV, IORING_OP_FSYNC, IORING_OP_FALLOCATE, IORING_OP_POLL_ADD}) {
            restrictions.push_back(allowed_operation(operation));
        }
        register_with(IORING_REGISTER_RESTRICTIONS, restrictions.data(), restrictions.size());
        register_with(IORING_REGISTER_ENABLE_RINGS, nullptr, 0);
    } catch (...) {
        io_uring_queue_exit(&ring_);
        throw;
    }
}

RestrictedRing::~RestrictedRing() {
    io_uring_queue_exit(&ring_);
}

// The system call itself: Debian's shared liburing 2.3 lacks two of the functions for it.
void RestrictedRing::register_with(unsigned operation, const void* argument, std::size_t count) const {
    if (syscall(SYS_io_uring_register, number(), operation, argument, count) < 0) {
        refuse("io_uring_register", errno);
    }
}

} // namespace previrt
