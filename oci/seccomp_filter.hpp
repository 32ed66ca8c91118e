// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace previrt::oci {

// linux.seccomp of config.json as a program of BPF, which the guest's kernel loads.
struct SeccompFilter {
    std::string program;     // of sock_filter
    unsigned long flags = 0; // of seccomp(2)
};

// Throws InputError if an action, an operator or a flag is not supported. A system call that this machine's
// libseccomp does not know is left out, as runc does.
SeccompFilter make_seccomp_filter(const nlohmann::json& seccomp);

} // namespace previrt::oci
