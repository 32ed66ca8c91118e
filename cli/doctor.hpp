// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/run.hpp"

#include <ostream>
#include <string>
#include <vector>

namespace previrt {

struct ToolReport {
    std::string command; // of previrt, or of this tree
    bool works;
    std::string text; // the finding; or the reason why it does not work, with the remedy
};

// The parts that work on this machine, and the reasons why others do not.
struct MachineReport {
    std::vector<PlaceReport> places;
    std::string automatic_place;
    std::vector<ToolReport> tools;

    [[nodiscard]] bool can_run_guests() const;
};

// Tries everything, with the functions of `run` and `build-linux`.
MachineReport examine_machine();

void print_text(std::ostream& output, const MachineReport& report);
void print_json(std::ostream& output, const MachineReport& report);

} // namespace previrt
