// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt {

// What a guest's host processes need of Linux and the processor. Throws InputError naming what is missing.
void require_process_host();

} // namespace previrt
