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
    PlaceFinding finding; // if it works
    std::string refusal;  // if it does not: the message of run_guest's error
};

// Probes all places.
std::vector<PlaceReport> probe_places();
// The place that `auto` takes without further options.
std::string automatic_place();

// Runs a kernel until it ends. Throws InputError if it cannot run it.
RunStatus run_guest(const RunOptions& options);
// The same for the command: prints the error. A reader of standard error that has stopped does not delay the
// end.
RunStatus run_guest_of_command(const RunOptions& options);

} // namespace previrt
