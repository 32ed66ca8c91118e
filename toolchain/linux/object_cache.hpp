// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/linux/compiler.hpp"

#include <string>
#include <utility>
#include <vector>

namespace previrt {

// ccache, where the machine has it: an object that one build has compiled, no other build compiles again.
struct ObjectCache {
    std::string launcher; // goes in front of the compiler's name: "ccache ", or nothing
    std::vector<std::pair<std::string, std::string>> environment;
};

// Paths inside `directory` are not part of an object's identity: a build in another directory finds the
// object too.
ObjectCache find_object_cache(const Compiler& compiler, const std::string& directory);

// A copy of `definitions`, as definitions_directory() is, in the cache directory. Its path contains their
// digest and is the same for all checkouts, so that options that name it name its content.
std::string shared_definitions(const std::string& definitions);

} // namespace previrt
