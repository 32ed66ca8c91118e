// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/guest/confinement.hpp"

#include "backends/process/contract/layout.hpp"
#include "host/call_filter.hpp"
#include "monitor/kvm/interface.hpp"

#include <csignal>
#include <cstdint>
#include <initializer_list>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>

namespace previrt {

namespace {

void allow_requests(CallFilter& filter, int processor, std::initializer_list<std::uint64_t> requests) {
    for (const std::uint64_t request : requests) {
        filter.allow(SCMP_SYS(ioctl), {CallFilter::equals(0, static_cast<std::uint64_t>(processor)),
                                       CallFilter::equals(1, request)});
    }
}

// Pages of the guest's memory.
void allow_release(CallFilter& filter) {
    for (const int advice : {MADV_DONTNEED, MADV_REMOVE}) {
        filter.allow(SCMP_SYS(madvise), {CallFilter::equals_int(2, advice)});
    }
}

} // namespace

void confine_processor_thread(int processor) {
    CallFilter filter;
    allow_requests(filter, processor, {KVM_RUN, KVM_GET_REGS});
    allow_release(filter);
    filter.allow({SCMP_SYS(write)}); // reports the end
    filter.allow(SCMP_SYS(prctl), {CallFilter::equals_int(0, PR_SET_TIMERSLACK)});
    filter.apply();
}

void confine_waiting_thread(pid_t group) {
    CallFilter filter;
    filter.allow(SCMP_SYS(kill), {CallFilter::equals_int(0, -group), CallFilter::equals_int(1, SIGKILL)});
    filter.allow({SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(poll), SCMP_SYS(close), SCMP_SYS(waitid),
                  SCMP_SYS(pidfd_open)});
    for (const std::uint64_t request :
         {SECCOMP_IOCTL_NOTIF_RECV, SECCOMP_IOCTL_NOTIF_SEND, SECCOMP_IOCTL_NOTIF_ID_VALID}) {
        filter.allow(SCMP_SYS(ioctl), {CallFilter::equals(1, request)});
    }
    filter.apply();
}

void confine_privileged_processor_thread(int processor) {
    CallFilter filter;
    allow_requests(
        filter, processor,
        {KVM_RUN, KVM_GET_REGS, KVM_SET_REGS, KVM_GET_SREGS, KVM_SET_SREGS, KVM_INTERRUPT, KVM_TRANSLATE});
    allow_release(filter);
    filter.allow({SCMP_SYS(write), SCMP_SYS(pread64), SCMP_SYS(timer_settime), SCMP_SYS(timer_delete),
                  SCMP_SYS(rt_sigtimedwait)});
    filter.apply();
}

void confine_one_of_several(int processor, int machine) {
    CallFilter filter;
    allow_requests(filter, processor,
                   {KVM_RUN, KVM_GET_REGS, KVM_SET_REGS, KVM_GET_SREGS, KVM_GET_MP_STATE, KVM_TRANSLATE});
    allow_requests(filter, machine, {KVM_IRQ_LINE});
    allow_release(filter);
    filter.allow({SCMP_SYS(write), SCMP_SYS(rt_sigtimedwait)});
    filter.apply();
}

void confine_vmm_processor_thread(int processor, int machine) {
    CallFilter filter;
    allow_requests(filter, processor, {KVM_RUN, KVM_GET_REGS, KVM_SET_REGS, KVM_SET_SREGS});
    allow_requests(filter, machine, {KVM_IRQ_LINE});
    allow_release(filter);
    filter.allow({SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(ppoll), SCMP_SYS(rt_sigtimedwait)});
    filter.apply();
}

namespace {

void allow_calls_of(CallFilter& filter, pid_t group) {
    if (group != 0) {
        filter.allow(SCMP_SYS(kill),
                     {CallFilter::equals_int(0, -group), CallFilter::equals_int(1, process::event_signal)});
    }
}

void allow_call(CallFilter& filter, const GuestCall& call) {
    allow_calls_of(filter, call.group);
    if (call.event >= 0) {
        filter.allow(SCMP_SYS(write), {CallFilter::equals_int(0, call.event)});
    }
}

void allow_relay(CallFilter& filter, pid_t group) {
    filter.allow({SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(poll),
                  SCMP_SYS(ppoll)});
    allow_calls_of(filter, group);
}

} // namespace

void confine_relay_thread(pid_t group) {
    CallFilter filter;
    allow_relay(filter, group);
    filter.apply();
}

void confine_console_thread(const ConsoleListeners& listeners, pid_t group) {
    CallFilter filter;
    allow_relay(filter, group);
    for (const int listener : {listeners.console, listeners.counts}) {
        if (listener >= 0) {
            filter.allow(SCMP_SYS(accept4), {CallFilter::equals_int(0, listener)});
        }
    }
    if (listeners.console >= 0 || listeners.counts >= 0) {
        filter.allow({SCMP_SYS(recvfrom), SCMP_SYS(sendto), SCMP_SYS(close)});
    }
    filter.apply();
}

void confine_channel_thread(int listener, pid_t group) {
    CallFilter filter;
    allow_relay(filter, group);
    filter.allow({SCMP_SYS(close)}); // of an output's pipe, at its end
    filter.allow(SCMP_SYS(ioctl), {CallFilter::equals(1, TIOCGWINSZ)});
    if (listener >= 0) {
        filter.allow(SCMP_SYS(accept4), {CallFilter::equals_int(0, listener)});
        filter.allow({SCMP_SYS(recvmsg), SCMP_SYS(getsockopt), SCMP_SYS(recvfrom), SCMP_SYS(sendto),
                      SCMP_SYS(shutdown)});
    }
    filter.apply();
}

void confine_port_thread(pid_t group) {
    CallFilter filter;
    allow_relay(filter, group);
    filter.allow({SCMP_SYS(close)}); // of an output's pipe, at its end
    filter.apply();
}

void confine_folder_thread(pid_t group) {
    CallFilter filter;
    allow_relay(filter, group);
    filter.allow({SCMP_SYS(sendmsg), SCMP_SYS(close), SCMP_SYS(pidfd_open), SCMP_SYS(waitid)});
    filter.apply();
}

void confine_disk_thread(int ring, const GuestCall& call) {
    CallFilter filter;
    filter.allow(SCMP_SYS(io_uring_enter), {CallFilter::equals_int(0, ring)});
    allow_call(filter, call);
    filter.apply();
}

void confine_disk_caller(int file, int overlay, const GuestCall& call) {
    constexpr unsigned flags = 5;
    CallFilter filter;
    filter.allow({SCMP_SYS(read), SCMP_SYS(poll)});
    for (const int number : {file, overlay}) {
        if (number >= 0) {
            filter.allow(SCMP_SYS(preadv2),
                         {CallFilter::equals_int(0, number), CallFilter::equals_int(flags, RWF_NOWAIT)});
        }
    }
    allow_call(filter, call);
    filter.apply();
}

void confine_image_thread(int connection, int copies, const GuestCall& call) {
    CallFilter filter;
    filter.allow({SCMP_SYS(read), SCMP_SYS(poll)});
    for (const int number : {SCMP_SYS(recvfrom), SCMP_SYS(sendto), SCMP_SYS(close)}) {
        filter.allow(number, {CallFilter::equals_int(0, connection)});
    }
    for (const int number : {SCMP_SYS(preadv), SCMP_SYS(pwritev)}) {
        filter.allow(number, {CallFilter::equals_int(0, copies)});
    }
    allow_call(filter, call);
    filter.apply();
}

void confine_disk_worker(int file, int overlay) {
    CallFilter filter;
    for (const int number : {file, overlay}) {
        for (const int call : {SCMP_SYS(preadv), SCMP_SYS(pwritev), SCMP_SYS(pwritev2), SCMP_SYS(fdatasync),
                               SCMP_SYS(fallocate)}) {
            if (number >= 0) {
                filter.allow(call, {CallFilter::equals_int(0, number)});
            }
        }
    }
    filter.allow({SCMP_SYS(write)}); // reports a result
    filter.apply();
}

} // namespace previrt
