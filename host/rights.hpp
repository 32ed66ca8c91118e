// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>

namespace previrt {

// What another program gets of this one's rights.
enum class Rights : std::uint8_t {
    ours,
    of_user,  // those of our user: no capabilities, and none to be gained
    not_root, // nor those of root, if that is our user: it runs as one that no other process is
};

// For a child that is about to become another program: makes only calls that are safe after fork. False, with
// errno: Linux refuses it.
bool take_rights(Rights rights);

// Does it in a process of its own that has only these rights; after a fork. Gives errno of what failed; 0:
// nothing did.
int try_with_rights(Rights rights, const std::function<bool()>& action);

} // namespace previrt
