// SPDX-License-Identifier: BSD-2-Clause
#include "host/call_filter.hpp"

#include "host/input_error.hpp"

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/ioctl.h>
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

void check(int result) {
    if (result < 0) {
        throw InputError("the kernel gives no seccomp filter: " + std::generic_category().message(-result));
    }
}

} // namespace

CallFilter::CallFilter(Other other)
    : filter_(seccomp_init(other == Other::fails ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_KILL_PROCESS)) {
    if (filter_ == nullptr) {
        throw InputError("no memory for a seccomp filter");
    }
    check(seccomp_attr_set(filter_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS));
    allow_what_the_runtime_needs();
}

void CallFilter::allow(std::initializer_list<int> calls) {
    for (const int call : calls) {
        allow(call, {});
    }
}

void CallFilter::allow(int call, std::initializer_list<scmp_arg_cmp> arguments) {
    opens_files_ = opens_files_ || call == SCMP_SYS(openat);
    check(seccomp_rule_add_array(filter_.get(), SCMP_ACT_ALLOW, call, static_cast<unsigned>(arguments.size()),
                                 arguments.begin()));
}

void CallFilter::refuse(int call, int error) {
    check(seccomp_rule_add_array(filter_.get(), SCMP_ACT_ERRNO(static_cast<unsigned>(error)), call, 0,
                                 nullptr));
}

// glibc gives memory back to the host only if a file in /proc permits it, and takes an error for a refusal.
void CallFilter::refuse_files() {
    refuse(SCMP_SYS(open), EACCES);
    // A refusal without arguments would replace what is allowed with some.
    if (!opens_files_) {
        refuse(SCMP_SYS(openat), EACCES);
    }
}

void CallFilter::apply() {
    refuse_files();
    check(seccomp_load(filter_.get()));
}

void CallFilter::apply_to_all_threads() {
    check(seccomp_attr_set(filter_.get(), SCMP_FLTATR_CTL_TSYNC, 1));
    apply();
}

scmp_arg_cmp CallFilter::equals(unsigned argument, std::uint64_t value) {
    return {.arg = argument, .op = SCMP_CMP_EQ, .datum_a = value, .datum_b = 0};
}

scmp_arg_cmp CallFilter::equals_int(unsigned argument, int value) {
    constexpr std::uint64_t low = 0xffffffff;
    return {.arg = argument,
            .op = SCMP_CMP_MASKED_EQ,
            .datum_a = low,
            .datum_b = static_cast<std::uint64_t>(value) & low};
}

scmp_arg_cmp CallFilter::has(unsigned argument, std::uint64_t bits) {
    return {.arg = argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = bits, .datum_b = bits};
}

scmp_arg_cmp CallFilter::has_not(unsigned argument, std::uint64_t bits) {
    return {.arg = argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = bits, .datum_b = 0};
}

// Memory that is not executable, locks, time, and the end of a thread or of the process. Abort sends a signal
// to this process.
void CallFilter::allow_what_the_runtime_needs() {
    allow({SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(madvise), SCMP_SYS(futex), SCMP_SYS(sched_yield),
           SCMP_SYS(clock_gettime), SCMP_SYS(gettimeofday), SCMP_SYS(restart_syscall), SCMP_SYS(rt_sigreturn),
           SCMP_SYS(rt_sigprocmask), SCMP_SYS(sigaltstack), SCMP_SYS(gettid), SCMP_SYS(getpid),
           SCMP_SYS(exit), SCMP_SYS(exit_group)});
    constexpr unsigned protection = 2;
    constexpr std::uint64_t exec = PROT_EXEC;
    allow(SCMP_SYS(mmap), {has_not(protection, exec)});
    allow(SCMP_SYS(mprotect), {has_not(protection, exec)});
    allow(SCMP_SYS(mremap), {});
    // The C library asks this at the first character of a stream: its buffer size, and whether it is a
    // terminal.
    constexpr unsigned flags = 3;
    allow(SCMP_SYS(fstat), {});
    allow(SCMP_SYS(newfstatat), {equals(flags, AT_EMPTY_PATH)});
    allow(SCMP_SYS(ioctl), {equals(1, TCGETS)});
#ifdef PREVIRT_SANITIZED
    // UBSan uses these to find out whether memory is readable.
    allow({SCMP_SYS(pipe), SCMP_SYS(pipe2), SCMP_SYS(write), SCMP_SYS(close)});
#endif
    allow(SCMP_SYS(tgkill), {equals(0, static_cast<std::uint64_t>(getpid()))});
}

} // namespace previrt
