// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/process/clone_quota.hpp"

#include "host/input_error.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace previrt {

ProcessLeaves::ProcessLeaves(Descriptor asked, unsigned most) : asked_(std::move(asked)), left_(most) {
    if (seccomp_notify_alloc(&question_, &answer_) != 0) {
        throw InputError("the kernel does not say how large a filter's notification is");
    }
}

ProcessLeaves::~ProcessLeaves() {
    seccomp_notify_free(question_, answer_);
}

void ProcessLeaves::answer() {
    // Linux demands an empty one.
    std::memset(question_, 0, sizeof *question_);
    if (seccomp_notify_receive(asked_.number(), question_) != 0) {
        return; // the process was interrupted and will ask again, or has ended
    }
    *answer_ = {};
    answer_->id = question_->id;
    if (left_ == 0) {
        answer_->error = -EAGAIN;
    } else {
        // The request cannot change: its arguments are in registers, and there is no other thread.
        answer_->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    }
    if (seccomp_notify_respond(asked_.number(), answer_) == 0 && left_ != 0) {
        --left_;
    }
}

int ask_for_processes() {
    // The architecture does not matter: other architectures' calls end in the guest's own filter.
    sock_filter instructions[] = {
        {.code = BPF_LD | BPF_W | BPF_ABS, .jt = 0, .jf = 0, .k = offsetof(seccomp_data, nr)},
        {.code = BPF_JMP | BPF_JEQ | BPF_K, .jt = 0, .jf = 1, .k = SYS_clone},
        {.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = SECCOMP_RET_USER_NOTIF},
        {.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = SECCOMP_RET_ALLOW}};
    const sock_fprog filter{.len = std::size(instructions), .filter = instructions};
    return static_cast<int>(
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter));
}

} // namespace previrt
