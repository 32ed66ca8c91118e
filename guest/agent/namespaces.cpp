// SPDX-License-Identifier: BSD-2-Clause
#include "guest/agent/namespaces.hpp"

#include "guest/agent/kernel.hpp"
#include "guest/agent/messages.hpp"

#include <asm-generic/errno.h>
#include <asm/signal.h>
#include <linux/fcntl.h>
#include <linux/sched.h>

namespace previrt::agent {

namespace {

long container = 0; // the process whose namespaces others join; 0: none
long container_namespaces = 0;

constexpr long current_directory = -100; // AT_FDCWD

// Fails if the container's processes have made groups below and gave them controllers: Linux then wants no
// process in this one. The process stays in the agent's.
void join_group() {
    const char* const groups = "/sys/fs/cgroup";
    const char* const type = "cgroup2";
    call(__NR_mount, address_of(type), address_of(groups), address_of(type), 0, 0); // an earlier one may stay
    const long file =
        call(__NR_openat, current_directory, address_of(container_group_processes), O_WRONLY | O_CLOEXEC);
    call(__NR_write, file, address_of("0"), 1);
    call(__NR_close, file);
}

} // namespace

int enter_namespaces(std::uint32_t namespaces) {
    if ((namespaces & join_namespaces) == 0) {
        return 0;
    }
    if (container == 0) {
        return ESRCH;
    }
    const long process = call(__NR_pidfd_open, container, 0);
    if (process < 0) {
        return static_cast<int>(-process);
    }
    join_group();
    const long result = call(__NR_setns, process, container_namespaces);
    call(__NR_close, process);
    return static_cast<int>(-result);
}

long fork_into_namespaces(std::uint32_t namespaces) {
    const long flags = namespaces & ~join_namespaces;
    const long process = call(__NR_clone, flags | SIGCHLD);
    if (process > 0 && flags != 0 && container == 0) {
        container = process;
        container_namespaces = flags | CLONE_NEWCGROUP;
    }
    return process;
}

} // namespace previrt::agent
