// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/disk/restricted_ring.hpp"

#include "host/input_error.hpp"
#include "host/program.hpp"
#include "tests/unit/command.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <sys/syscall.h>
#include <unistd.h>

namespace previrt {

namespace {

class RestrictedRings : public testing::Test {
protected:
    void SetUp() override {
        try {
            const std::array files{file_.number()};
            ring_ = std::make_unique<RestrictedRing>(8, files);
        } catch (const InputError& error) {
            GTEST_SKIP() << error.what();
        }
    }
    int result_of(const std::function<void(io_uring_sqe*)>& prepare) {
        prepare(io_uring_get_sqe(ring_->get()));
        io_uring_submit_and_wait(ring_->get(), 1);
        io_uring_cqe* completion = nullptr;
        if (io_uring_peek_cqe(ring_->get(), &completion) != 0) {
            return -ETIME;
        }
        const int result = completion->res;
        io_uring_cqe_seen(ring_->get(), completion);
        return result;
    }

    ScratchDirectory directory_;
    Descriptor file_{open(directory_.write("file", "text").c_str(), O_RDWR | O_CLOEXEC)};
    std::array<char, 4> bytes_{};
    iovec piece_{.iov_base = bytes_.data(), .iov_len = bytes_.size()};
    std::unique_ptr<RestrictedRing> ring_;
};

TEST_F(RestrictedRings, ReadTheirFiles) {
    EXPECT_EQ(result_of([&](io_uring_sqe* entry) {
                  io_uring_prep_readv(entry, 0, &piece_, 1, 0);
                  entry->flags |= IOSQE_FIXED_FILE;
              }),
              4);
    EXPECT_EQ(std::string(bytes_.data(), 4), "text");
}

TEST_F(RestrictedRings, DoNothingElse) {
    const int number = file_.number();
    const std::string path = directory_.path("file");
    const std::function<void(io_uring_sqe*)> forbidden[] = {
        [&](io_uring_sqe* entry) { io_uring_prep_readv(entry, number, &piece_, 1, 0); }, // by its descriptor
        [&](io_uring_sqe* entry) { io_uring_prep_nop(entry); },
        [&](io_uring_sqe* entry) { io_uring_prep_openat(entry, AT_FDCWD, path.c_str(), O_RDONLY, 0); },
        [&](io_uring_sqe* entry) { io_uring_prep_socket(entry, 1, 1, 0, 0); },
        [&](io_uring_sqe* entry) {
            io_uring_prep_close(entry, number);
            entry->flags |= IOSQE_FIXED_FILE;
        },
        [&](io_uring_sqe* entry) {
            io_uring_prep_openat(entry, AT_FDCWD, path.c_str(), O_RDONLY, 0);
            entry->flags |= IOSQE_FIXED_FILE;
        },
        [&](io_uring_sqe* entry) {
            io_uring_prep_readv(entry, 0, &piece_, 1, 0);
            entry->flags |= IOSQE_FIXED_FILE | IOSQE_IO_LINK;
        }};
    for (const auto& prepare : forbidden) {
        EXPECT_EQ(result_of(prepare), -EACCES);
    }
    EXPECT_EQ(result_of([&](io_uring_sqe* entry) {
                  io_uring_prep_readv(entry, 1, &piece_, 1, 0);
                  entry->flags |= IOSQE_FIXED_FILE;
              }),
              -EBADF);
}

TEST_F(RestrictedRings, TakeNoMoreFiles) {
    const int number = file_.number();
    for (const unsigned operation :
         {unsigned{IORING_REGISTER_FILES_UPDATE}, unsigned{IORING_UNREGISTER_FILES},
          unsigned{IORING_REGISTER_RESTRICTIONS}, unsigned{IORING_REGISTER_PERSONALITY}}) {
        EXPECT_LT(syscall(SYS_io_uring_register, ring_->number(), operation, &number, 1), 0);
    }
}

} // namespace

} // namespace previrt
