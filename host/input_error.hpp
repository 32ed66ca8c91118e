// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <stdexcept>

namespace previrt {

// The input is not what it claims to be. The message names the fault and its place; the program ends with
// status 2.
class InputError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

} // namespace previrt
