// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/run/confinement.hpp"

#include "toolchain/image/input_error.hpp"
#include "toolchain/run/kvm_interface.hpp"

#include <cerrno>
#include <initializer_list>
#include <memory>
#include <seccomp.h>
#include <string>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

namespace previrt {

namespace {

#if defined(__SANITIZE_ADDRESS__)
#define PREVIRT_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PREVIRT_SANITIZED
#endif
#endif

class Filter {
public:
    Filter() : filter_(seccomp_init(SCMP_ACT_ERRNO(EPERM))) {
        if (filter_ == nullptr) {
            throw InputError("no memory for a seccomp filter");
        }
        allow_what_the_runtime_needs();
    }

    void allow(std::initializer_list<int> calls) {
        for (const int call : calls) {
            check(seccomp_rule_add_array(filter_.get(), SCMP_ACT_ALLOW, call, 0, nullptr));
        }
    }

    // With these arguments only.
    void allow(int call, std::initializer_list<scmp_arg_cmp> arguments) {
        check(seccomp_rule_add_array(filter_.get(), SCMP_ACT_ALLOW, call,
                                     static_cast<unsigned>(arguments.size()), arguments.begin()));
    }

    // It also forbids new privileges (PR_SET_NO_NEW_PRIVS).
    void apply() { check(seccomp_load(filter_.get())); }

    static scmp_arg_cmp equals(unsigned argument, std::uint64_t value) {
        return {.arg = argument, .op = SCMP_CMP_EQ, .datum_a = value, .datum_b = 0};
    }
    static scmp_arg_cmp has_not(unsigned argument, std::uint64_t bits) {
        return {.arg = argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = bits, .datum_b = 0};
    }

private:
    static void check(int result) {
        if (result < 0) {
            throw InputError("the kernel gives no seccomp filter: " +
                             std::generic_category().message(-result));
        }
    }

    // Memory that is not executable, locks, time, and the end of a thread or of all. Aborting sends a signal
    // to ourselves.
    void allow_what_the_runtime_needs() {
        allow({SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(madvise), SCMP_SYS(futex), SCMP_SYS(sched_yield),
               SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday), SCMP_SYS(restart_syscall),
               SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigprocmask), SCMP_SYS(sigaltstack), SCMP_SYS(gettid),
               SCMP_SYS(getpid), SCMP_SYS(exit), SCMP_SYS(exit_group)});
        constexpr unsigned protection = 2;
        constexpr std::uint64_t exec = PROT_EXEC;
        allow(SCMP_SYS(mmap), {has_not(protection, exec)});
        allow(SCMP_SYS(mprotect), {has_not(protection, exec)});
        allow(SCMP_SYS(mremap), {});
#ifdef PREVIRT_SANITIZED
        // How UBSan finds out whether memory can be read.
        allow({SCMP_SYS(pipe), SCMP_SYS(pipe2), SCMP_SYS(write), SCMP_SYS(close)});
#endif
        allow(SCMP_SYS(tgkill), {equals(0, static_cast<std::uint64_t>(getpid()))});
    }

    struct Release {
        void operator()(void* filter) const { seccomp_release(filter); }
    };
    std::unique_ptr<void, Release> filter_;
};

} // namespace

namespace {

void allow_requests(Filter& filter, int processor, std::initializer_list<std::uint64_t> requests) {
    for (const std::uint64_t request : requests) {
        filter.allow(SCMP_SYS(ioctl),
                     {Filter::equals(0, static_cast<std::uint64_t>(processor)), Filter::equals(1, request)});
    }
}

} // namespace

void confine_processor_thread(int processor) {
    Filter filter;
    allow_requests(filter, processor, {KVM_RUN, KVM_GET_REGS});
    filter.allow({SCMP_SYS(write)}); // that it has ended
    filter.apply();
}

void confine_privileged_processor_thread(int processor) {
    Filter filter;
    allow_requests(filter, processor,
                   {KVM_RUN, KVM_GET_REGS, KVM_SET_REGS, KVM_GET_SREGS, KVM_SET_SREGS, KVM_INTERRUPT});
    filter.allow({SCMP_SYS(write), SCMP_SYS(pread64), SCMP_SYS(timer_settime), SCMP_SYS(timer_delete),
                  SCMP_SYS(rt_sigtimedwait)});
    filter.apply();
}

void confine_console_thread() {
    Filter filter;
    filter.allow({SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(poll),
                  SCMP_SYS(ppoll)});
    filter.apply();
}

} // namespace previrt
