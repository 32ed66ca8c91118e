// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt::traced {

// Measures the time-stamp counter.
void start_time();

} // namespace previrt::traced
