// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace previrt {

// A path of the tree that this previrt was built from.
std::string in_source_tree(const std::string& path);
// What a guest's build includes and assembles with.
std::string definitions_directory();
std::string this_program();
// Another of our programs: all lie in one directory.
std::string program_beside_this(const std::string& name);

// Downloads and unpacked sources: $PREVIRT_CACHE, else previrt/ in $XDG_CACHE_HOME or ~/.cache.
std::string cache_directory();

// With every parent that is missing; throws InputError.
void make_directories(const std::string& path);

} // namespace previrt
