// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace previrt::oci {

// A set of Linux's capabilities: bit N is capability N.
using Capabilities = std::uint64_t;

constexpr unsigned last_capability = 40; // CAP_CHECKPOINT_RESTORE

// By their names, CAP_CHOWN and so on. Warns of a name that is none.
Capabilities parse_capabilities(const std::vector<std::string>& names);
std::vector<std::string> names_of(Capabilities capabilities);
// Of this process, that it may give to a program.
Capabilities own_capabilities();

} // namespace previrt::oci
