// SPDX-License-Identifier: BSD-2-Clause
#include "host/readable_files.hpp"

#include "host/program.hpp"

#include <cstdint>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace previrt {

bool allow_reading_beneath(const std::string& directory) {
    constexpr std::uint64_t all_of_first_version = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1U) - 1;
    const landlock_ruleset_attr handled{.handled_access_fs = all_of_first_version};
    const Descriptor rules(
        static_cast<int>(syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0)));
    if (rules.number() < 0) {
        return false;
    }
    const Descriptor place(open(directory.c_str(), O_PATH | O_CLOEXEC));
    if (place.number() >= 0) {
        const landlock_path_beneath_attr rule{.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE,
                                              .parent_fd = place.number()};
        syscall(SYS_landlock_add_rule, rules.number(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    }
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_landlock_restrict_self, rules.number(), 0) == 0;
}

} // namespace previrt
