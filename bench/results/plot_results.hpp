// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

namespace previrt {

struct PlotOptions {
    std::vector<std::string> results; // files that benches have written by --json
    std::vector<std::string> columns; // by name; empty: all
    std::string plot;
};

// Draws the results as one chart. Throws InputError.
void plot_results(const PlotOptions& options);

} // namespace previrt
