// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/options.hpp"
#include "monitor/place.hpp"

#include <string>
#include <vector>

namespace previrt {

struct PlaceReport {
    std::string name; // of --on
    std::string description;
    bool works;
    PlaceFinding finding; // where it works
    std::string refusal;  // where it does not: the reason that run_guest would give
};

// Probes all places.
std::vector<PlaceReport> probe_places();
// The place that `auto` takes for a guest that asks for nothing else.
std::string automatic_place();

// Runs a kernel until it ends. Throws InputError for what cannot be run.
RunStatus run_guest(const RunOptions& options);
// The same; it prints the reason for what cannot be run. A reader of standard error that has stopped does not
// keep it from its end.
RunStatus run_guest_of_command(const RunOptions& options);

} // namespace previrt
