// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <functional>
#include <string>

namespace previrt {

// The absolute path of the cache's directory `name`. If it is missing, or was made from another `key`, calls
// `fill` with an empty one. Of several concurrent runs one fills it.
std::string cached_directory(const std::string& name, const std::string& key,
                             const std::function<void(const std::string& directory)>& fill);

// The same without filling; empty if it would have to be filled.
std::string find_cached_directory(const std::string& name, const std::string& key);

} // namespace previrt
