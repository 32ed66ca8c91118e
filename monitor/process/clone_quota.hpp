// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <memory>

struct seccomp_notif;
struct seccomp_notif_resp;

namespace previrt {

// If Linux does not count a guest's processes, each clone needs the monitor's permission. The monitor permits
// a fixed number, even after some processes have ended.
class ProcessLeaves {
public:
    // `asked`: the notifications of ask_for_processes.
    ProcessLeaves(Descriptor asked, unsigned most);
    ~ProcessLeaves();
    ProcessLeaves(const ProcessLeaves&) = delete;
    ProcessLeaves& operator=(const ProcessLeaves&) = delete;

    // Readable when a clone waits.
    [[nodiscard]] int descriptor() const { return asked_.number(); }
    void answer();

private:
    Descriptor asked_;
    unsigned left_;
    seccomp_notif* question_ = nullptr;
    seccomp_notif_resp* answer_ = nullptr;
};

// From now on the calling process and its children ask before each clone. Returns the descriptor of the
// requests; -1: this machine refuses. Safe after fork.
int ask_for_processes();

} // namespace previrt
