// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace previrt {

struct TimeUnit {
    const char* name;
    double nanoseconds;
};

// In which this time has one to three digits before the point.
TimeUnit unit_of(double nanoseconds);

std::string three_digits(double value);
// With three digits and its unit.
std::string time_text(double nanoseconds);

} // namespace previrt
