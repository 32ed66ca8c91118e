// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

namespace previrt {

// The processors that wait for the VMM's lock, where the hypervisor has no futex. Each sleeps until another
// one interrupts it.
class LockWaiters {
public:
    // Sleeps once, if the lock still has this value.
    template <typename Sleep>
    void wait(unsigned processor, const std::uint32_t& lock, std::uint32_t value, const Sleep& sleep) {
        __atomic_fetch_or(&waiting_, bit_of(processor), __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&lock, __ATOMIC_SEQ_CST) == value) {
            sleep();
        }
        // A processor that no longer waits must not be called in place of one that does.
        __atomic_fetch_and(&waiting_, ~bit_of(processor), __ATOMIC_SEQ_CST);
    }
    // The first one behind this processor, so that each has its turn.
    std::optional<unsigned> take_next(unsigned processor);

private:
    static std::uint64_t bit_of(unsigned processor) { return std::uint64_t{1} << processor; }

    std::uint64_t waiting_ = 0; // a bit for each processor
};

} // namespace previrt
