// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <memory>

struct seccomp_notif;
struct seccomp_notif_resp;

namespace previrt {

// Where Linux does not count a guest's processes for us, each of their clones waits for our leave: they get
// so many, whatever has become of those that were made.
class ProcessLeaves {
public:
    // `asked`: where the filter of ask_for_processes asks.
    ProcessLeaves(Descriptor asked, unsigned most);
    ~ProcessLeaves();
    ProcessLeaves(const ProcessLeaves&) = delete;
    ProcessLeaves& operator=(const ProcessLeaves&) = delete;

    // Readable where one waits.
    [[nodiscard]] int descriptor() const { return asked_.number(); }
    void answer();

private:
    Descriptor asked_;
    unsigned left_;
    seccomp_notif* question_ = nullptr;
    seccomp_notif_resp* answer_ = nullptr;
};

// From here on the calling process, and those that it makes, ask before they make one. Gives where; -1: this
// machine does not let it. Safe after fork.
int ask_for_processes();

} // namespace previrt
