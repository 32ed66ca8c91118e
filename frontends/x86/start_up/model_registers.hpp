// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/start_up/execution.hpp"

#include <cstdint>

namespace previrt::start_up {

// rdmsr and wrmsr.
std::uint64_t load_model_register(Execution& execution, std::uint32_t number);
void store_model_register(Execution& execution, std::uint32_t number, std::uint64_t value);

} // namespace previrt::start_up
