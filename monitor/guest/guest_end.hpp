// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/guest/guest_threads.hpp"
#include "monitor/options.hpp"

#include <nlohmann/json_fwd.hpp>

namespace previrt {

struct CommandEnd;

// Reports the end of a guest that this process monitored in `place`, and writes the requested counters, with
// `counts`. `command`: the end of the options' command; null: there is none.
RunStatus judge_monitored_guest(const RunOptions& options, const MonitoredConsole& console,
                                const MonitoredEnd& end, const char* place, const nlohmann::json& counts,
                                const CommandEnd* command = nullptr);

} // namespace previrt
