// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "guest/agent/command.hpp"

namespace previrt::agent {

// Makes the calls of a start message, one after the other. 0, or End's value for not_started.
int make_calls(const Request& request);

} // namespace previrt::agent
