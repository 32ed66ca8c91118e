// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <cstring>

namespace previrt {

// Little endian, at most 8 bytes. Returns the end.
inline std::uint8_t* put(std::uint8_t* to, std::uint64_t value, unsigned bytes) {
    std::memcpy(to, &value, bytes);
    return to + bytes;
}

constexpr unsigned jump_bytes = 5;

// jmp target, where `runs_at` is the address at which the jump runs. Returns the end.
inline std::uint8_t* put_jump(std::uint8_t* to, std::uint64_t runs_at, std::uint64_t target) {
    return put(put(to, 0xe9, 1), target - (runs_at + jump_bytes), 4);
}

} // namespace previrt
