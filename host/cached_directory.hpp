// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <functional>
#include <string>

namespace previrt {

// The directory `name` of the cache, absolute. Where it is not there, or was made from another `key`, `fill`
// is called with an empty one. Several runs may ask at once: one fills it.
std::string cached_directory(const std::string& name, const std::string& key,
                             const std::function<void(const std::string& directory)>& fill);

// The same where it needs no filling; else empty.
std::string find_cached_directory(const std::string& name, const std::string& key);

} // namespace previrt
