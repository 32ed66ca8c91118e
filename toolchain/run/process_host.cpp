// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/run/process_host.hpp"

#include "toolchain/image/input_error.hpp"

#include <elf.h>
#include <linux/prctl.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

namespace previrt {

namespace {

constexpr unsigned long has_fsgsbase = 2; // of AT_HWCAP2

} // namespace

void require_process_host() {
    if ((getauxval(AT_HWCAP2) & has_fsgsbase) == 0) {
        throw InputError(
            "--on process: programs of this machine have no FSGSBASE instructions (an Intel Ivy Bridge "
            "or AMD Excavator processor or later, and Linux 5.9 or later)");
    }
    // Off it is already: a kernel without it refuses even that.
    if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0) != 0) {
        throw InputError("--on process: this machine's Linux has no Syscall User Dispatch (5.11 or later)");
    }
}

} // namespace previrt
