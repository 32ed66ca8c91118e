// SPDX-License-Identifier: BSD-2-Clause
#include "oci/capabilities.hpp"

#include "host/input_error.hpp"
#include "oci/log.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

namespace previrt::oci {

namespace {

// In the order of their numbers.
constexpr std::array<const char*, last_capability + 1> all_names = {"CAP_CHOWN",
                                                                    "CAP_DAC_OVERRIDE",
                                                                    "CAP_DAC_READ_SEARCH",
                                                                    "CAP_FOWNER",
                                                                    "CAP_FSETID",
                                                                    "CAP_KILL",
                                                                    "CAP_SETGID",
                                                                    "CAP_SETUID",
                                                                    "CAP_SETPCAP",
                                                                    "CAP_LINUX_IMMUTABLE",
                                                                    "CAP_NET_BIND_SERVICE",
                                                                    "CAP_NET_BROADCAST",
                                                                    "CAP_NET_ADMIN",
                                                                    "CAP_NET_RAW",
                                                                    "CAP_IPC_LOCK",
                                                                    "CAP_IPC_OWNER",
                                                                    "CAP_SYS_MODULE",
                                                                    "CAP_SYS_RAWIO",
                                                                    "CAP_SYS_CHROOT",
                                                                    "CAP_SYS_PTRACE",
                                                                    "CAP_SYS_PACCT",
                                                                    "CAP_SYS_ADMIN",
                                                                    "CAP_SYS_BOOT",
                                                                    "CAP_SYS_NICE",
                                                                    "CAP_SYS_RESOURCE",
                                                                    "CAP_SYS_TIME",
                                                                    "CAP_SYS_TTY_CONFIG",
                                                                    "CAP_MKNOD",
                                                                    "CAP_LEASE",
                                                                    "CAP_AUDIT_WRITE",
                                                                    "CAP_AUDIT_CONTROL",
                                                                    "CAP_SETFCAP",
                                                                    "CAP_MAC_OVERRIDE",
                                                                    "CAP_MAC_ADMIN",
                                                                    "CAP_SYSLOG",
                                                                    "CAP_WAKE_ALARM",
                                                                    "CAP_BLOCK_SUSPEND",
                                                                    "CAP_AUDIT_READ",
                                                                    "CAP_PERFMON",
                                                                    "CAP_BPF",
                                                                    "CAP_CHECKPOINT_RESTORE"};

} // namespace

Capabilities parse_capabilities(const std::vector<std::string>& names) {
    Capabilities parsed = 0;
    for (const std::string& name : names) {
        const auto* const found = std::ranges::find(all_names, name);
        if (found == all_names.end()) {
            log_warning("config.json: process.capabilities: the guest's kernel has no " + name);
        } else {
            parsed |= Capabilities{1} << static_cast<unsigned>(found - all_names.begin());
        }
    }
    return parsed;
}

std::vector<std::string> names_of(Capabilities capabilities) {
    std::vector<std::string> found;
    for (unsigned number = 0; number <= last_capability; ++number) {
        if ((capabilities >> number & 1U) != 0) {
            found.emplace_back(all_names.at(number));
        }
    }
    return found;
}

Capabilities own_capabilities() {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
    if (syscall(SYS_capget, &header, sets.data()) != 0) {
        throw InputError("capget: " + std::generic_category().message(errno));
    }
    constexpr unsigned word = 32;
    Capabilities own = sets[0].permitted | Capabilities{sets[1].permitted} << word;
    for (unsigned number = 0; number <= last_capability; ++number) {
        if (prctl(PR_CAPBSET_READ, number, 0, 0, 0) != 1) {
            own &= ~(Capabilities{1} << number);
        }
    }
    return own;
}

} // namespace previrt::oci
