// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <vector>

namespace previrt {

// Of several measurements of one quantity.
struct Spread {
    double median;
    double lower_quartile;
    double upper_quartile;
    double least;
    double most;
};

// Of at least one sample.
Spread spread_of(std::vector<double> samples);

} // namespace previrt
