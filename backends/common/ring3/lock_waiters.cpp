// SPDX-License-Identifier: BSD-2-Clause
#include "backends/common/ring3/lock_waiters.hpp"

#include <bit>

namespace previrt {

std::optional<unsigned> LockWaiters::take_next(unsigned processor) {
    constexpr unsigned bits = 64;
    const std::uint64_t waiting = __atomic_load_n(&waiting_, __ATOMIC_SEQ_CST);
    if (waiting == 0) {
        return std::nullopt;
    }
    const unsigned next = processor + 1;
    const auto distance = static_cast<unsigned>(std::countr_zero(std::rotr(waiting, static_cast<int>(next))));
    const unsigned found = (next + distance) % bits;
    __atomic_fetch_and(&waiting_, ~bit_of(found), __ATOMIC_SEQ_CST);
    return found;
}

} // namespace previrt
