// SPDX-License-Identifier: BSD-2-Clause
// What the filter of a guest's host processes lets through: each call is made by a child of its own.
#include "monitor/process/filter.hpp"

#include "backends/process/contract/layout.hpp"
#include "host/program.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace previrt {

namespace {

using namespace process;

using Arguments = std::array<std::uint64_t, 6>;

std::uint64_t address_of(const void* place) {
    return reinterpret_cast<std::uint64_t>(place);
}

class ProcessFilter : public testing::Test {
protected:
    explicit ProcessFilter(bool isolates = false, unsigned processors = 1)
        : filter_(make_process_filter(isolates, 0, 0, processors)) {}

    // How a child ends that makes this call under the filter, and exits with 0 if it comes back: as wait()
    // tells.
    int end_of(std::int64_t number, const Arguments& arguments = {}) {
        return end_of([&] {
            syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                    arguments[5]);
        });
    }

    template <typename Action>
    int end_of(const Action& action) {
        const pid_t child = fork();
        if (child == 0) {
            const rlimit no_core{.rlim_cur = 0, .rlim_max = 0};
            setrlimit(RLIMIT_CORE, &no_core);
            const int memory = fcntl(memory_.number(), F_DUPFD, 16);
            const int event = fcntl(event_.number(), F_DUPFD, 16);
            dup2(memory, memory_descriptor);
            dup2(event, output_event);
            const sock_fprog program{.len = static_cast<unsigned short>(filter_.size() / sizeof(sock_filter)),
                                     .filter = reinterpret_cast<sock_filter*>(filter_.data())};
            if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
                syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) {
                syscall(SYS_exit_group, 99);
            }
            action();
            syscall(SYS_exit_group, 0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        return status;
    }

    void allowed(std::int64_t number, const Arguments& arguments = {}) {
        EXPECT_EQ(end_of(number, arguments), 0) << "call " << number;
    }
    void refused(std::int64_t number, const Arguments& arguments = {}) {
        const int status = end_of(number, arguments);
        EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) << "call " << number << ": " << status;
    }

    [[nodiscard]] std::uint64_t room() const { return address_of(room_); }

private:
    std::vector<std::uint8_t> filter_;
    Descriptor memory_{memfd_create("test", MFD_CLOEXEC)};
    Descriptor event_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    void* room_ = mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
};

constexpr std::uint64_t all_rights = PROT_READ | PROT_WRITE | PROT_EXEC;
constexpr std::uint64_t shared = MAP_SHARED | MAP_FIXED;
constexpr std::uint64_t clone_beside = CLONE_PARENT | SIGCHLD;

TEST_F(ProcessFilter, TheGuestsMemoryIsMappedAndNoOther) {
    allowed(SYS_mmap, {room(), 4096, all_rights, shared, memory_descriptor, 0});
    allowed(SYS_mmap, {room(), 4096, PROT_NONE, shared | MAP_POPULATE, memory_descriptor, 4096});
    refused(SYS_mmap, {room(), 4096, all_rights, shared, output_event, 0});
    refused(SYS_mmap, {room(), 4096, all_rights, shared, 0, 0});
    refused(SYS_mmap, {room(), 4096, all_rights, MAP_PRIVATE | MAP_FIXED, memory_descriptor, 0});
    refused(SYS_mmap, {room(), 4096, all_rights, MAP_SHARED, memory_descriptor, 0});
    refused(SYS_mmap, {room(), 4096, all_rights, shared | MAP_ANONYMOUS, memory_descriptor, 0});
    refused(SYS_mmap, {room(), 4096, all_rights, shared | MAP_LOCKED, memory_descriptor, 0});
    refused(SYS_mmap, {room(), 4096, all_rights | PROT_GROWSDOWN, shared, memory_descriptor, 0});
    refused(SYS_mmap, {room(), 4096, all_rights, shared, ~std::uint64_t{0}, 0});
    allowed(SYS_mprotect, {room(), 4096, PROT_READ});
    refused(SYS_mprotect, {room(), 4096, PROT_READ | PROT_GROWSUP});
    allowed(SYS_madvise, {room(), 4096, MADV_REMOVE});
    refused(SYS_madvise, {room(), 4096, MADV_MERGEABLE});
    allowed(SYS_modify_ldt, {0x11, room(), 16});
    refused(SYS_modify_ldt, {1, room(), 16});
    allowed(SYS_munmap, {room(), 65536});
    for (const std::int64_t call :
         {SYS_mremap, SYS_brk, SYS_madvise, SYS_mlock, SYS_mlockall, SYS_memfd_create, SYS_remap_file_pages,
          SYS_pkey_mprotect, SYS_userfaultfd, SYS_shmget}) {
        refused(call);
    }
}

