// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/image/decompress.hpp"

#include <string>

namespace previrt {

[[noreturn]] void throw_ends_early(const std::string& words);
[[noreturn]] void throw_holds_more(std::size_t claimed);
[[noreturn]] void throw_damaged(Compression compression, std::string_view words, std::size_t offset);

void check_nothing_follows(Compression compression, std::span<const std::uint8_t> data, std::size_t end);
void check_claim_is_met(std::size_t produced, std::size_t claimed);

} // namespace previrt
