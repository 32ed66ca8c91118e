// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/guest/monitor_confinement.hpp"

#include "backends/process/contract/layout.hpp"
#include "host/call_filter.hpp"
#include "host/input_error.hpp"
#include "host/readable_files.hpp"
#include "monitor/kvm/interface.hpp"
#include "monitor/process/child.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <grp.h>
#include <initializer_list>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

namespace previrt {

namespace {

// From now on no file can be opened, made or executed.
bool close_file_system(bool connects) {
    std::string name = "/tmp/previrt-XXXXXX";
    // Nothing can be created in a removed directory. All threads share this root.
    const bool is_empty = !connects && geteuid() == 0 && mkdtemp(name.data()) != nullptr &&
                          chdir(name.c_str()) == 0 && rmdir(name.c_str()) == 0 && chroot(".") == 0;
    return allow_reading_beneath("") || is_empty;
}

void allow_signals(CallFilter& filter, const MonitorNeeds& needs) {
    if (needs.guest != 0) {
        for (const int number : {process::event_signal, SIGKILL}) {
            filter.allow(SCMP_SYS(kill),
                         {CallFilter::equals_int(0, -needs.guest), CallFilter::equals_int(1, number)});
        }
    }
    if (needs.network != 0) {
        filter.allow(SCMP_SYS(kill),
                     {CallFilter::equals_int(0, needs.network), CallFilter::equals_int(1, SIGKILL)});
    }
}

void allow_threads(CallFilter& filter) {
    filter.allow(SCMP_SYS(clone), {CallFilter::has(0, CLONE_VM | CLONE_THREAD)});
    filter.refuse(SCMP_SYS(clone3), ENOSYS); // its flags are in memory; glibc then uses clone
    filter.allow({SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(rt_sigaction),
                  SCMP_SYS(rt_sigtimedwait), SCMP_SYS(clock_nanosleep), SCMP_SYS(timer_create),
                  SCMP_SYS(timer_settime), SCMP_SYS(timer_delete), SCMP_SYS(getrandom),
                  SCMP_SYS(sched_getaffinity)});
    for (const int option : {PR_SET_NAME, PR_SET_NO_NEW_PRIVS, PR_SET_TIMERSLACK}) {
        filter.allow(SCMP_SYS(prctl), {CallFilter::equals_int(0, option)});
    }
    filter.allow({SCMP_SYS(seccomp)}); // further filters, of single threads
}

void allow_descriptors(CallFilter& filter, bool connects) {
    filter.allow({SCMP_SYS(read),      SCMP_SYS(readv),    SCMP_SYS(write),      SCMP_SYS(writev),
                  SCMP_SYS(pread64),   SCMP_SYS(poll),     SCMP_SYS(ppoll),      SCMP_SYS(close),
                  SCMP_SYS(lseek),     SCMP_SYS(fcntl),    SCMP_SYS(dup),        SCMP_SYS(dup2),
                  SCMP_SYS(dup3),      SCMP_SYS(pipe2),    SCMP_SYS(eventfd2),   SCMP_SYS(signalfd4),
                  SCMP_SYS(waitid),    SCMP_SYS(wait4),    SCMP_SYS(pidfd_open), SCMP_SYS(sendto),
                  SCMP_SYS(sendmsg),   SCMP_SYS(recvfrom), SCMP_SYS(recvmsg),    SCMP_SYS(shutdown),
                  SCMP_SYS(getsockopt)});
    if (connects) {
        filter.allow(SCMP_SYS(socket), {CallFilter::equals_int(0, AF_UNIX)});
        filter.allow({SCMP_SYS(connect), SCMP_SYS(setsockopt)});
    }
    for (const std::uint64_t request : std::initializer_list<std::uint64_t>{TCSETS,
                                                                            TCSETSW,
                                                                            TCSETSF,
                                                                            TCFLSH,
                                                                            FIONREAD,
                                                                            TIOCGWINSZ,
                                                                            KVM_RUN,
                                                                            KVM_GET_REGS,
                                                                            KVM_SET_REGS,
                                                                            KVM_GET_SREGS,
                                                                            KVM_SET_SREGS,
                                                                            KVM_GET_MSRS,
                                                                            KVM_GET_TSC_KHZ,
                                                                            KVM_INTERRUPT,
                                                                            KVM_IRQ_LINE,
                                                                            KVM_GET_MP_STATE,
                                                                            KVM_TRANSLATE,
                                                                            KVM_SET_SIGNAL_MASK,
                                                                            KVM_SET_XCRS,
                                                                            KVM_GET_STATS_FD,
                                                                            SECCOMP_IOCTL_NOTIF_RECV,
                                                                            SECCOMP_IOCTL_NOTIF_SEND,
                                                                            SECCOMP_IOCTL_NOTIF_ID_VALID}) {
        filter.allow(SCMP_SYS(ioctl), {CallFilter::equals(1, request)});
    }
}

void allow_disks(CallFilter& filter) {
    filter.allow({SCMP_SYS(io_uring_enter), SCMP_SYS(preadv), SCMP_SYS(preadv2), SCMP_SYS(pwritev),
                  SCMP_SYS(pwritev2), SCMP_SYS(fdatasync), SCMP_SYS(fallocate)});
}

void filter_monitor(const MonitorNeeds& needs) {
    CallFilter filter;
    allow_threads(filter);
    allow_descriptors(filter, needs.connects);
    allow_signals(filter, needs);
    if (needs.has_disks) {
        allow_disks(filter);
    }
    for (const int listener : {needs.sessions, needs.consoles, needs.counts}) {
        if (listener >= 0) {
            filter.allow(SCMP_SYS(accept4), {CallFilter::equals_int(0, listener)});
        }
    }
    filter.apply_to_all_threads();
}

} // namespace

// For a process that connects, the file-system user stays root. Either user may send signals to a guest.
bool leave_root(bool connects) {
    const uid_t files = connects ? 0 : nobody;
    return setgroups(0, nullptr) == 0 && setresgid(nogroup, nogroup, nogroup) == 0 &&
           setresuid(nobody, files, files) == 0;
}

void drop_capabilities() {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    const std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
    if (syscall(SYS_capset, &header, none.data()) != 0) {
        throw InputError("capset: " + std::generic_category().message(errno));
    }
}

std::vector<std::string> confine_monitor(const MonitorNeeds& needs) {
    std::vector<std::string> missing;
    const pid_t supervisor = getppid();
    if (!close_file_system(needs.connects)) {
        missing.emplace_back("an empty root for the monitor");
    }
    if (geteuid() == 0 && needs.guest_is_nobody && !leave_root(needs.connects)) {
        missing.emplace_back("a user other than root for the monitor");
    }
    drop_capabilities();
    prctl(PR_SET_PDEATHSIG, SIGKILL); // Linux forgets this setting when the user changes
    if (getppid() != supervisor) {
        throw InputError("the process that started the monitor has ended");
    }
    filter_monitor(needs);
    return missing;
}

} // namespace previrt