TEST_F(ProcessFilter, AProcessLikeThisIsMadeAndNothingElse) {
    // The child is ours, then: CLONE_PARENT.
    allowed(SYS_clone, {clone_beside});
    while (waitpid(-1, nullptr, 0) > 0) {
    }
    for (const std::uint64_t flags :
         {std::uint64_t{SIGCHLD}, std::uint64_t{CLONE_PARENT}, clone_beside | CLONE_NEWUSER,
          clone_beside | CLONE_VM, clone_beside | CLONE_FILES, clone_beside | (std::uint64_t{1} << 32U),
          std::uint64_t{CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD}}) {
        refused(SYS_clone, {flags});
    }
    for (const std::int64_t call : {SYS_fork,
                                    SYS_vfork,
                                    SYS_clone3,
                                    SYS_execve,
                                    SYS_execveat,
                                    SYS_unshare,
                                    SYS_setns,
                                    SYS_setpgid,
                                    SYS_setsid,
                                    SYS_kill,
                                    SYS_tkill,
                                    SYS_tgkill,
                                    SYS_rt_sigqueueinfo,
                                    SYS_pidfd_open,
                                    SYS_pidfd_send_signal,
                                    SYS_ptrace,
                                    SYS_process_vm_readv,
                                    SYS_process_vm_writev,
                                    SYS_kcmp,
                                    SYS_wait4,
                                    SYS_exit,
                                    SYS_getppid}) {
        refused(call);
    }
}

TEST_F(ProcessFilter, WhatAProcessSaysOfItself) {
    refused(SYS_prctl, {PR_SET_PDEATHSIG, 0});
    allowed(SYS_prctl, {PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, ~std::uint64_t{0} >> 1U, 0});
    refused(SYS_prctl, {PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF});
    refused(SYS_prctl, {PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, room()});
    for (const int option : {PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_SET_MM, PR_SET_NAME, PR_SET_SECCOMP,
                             PR_SET_CHILD_SUBREAPER, PR_SET_PTRACER}) {
        refused(SYS_prctl, {static_cast<std::uint64_t>(option)});
    }
    for (const std::int64_t call :
         {SYS_seccomp, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_sigaltstack, SYS_arch_prctl, SYS_setrlimit,
          SYS_prlimit64, SYS_setuid, SYS_capset, SYS_set_tid_address}) {
        refused(call);
    }
}

TEST_F(ProcessFilter, TimersWaitsAndTheDoorbell) {
    allowed(SYS_timer_create, {CLOCK_MONOTONIC, 0, room()});
    refused(SYS_timer_create, {CLOCK_REALTIME, 0, room()});
    allowed(SYS_timer_settime, {0, 0, room(), 0});
    refused(SYS_timer_settime, {1, 0, room(), 0});
    refused(SYS_timer_settime, {0, TIMER_ABSTIME, room(), 0});
    refused(SYS_timer_settime, {0, 0, room(), room()});
    allowed(SYS_futex, {room(), FUTEX_WAIT, 1});
    allowed(SYS_futex, {room(), FUTEX_WAKE, 1});
    for (const int operation : {FUTEX_REQUEUE, FUTEX_CMP_REQUEUE, FUTEX_WAKE_OP, FUTEX_LOCK_PI, FUTEX_FD,
                                FUTEX_WAIT | FUTEX_PRIVATE_FLAG, FUTEX_WAIT | FUTEX_CLOCK_REALTIME}) {
        refused(SYS_futex, {room(), static_cast<std::uint64_t>(operation), 1});
    }
    allowed(SYS_write, {output_event, room(), 8});
    refused(SYS_write, {output_event, room(), 16});
    refused(SYS_write, {memory_descriptor, room(), 8});
    refused(SYS_write, {1, room(), 8});
    for (const std::int64_t call : {SYS_gettimeofday, SYS_time, SYS_getcpu}) {
        allowed(call, {room()});
    }
    EXPECT_EQ(WEXITSTATUS(end_of(SYS_exit_group, {5})), 5);
}

