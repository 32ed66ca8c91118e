// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt {

// What a guest's host processes need of Linux and the processor.
struct ProcessHost {
    bool has_fsgsbase;
    bool has_user_dispatch;
};
ProcessHost find_process_host();
// Throws InputError naming what is missing.
void require_process_host(const ProcessHost& host = find_process_host());

} // namespace previrt
