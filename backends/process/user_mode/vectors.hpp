// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// The vector and floating-point registers of a user process. While the guest's kernel runs, this process
// holds them, because the kernel saves and restores them by itself.
namespace previrt::process {

constexpr std::size_t extended_bytes = 576; // that XSAVE leaves at least

void start_user_vectors();
// Loads an area that XSAVE wrote and the program may have changed.
void load_user_vectors(std::span<const std::uint8_t> area);
// The same area, for XRSTOR in the user process.
void copy_user_vectors(std::span<const std::uint8_t> area, std::span<std::uint8_t> to);
// Saves them for XRSTOR.
void save_user_vectors(std::span<std::uint8_t> area);

} // namespace previrt::process