TEST_F(ProcessFilter, NoFilesNoSocketsNoKernelsDoors) {
    for (const std::int64_t call : {SYS_read,
                                    SYS_open,
                                    SYS_openat,
                                    SYS_openat2,
                                    SYS_close,
                                    SYS_dup,
                                    SYS_dup2,
                                    SYS_fcntl,
                                    SYS_ioctl,
                                    SYS_ftruncate,
                                    SYS_fallocate,
                                    SYS_sendfile,
                                    SYS_splice,
                                    SYS_pipe,
                                    SYS_socket,
                                    SYS_socketpair,
                                    SYS_connect,
                                    SYS_sendmsg,
                                    SYS_recvmsg,
                                    SYS_bind,
                                    SYS_mount,
                                    SYS_umount2,
                                    SYS_pivot_root,
                                    SYS_chroot,
                                    SYS_chdir,
                                    SYS_mkdir,
                                    SYS_unlink,
                                    SYS_stat,
                                    SYS_readlink,
                                    SYS_getdents64,
                                    SYS_bpf,
                                    SYS_perf_event_open,
                                    SYS_io_uring_setup,
                                    SYS_io_setup,
                                    SYS_keyctl,
                                    SYS_add_key,
                                    SYS_init_module,
                                    SYS_kexec_load,
                                    SYS_reboot,
                                    SYS_personality,
                                    SYS_modify_ldt,
                                    SYS_nanosleep,
                                    SYS_poll,
                                    SYS_epoll_create1,
                                    SYS_inotify_init,
                                    SYS_sched_setaffinity,
                                    SYS_setpriority,
                                    SYS_getpid,
                                    SYS_getrandom,
                                    SYS_rseq,
                                    SYS_membarrier}) {
        refused(call);
    }
    for (std::int64_t call = 425; call < 600; ++call) { // the newest, and those to come
        refused(call);
    }
}

TEST_F(ProcessFilter, NoOtherTableOfCalls) {
    constexpr std::int64_t x32 = 0x40000000;
    refused(x32 | SYS_write, {output_event, room(), 8});
    refused(x32 | SYS_munmap, {room(), 65536});
}

// By the processor's numbers: `int $0x80` of 64-bit code reaches this table too.
int call_of_32_bits(std::uint32_t number, std::uint32_t argument) {
    int result = 0; // NOLINT(misc-const-correctness): asm writes it
    asm volatile("int $0x80"
                 : "=a"(result)
                 : "a"(number), "b"(argument), "c"(0), "d"(0), "S"(0), "D"(0)
                 : "r8", "r9", "r10", "r11", "memory");
    return result;
}

TEST_F(ProcessFilter, OneCallOfTheTableOf32Bits) {
    constexpr std::uint32_t set_thread_area = 243;
    constexpr std::uint32_t past_the_table = 512;
    constexpr std::uint32_t x32 = 0x40000000;
    EXPECT_EQ(end_of([] { call_of_32_bits(set_thread_area, 0); }), 0);
    for (const std::uint32_t also : {x32, std::uint32_t{0}}) {
        for (std::uint32_t number = 0; number < past_the_table; ++number) {
            if ((number | also) == set_thread_area) {
                continue;
            }
            const int status = end_of([&] { call_of_32_bits(number | also, 0); });
            EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) << number << ": " << status;
        }
    }
    // The other tables have the same number, and theirs of this name.
    for (const std::int64_t number :
         {std::int64_t{set_thread_area}, std::int64_t{SYS_set_thread_area},
          std::int64_t{x32 | set_thread_area}, std::int64_t{x32 | SYS_set_thread_area}}) {
        refused(number);
    }
}

