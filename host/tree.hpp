// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace previrt {

// The places of previrt's own files. A program that is installed, as PREFIX/bin/previrt or in
// PREFIX/lib/previrt, has them in PREFIX/lib/previrt and PREFIX/share/previrt, wherever PREFIX is. Any other
// one has them in the tree that it was built from.

// A path in the source tree of this previrt.
std::string in_source_tree(const std::string& path);
// A file that the build has made at this path of the build's machine. All are installed in one directory.
std::string built_file(const std::string& built);
// The headers and macros that a guest's build uses.
std::string definitions_directory();
// A bzImage of previrt's own package; empty: it is not installed.
std::string installed_kernel();
std::string this_program();
// Another program of previrt's.
std::string program_beside_this(const std::string& name);

// Downloads and unpacked sources: $PREVIRT_CACHE, else previrt/ in $XDG_CACHE_HOME or ~/.cache.
std::string cache_directory();

// With all missing parents. Throws InputError.
void make_directories(const std::string& path);

} // namespace previrt
