// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// The vector and floating-point registers of a user process, which are ours while the guest's kernel runs: it
// saves and restores them by itself.
namespace previrt::process {

constexpr std::size_t extended_bytes = 576; // of what XSAVE leaves at least

void start_user_vectors();
// From what XSAVE has left there, which may be anything.
void load_user_vectors(std::span<const std::uint8_t> area);
// For XRSTOR.
void save_user_vectors(std::span<std::uint8_t> area);

} // namespace previrt::process
