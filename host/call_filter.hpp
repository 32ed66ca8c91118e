// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <seccomp.h>

namespace previrt {

// The system calls that a thread needs. The filter always allows the calls of the C and C++ runtimes. Each
// function throws InputError if the kernel has no such filters.
class CallFilter {
public:
    enum class Other : std::uint8_t {
        ends_process, // by SIGSYS
        fails,        // EPERM: for a program whose calls nobody knows exactly
    };
    explicit CallFilter(Other other = Other::ends_process);

    void allow(std::initializer_list<int> calls);
    // With these arguments only.
    void allow(int call, std::initializer_list<scmp_arg_cmp> arguments);
    static scmp_arg_cmp equals(unsigned argument, std::uint64_t value);
    static scmp_arg_cmp equals_int(unsigned argument,
                                   int value); // compares 32 bits and ignores the upper ones
    static scmp_arg_cmp has(unsigned argument, std::uint64_t bits); // all of these bits are set
    static scmp_arg_cmp has_not(unsigned argument, std::uint64_t bits);

    // The call fails with this error number and does not end the process.
    void refuse(int call, int error);

    // For the calling thread, and those that it starts. Also forbids new privileges (PR_SET_NO_NEW_PRIVS).
    void apply();
    // For all threads of the process.
    void apply_to_all_threads();

private:
    void allow_what_the_runtime_needs();
    void refuse_files();

    struct Release {
        void operator()(void* filter) const { seccomp_release(filter); }
    };
    std::unique_ptr<void, Release> filter_;
    bool opens_files_ = false;
};

} // namespace previrt
