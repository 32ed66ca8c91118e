// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt::traced {

void start_events();
// Around the time in which the child runs.
void set_alarm_for_timer();
void clear_alarm();

} // namespace previrt::traced
