// SPDX-License-Identifier: BSD-2-Clause
// The container's process on this machine, whose number the engine knows. It stays in the namespaces that
// runc has made, so that an engine finds the container's files there. Its child runs the guest: a program of
// this machine, which is not in the container, so that it goes back to this machine's files.
//
// Static and without a C library: the container's files have no part in it. Descriptors: this program, the
// machine's mount namespace, and a socket, which the child keeps. Arguments: a directory of that machine for
// the container's files, or "-"; the program and its arguments.
#include "guest/agent/kernel.hpp"

#include <asm-generic/errno.h>
#include <asm/signal.h>
#include <linux/capability.h>
#include <linux/fcntl.h>
#include <linux/mount.h>
#include <linux/prctl.h>
#include <linux/sched.h>

namespace previrt {

namespace {

using agent::address_of;
using agent::call;
using agent::length_of;

constexpr long current_directory = -100; // AT_FDCWD
constexpr long recursive = 0x8000;       // AT_RECURSIVE
constexpr long close_on_exec = 02000000; // OPEN_TREE_CLOEXEC
constexpr unsigned failed = 125;
// Of descriptors.
constexpr long own_program = 3;
constexpr long machine = 4;

[[noreturn]] void end(unsigned status) {
    for (;;) {
        call(__NR_exit_group, status);
    }
}

void say(const char* text) {
    call(__NR_write, 2, address_of(text), static_cast<long>(length_of(text)));
}

void require(long result, const char* message) {
    if (result < 0) {
        say("previrt-oci: ");
        say(message);
        say("\n");
        end(failed);
    }
}

// What the engine mounts or unmounts on this machine later on happens here too: this process must keep no
// file system of other containers. What is mounted here stays here.
void enter_machine(const char* place) {
    const bool has_files = *place != '-';
    long files = -1;
    if (has_files) {
        files = call(__NR_open_tree, current_directory, address_of("/"),
                     OPEN_TREE_CLONE | recursive | close_on_exec);
        require(files, "open_tree: the container's files cannot be handed to its guest");
    }
    require(call(__NR_setns, machine, CLONE_NEWNS), "setns: there is no way back to this machine's files");
    require(call(__NR_unshare, CLONE_NEWNS), "unshare: no mount namespace");
    constexpr long slave = 1 << 19 | 1 << 14; // MS_SLAVE, MS_REC
    require(call(__NR_mount, address_of("none"), address_of("/"), 0, slave, 0), "mount: slave");
    if (has_files) {
        require(call(__NR_move_mount, files, address_of(""), current_directory, address_of(place),
                     MOVE_MOUNT_F_EMPTY_PATH),
                "move_mount: the container's files cannot be handed to its guest");
        call(__NR_close, files);
    }
    // The numbers of processes are those of the container's namespace.
    require(call(__NR_mount, address_of("proc"), address_of("/proc"), address_of("proc"), 0, 0),
            "mount: /proc");
}

[[noreturn]] void become_program(long parent, char** arguments, char** environment,
                                 const std::uint64_t* signals) {
    call(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL);
    if (call(__NR_getppid) != parent) {
        end(failed);
    }
    enter_machine(arguments[1]);
    call(__NR_close_range, own_program, machine, 0);
    call(__NR_rt_sigprocmask, SIG_SETMASK, address_of(signals), 0, sizeof *signals);
    call(__NR_execve, address_of(arguments[2]), address_of(static_cast<const void*>(arguments + 2)),
         address_of(static_cast<const void*>(environment)));
    require(-1, "execve: previrt-oci is not there any more");
    end(failed);
}

void drop_capabilities() {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    const __user_cap_data_struct none[2]{};
    call(__NR_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    call(__NR_capset, address_of(&header), address_of(none));
}

// Hands signals on until the child ends. A terminal's go to all processes of its group, also to the child.
[[noreturn]] void stand_for(long child, const std::uint64_t* all) {
    constexpr std::int32_t by_kernel = 0x80; // SI_KERNEL
    struct Signal {
        std::int32_t number;
        std::int32_t error;
        std::int32_t code;
        char rest[116];
    } signal{};
    for (;;) {
        std::uint32_t status = 0;
        long ended = 0;
        constexpr long without_waiting = 1;
        while ((ended = call(__NR_wait4, -1, address_of(&status), without_waiting, 0)) > 0) {
            if (ended == child) {
                const std::uint32_t by_signal = status & 0x7fU;
                end(by_signal != 0 ? 128 + by_signal : status >> 8U & 0xffU);
            }
        }
        const long number = call(__NR_rt_sigtimedwait, address_of(all), address_of(&signal), 0, sizeof *all);
        if (number > 0 && number != SIGCHLD && signal.code != by_kernel) {
            call(__NR_kill, child, number);
        }
    }
}

[[noreturn]] void run(char** stack) {
    const auto count = reinterpret_cast<std::size_t>(stack[0]);
    char** const arguments = stack + 1;
    char** const environment = arguments + count + 1;
    if (count < 3) {
        require(-1, "this program is for previrt-oci alone");
    }
    const std::uint64_t all = ~std::uint64_t{0};
    std::uint64_t before = 0;
    call(__NR_rt_sigprocmask, SIG_SETMASK, address_of(&all), address_of(&before), sizeof all);
    const long own = call(__NR_getpid);
    const long child = call(__NR_fork);
    require(child, "fork: no process for the guest's monitor");
    if (child == 0) {
        become_program(own, arguments, environment, &before);
    }
    call(__NR_close_range, own_program, ~0U, 0);
    drop_capabilities();
    stand_for(child, &all);
}

} // namespace

} // namespace previrt

extern "C" [[noreturn]] void container_process_started(char** stack) {
    previrt::run(stack);
}

asm(".globl _start\n"
    "_start: xorl %ebp, %ebp\n"
    "movq %rsp, %rdi\n"
    "andq $-16, %rsp\n"
    "call container_process_started\n");

// The compiler's own call.
extern "C" void* memset(void* to, int value, std::size_t bytes) {
    void* place = to;
    asm volatile("rep stosb" : "+D"(place), "+c"(bytes) : "a"(value) : "memory");
    return to;
}
