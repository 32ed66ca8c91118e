// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/guest/processor_end.hpp"
#include "monitor/kvm/processor.hpp"
#include "monitor/kvm/stats.hpp"

#include <cstdint>
#include <pthread.h>
#include <vector>

namespace previrt {

// KVM's counts at the time when the guest wrote a code to the port of power-on self tests, by an instruction
// that is no site: a program marks its operations so.
struct PostCode {
    std::uint8_t code;
    std::vector<KvmStat> stats;
};

// The processors of a guest that keeps its privileges.
class PrivilegedGuest {
public:
    PrivilegedGuest() = default;
    PrivilegedGuest(const PrivilegedGuest&) = delete;
    PrivilegedGuest& operator=(const PrivilegedGuest&) = delete;
    virtual ~PrivilegedGuest() = default;

    // Until the guest ends, fails, or is stopped. Its threads confine themselves.
    virtual ProcessorEnd run() = 0;
    // From another thread. `thread`: that of run().
    virtual void stop(pthread_t thread) = 0;
    virtual void input_came() = 0;
    virtual void packets_came() = 0; // also: there is room for some, or the link has changed

    // Valid after run().
    [[nodiscard]] virtual KvmExits exits() const = 0;
    [[nodiscard]] virtual std::vector<KvmStat> read_stats() const = 0;
    [[nodiscard]] virtual std::vector<PostCode> post_codes() const = 0;
};

} // namespace previrt
