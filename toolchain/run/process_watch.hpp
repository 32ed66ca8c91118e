// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <sys/types.h>

namespace previrt {

// Counts the processes of a group where Linux does not for us. It asks for all of this machine's only where
// there are so many more of them that it may matter, and now and then.
class ProcessWatch {
public:
    static constexpr std::chrono::milliseconds looks_every{100};

    ProcessWatch(pid_t group, unsigned most) : group_(group), most_(most) {}

    // How many there are, where they are too many; else 0.
    unsigned excess();

private:
    pid_t group_;
    unsigned most_;
    unsigned long all_counted_ = 0; // of this machine's, when we last looked
    unsigned looks_left_ = 0;
};

unsigned count_processes(pid_t group);

} // namespace previrt
