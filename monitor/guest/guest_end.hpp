// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/guest/guest_threads.hpp"
#include "monitor/options.hpp"

#include <nlohmann/json_fwd.hpp>

namespace previrt {

// What became of a guest whose monitor this process was, in `place`. Says it, and writes the counters that
// were asked for, `counts` among them.
RunStatus judge_monitored_guest(const RunOptions& options, const MonitoredConsole& console,
                                const MonitoredEnd& end, const char* place, const nlohmann::json& counts);

} // namespace previrt
