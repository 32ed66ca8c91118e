// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>

namespace previrt {

// The part of this program's rights that another program gets.
enum class Rights : std::uint8_t {
    ours,
    of_user,  // those of this user: no capabilities, and no way to gain any
    not_root, // if this user is root, the program also becomes a user that no other process has
};

// For a child before exec: makes only calls that are safe after fork. False, with errno: Linux refuses.
bool take_rights(Rights rights);

// Runs `action` in a process of its own that has only these rights; after a fork. Returns the errno of a
// failure; 0: success.
int try_with_rights(Rights rights, const std::function<bool()>& action);

} // namespace previrt
