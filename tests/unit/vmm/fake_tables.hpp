// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt::fake {

void start_tables(std::uint64_t ram_bytes, std::uint32_t count);

} // namespace previrt::fake
