// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt {

// The features that a guest's host processes need of Linux and the processor.
struct ProcessHost {
    bool has_fsgsbase;
    bool has_user_dispatch;
};
ProcessHost find_process_host();
// Throws InputError with the missing features.
void require_process_host(const ProcessHost& host = find_process_host());

} // namespace previrt
