// SPDX-License-Identifier: BSD-2-Clause
#include "host/call_filter.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <seccomp.h>
#include <sys/wait.h>
#include <unistd.h>

namespace previrt {
namespace {

// A process applies this filter, and then opens files. Returns its exit status, or 128 and the signal that
// ended it.
int open_with(const std::function<void(CallFilter&)>& make, const std::function<int()>& use) {
    const pid_t process = fork();
    if (process == 0) {
        CallFilter filter;
        make(filter);
        filter.apply();
        _exit(use());
    }
    int status = 0;
    waitpid(process, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int error_of_open(int flags) {
    const int file = open("/dev/null", flags);
    return file >= 0 ? 0 : errno;
}

void allow_reading(CallFilter& filter) {
    filter.allow(SCMP_SYS(openat), {CallFilter::has_not(2, O_ACCMODE | O_CREAT)});
}

TEST(CallFilters, FilesAreRefused) {
    EXPECT_EQ(open_with([](CallFilter&) {}, [] { return error_of_open(O_RDONLY); }), EACCES);
}

TEST(CallFilters, FilesThatAreAllowedAreOpened) {
    EXPECT_EQ(open_with(allow_reading, [] { return error_of_open(O_RDONLY); }), 0);
    EXPECT_EQ(open_with(allow_reading, [] { return error_of_open(O_WRONLY); }), 128 + SIGSYS);
}

} // namespace
} // namespace previrt
