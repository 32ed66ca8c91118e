// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace previrt {

// A path in the source tree of this previrt.
std::string in_source_tree(const std::string& path);
// The headers and macros that a guest's build uses.
std::string definitions_directory();
std::string this_program();
// Another program of previrt's: all are in one directory.
std::string program_beside_this(const std::string& name);

// Downloads and unpacked sources: $PREVIRT_CACHE, else previrt/ in $XDG_CACHE_HOME or ~/.cache.
std::string cache_directory();

// With all missing parents. Throws InputError.
void make_directories(const std::string& path);

} // namespace previrt