// A thread's segments are data: whatever a guest asks for, its processes get no code segment by it.
TEST_F(ProcessFilter, SegmentsOfAThreadAreData) {
    struct Descriptor {
        std::uint32_t index;
        std::uint32_t base;
        std::uint32_t limit;
        std::uint32_t flags;
    };
    void* const low =
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    ASSERT_NE(low, MAP_FAILED);
    const auto try_it = [&](std::uint32_t index, std::uint32_t flags) {
        const Descriptor descriptor{.index = index, .base = 0, .limit = 0xfffff, .flags = flags};
        const int status = end_of([&] {
            std::memcpy(low, &descriptor, sizeof(descriptor));
            if (call_of_32_bits(243, static_cast<std::uint32_t>(address_of(low))) != 0) {
                _exit(1);
            }
        });
        return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    };
    constexpr std::uint32_t data_of_32_bits = 0x51; // in pages, usable
    constexpr std::uint32_t first = 12;
    EXPECT_TRUE(try_it(first, data_of_32_bits));
    EXPECT_TRUE(try_it(first + 2, data_of_32_bits));
    EXPECT_FALSE(try_it(first - 1, data_of_32_bits));
    EXPECT_FALSE(try_it(first + 3, data_of_32_bits));
    for (const std::uint32_t code : {std::uint32_t{4}, std::uint32_t{6}}) {
        EXPECT_FALSE(try_it(first, data_of_32_bits | code));
    }
    munmap(low, 4096);
}

// With --isolate it answers user processes, and calls them by a signal that nobody minds.
class IsolatingFilter : public ProcessFilter {
protected:
    IsolatingFilter() : ProcessFilter(true) {}
};

TEST_F(IsolatingFilter, UserProcessesAreAnsweredAndCalled) {
    const auto self = static_cast<std::uint64_t>(getpid());
    allowed(SYS_ioctl, {first_user_listener, SECCOMP_IOCTL_NOTIF_RECV, room()});
    allowed(SYS_ioctl, {first_user_listener, SECCOMP_IOCTL_NOTIF_SEND, room()});
    refused(SYS_ioctl, {first_user_listener, SECCOMP_IOCTL_NOTIF_ADDFD, room()});
    refused(SYS_ioctl, {first_user_listener, _IOW(SECCOMP_IOC_MAGIC, 4, std::uint64_t), 0});
    refused(SYS_ioctl, {first_user_listener + 1, SECCOMP_IOCTL_NOTIF_RECV, room()});
    refused(SYS_ioctl, {memory_descriptor, SECCOMP_IOCTL_NOTIF_RECV, room()});
    allowed(SYS_kill, {self, SIGURG});
    refused(SYS_kill, {self, SIGKILL});
    refused(SYS_kill, {self, 0});
    refused(SYS_tkill, {self, SIGURG});
    refused(SYS_seccomp, {1, 8, room()});
    refused(SYS_pidfd_open, {self});
}

// With several processors, one calls another by the same signal.
class FilterOfSeveralProcessors : public ProcessFilter {
protected:
    FilterOfSeveralProcessors() : ProcessFilter(false, 2) {}
};

TEST_F(FilterOfSeveralProcessors, ProcessorsAreCalled) {
    const auto self = static_cast<std::uint64_t>(getpid());
    allowed(SYS_kill, {self, SIGURG});
    refused(SYS_kill, {self, SIGKILL});
    refused(SYS_kill, {self, SIGUSR1});
    refused(SYS_tgkill, {self, self, SIGURG});
    refused(SYS_ioctl, {first_user_listener, SECCOMP_IOCTL_NOTIF_RECV, room()});
}

// With both, each processor has a listener.
class IsolatingFilterOfSeveralProcessors : public ProcessFilter {
protected:
    IsolatingFilterOfSeveralProcessors() : ProcessFilter(true, 40) {}
};

TEST_F(IsolatingFilterOfSeveralProcessors, EachIsAnswered) {
    constexpr std::uint64_t last = first_user_listener + 39;
    for (std::uint64_t listener = first_user_listener; listener <= last; ++listener) {
        allowed(SYS_ioctl, {listener, SECCOMP_IOCTL_NOTIF_RECV, room()});
        allowed(SYS_ioctl, {listener, SECCOMP_IOCTL_NOTIF_SEND, room()});
        refused(SYS_ioctl, {listener, SECCOMP_IOCTL_NOTIF_ADDFD, room()});
    }
    for (const std::uint64_t other : {std::uint64_t{first_user_listener} - 1, last + 1, std::uint64_t{0},
                                      std::uint64_t{memory_descriptor}}) {
        refused(SYS_ioctl, {other, SECCOMP_IOCTL_NOTIF_RECV, room()});
    }
}

TEST_F(ProcessFilter, NobodyIsAnsweredOrCalledWithoutUserProcesses) {
    refused(SYS_ioctl, {first_user_listener, SECCOMP_IOCTL_NOTIF_RECV, room()});
    refused(SYS_kill, {static_cast<std::uint64_t>(getpid()), SIGURG});
}

} // namespace

} // namespace previrt
