// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace previrt {

// FILE:LINE of code of a vmlinux with debug information, by binutils' addr2line. Addresses that it does not
// know are left out. Throws InputError if the program is not there.
std::map<std::uint64_t, std::string> find_source_lines(const std::string& vmlinux,
                                                       const std::vector<std::uint64_t>& addresses);

} // namespace previrt
