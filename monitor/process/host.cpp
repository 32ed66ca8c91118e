// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/process/host.hpp"

#include "host/input_error.hpp"

#include <elf.h>
#include <linux/prctl.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

namespace previrt {

namespace {

constexpr unsigned long fsgsbase = 2; // in AT_HWCAP2

} // namespace

ProcessHost find_process_host() {
    // It is off already: a kernel without it refuses even this.
    return {.has_fsgsbase = (getauxval(AT_HWCAP2) & fsgsbase) != 0,
            .has_user_dispatch = prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0) == 0};
}

void require_process_host(const ProcessHost& host) {
    if (!host.has_fsgsbase) {
        throw InputError(
            "--on process: programs of this machine have no FSGSBASE instructions (an Intel Ivy Bridge "
            "or AMD Excavator processor or later, and Linux 5.9 or later)");
    }
    if (!host.has_user_dispatch) {
        throw InputError("--on process: this machine's Linux has no Syscall User Dispatch (5.11 or later)");
    }
}

} // namespace previrt
