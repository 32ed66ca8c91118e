// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

namespace previrt {

// nullopt, false: the model has no such register or value, and the guest gets #GP, as on a processor without
// it.
std::optional<std::uint64_t> read_msr(std::uint32_t number);
bool write_msr(std::uint32_t number, std::uint64_t value);

} // namespace previrt
