// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/process/filter.hpp"

#include "backends/process/contract/layout.hpp"
#include "host/input_error.hpp"
#include "host/program.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <csignal>
#include <initializer_list>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <memory>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

namespace previrt {

namespace {

using namespace process;

struct Release {
    void operator()(void* filter) const { seccomp_release(filter); }
};
using Filter = std::unique_ptr<void, Release>;

void check(int result) {
    if (result < 0) {
        throw InputError("the kernel gives no seccomp filter: " + std::generic_category().message(-result));
    }
}

scmp_arg_cmp equals(unsigned argument, std::uint64_t value) {
    return {.arg = argument, .op = SCMP_CMP_EQ, .datum_a = value, .datum_b = 0};
}

scmp_arg_cmp has_not(unsigned argument, std::uint64_t bits) {
    return {.arg = argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = bits, .datum_b = 0};
}

void allow(const Filter& filter, int call, std::initializer_list<scmp_arg_cmp> arguments = {}) {
    check(seccomp_rule_add_array(filter.get(), SCMP_ACT_ALLOW, call, static_cast<unsigned>(arguments.size()),
                                 arguments.begin()));
}

std::vector<std::uint8_t> instructions(const Filter& filter) {
    const Descriptor file(memfd_create("previrt-filter", MFD_CLOEXEC));
    check(seccomp_export_bpf(filter.get(), file.number()));
    std::vector<std::uint8_t> bytes(BPF_MAXINSNS * sizeof(sock_filter));
    const ssize_t got = pread(file.number(), bytes.data(), bytes.size(), 0);
    check(got < 0 ? -errno : 0);
    bytes.resize(static_cast<std::size_t>(got));
    return bytes;
}

Filter make_filter() {
    Filter filter(seccomp_init(SCMP_ACT_KILL_PROCESS));
    if (!filter) {
        throw InputError("no memory for a seccomp filter");
    }
    // Calls of another architecture, which have other numbers.
    check(seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS));
    return filter;
}

// The one call of the host's 32-bit table: segments of a thread, for user mode. The filter of another
// architecture is made alone, so that its rules count for that architecture only, and no other rule does.
void add_32_bit_calls(const Filter& filter) {
    Filter calls_of_32_bits = make_filter();
    check(seccomp_arch_add(calls_of_32_bits.get(), SCMP_ARCH_X86));
    check(seccomp_arch_remove(calls_of_32_bits.get(), SCMP_ARCH_NATIVE));
    allow(calls_of_32_bits, SCMP_SYS(set_thread_area));
    check(seccomp_merge(filter.get(), calls_of_32_bits.release())); // it becomes part of the other one
}

} // namespace

std::vector<std::uint8_t> make_process_filter(bool isolates, unsigned disks, unsigned folders,
                                              unsigned processors) {
    const Filter filter = make_filter();
    // The guest's memory, at any address in the process.
    constexpr std::uint64_t rights = PROT_READ | PROT_WRITE | PROT_EXEC;
    for (const std::uint64_t in_advance : {std::uint64_t{0}, std::uint64_t{MAP_POPULATE}}) {
        allow(filter, SCMP_SYS(mmap),
              {has_not(2, ~rights), equals(3, MAP_SHARED | MAP_FIXED | in_advance),
               equals(4, memory_descriptor)});
    }
    allow(filter, SCMP_SYS(munmap));
    allow(filter, SCMP_SYS(madvise), {equals(2, MADV_REMOVE)});
    // Segments for its user mode.
    constexpr std::uint64_t write_local_table = 0x11;
    allow(filter, SCMP_SYS(modify_ldt), {equals(0, write_local_table)});
    allow(filter, SCMP_SYS(mprotect), {has_not(2, ~rights)});
    // Another process, which shares nothing but this memory.
    allow(filter, SCMP_SYS(clone), {equals(0, CLONE_PARENT | SIGCHLD)});
    allow(filter, SCMP_SYS(prctl),
          {equals(0, PR_SET_SYSCALL_USER_DISPATCH), equals(1, PR_SYS_DISPATCH_ON), equals(4, 0)});
    // The first timer; the old setting is not returned.
    allow(filter, SCMP_SYS(timer_create), {equals(0, CLOCK_MONOTONIC)});
    allow(filter, SCMP_SYS(timer_settime), {equals(0, 0), equals(1, 0), equals(3, 0)});
    allow(filter, SCMP_SYS(clock_gettime), {equals(0, CLOCK_PROCESS_CPUTIME_ID)});
    allow(filter, SCMP_SYS(futex), {equals(1, FUTEX_WAIT)});
    allow(filter, SCMP_SYS(futex), {equals(1, FUTEX_WAKE)});
    const auto allow_doorbell = [&](int event) {
        allow(filter, SCMP_SYS(write),
              {equals(0, static_cast<std::uint64_t>(event)), equals(2, sizeof(std::uint64_t))});
    };
    allow_doorbell(output_event);
    allow_doorbell(packet_event);
    allow_doorbell(vsock_event);
    allow_doorbell(console_ports_event);
    for (unsigned disk = 0; disk < disks; ++disk) {
        allow_doorbell(first_disk_event + static_cast<int>(disk));
    }
    for (int event = folders_event; folders != 0 && event < folder_event(folders, 0); ++event) {
        allow_doorbell(event);
    }
    if (isolates) {
        // The listeners of user processes, one for each processor. No other descriptor has one of these
        // numbers.
        for (unsigned first = 0; first < processors; first += user_listeners_in_block) {
            const std::uint64_t count = std::bit_ceil(std::min(processors - first, user_listeners_in_block));
            const scmp_arg_cmp is_listener{.arg = 0,
                                           .op = SCMP_CMP_MASKED_EQ,
                                           .datum_a = ~(count - 1),
                                           .datum_b = std::uint64_t{first_user_listener} + first};
            for (const std::uint64_t request : {SECCOMP_IOCTL_NOTIF_RECV, SECCOMP_IOCTL_NOTIF_SEND}) {
                allow(filter, SCMP_SYS(ioctl), {is_listener, equals(1, request)});
            }
        }
    }
    if (isolates || processors != 1) {
        allow(filter, SCMP_SYS(kill), {equals(1, user_signal)});
    }
    allow(filter, SCMP_SYS(rt_sigreturn));
    // Old programs call these at fixed addresses, and the host does them if it is configured so.
    for (const int call : {SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(getcpu)}) {
        allow(filter, call);
    }
    allow(filter, SCMP_SYS(restart_syscall));
    allow(filter, SCMP_SYS(exit_group));
    add_32_bit_calls(filter);
    return instructions(filter);
}

} // namespace previrt
