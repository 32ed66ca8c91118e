// SPDX-License-Identifier: BSD-2-Clause
#include "host/rights.hpp"

#include "host/program.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace previrt {

namespace {

// No distribution gives these numbers to users or to containers' users. The process identifier is added, so
// that the programs of two guests can neither trace nor kill one another.
constexpr uid_t first_user = 0x70000000;
// In a namespace with only the first 65536 users.
constexpr uid_t nobody = 65534;

// Not by the C library, which would change other threads too.
bool become_user(uid_t user) {
    return syscall(SYS_setresgid, user, user, user) == 0 && syscall(SYS_setresuid, user, user, user) == 0;
}

bool leave_root() {
    if (syscall(SYS_setgroups, 0, nullptr) != 0) {
        return false;
    }
    return become_user(first_user + static_cast<uid_t>(getpid())) || (errno == EINVAL && become_user(nobody));
}

// A program gains no capability outside this set, by its file or as root's. Without the right to empty the
// set, the process has still lost its capabilities: drop_capabilities.
void empty_bounding_set() {
    for (unsigned long capability = 0; prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0; ++capability) {
    }
}

// With no_new_privs, an exec gives no capability that was not there before.
bool drop_capabilities() {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    const std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall(SYS_capset, &header, none.data()) == 0;
}

} // namespace

bool take_rights(Rights rights) {
    if (rights == Rights::ours) {
        return true;
    }
    empty_bounding_set();
    return (rights != Rights::not_root || geteuid() != 0 || leave_root()) && drop_capabilities();
}

int try_with_rights(Rights rights, const std::function<bool()>& action) {
    const pid_t process = fork();
    if (process < 0) {
        return errno;
    }
    if (process == 0) {
        errno = 0;
        const bool done = take_rights(rights) && action();
        _exit(done ? 0 : std::max(errno, 1));
    }
    return wait_for_program(process);
}

} // namespace previrt
