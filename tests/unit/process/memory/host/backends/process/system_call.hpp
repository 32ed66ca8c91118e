// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/process/host_calls.hpp"

#include <cstdint>

// A model of the host answers (fake_domain.cpp).
namespace previrt::process {

std::int64_t call_host(SystemCall call, const CallArguments& arguments);

} // namespace previrt::process
