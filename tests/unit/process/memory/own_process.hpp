// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdio>
#include <exception>
#include <functional>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace previrt {

// Does it in a process of its own: the back-end starts once. The process's status, which is 0 if nothing
// failed.
inline int in_own_process(const std::function<void()>& action) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        try {
            action();
        } catch (const std::exception& error) {
            ADD_FAILURE() << error.what();
        }
        std::fflush(nullptr);
        _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
}

} // namespace previrt
