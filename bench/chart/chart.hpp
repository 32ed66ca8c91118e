// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/chart/axis.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace previrt {

enum class Role : std::uint8_t { reference, ours, peer };

// The bars of one column of a table.
struct Series {
    std::string name;
    Role role;
};

struct Bar {
    double value; // on the axis
    std::string text;
};

struct BarGroup {
    std::string name;
    std::string detail;                   // in small letters below the name
    std::vector<std::optional<Bar>> bars; // one for each series; none: not measured
};

// Groups of bars on one axis.
struct Panel {
    Axis axis;
    std::vector<std::string> marks; // the texts of the axis' marks
    std::string axis_title;
    std::string below; // the meaning of a bar to the left of the base, or empty
    std::string above; // to the right
    std::vector<Series> series;
    std::vector<BarGroup> groups;
};

struct Chart {
    std::string title;
    std::string source;
    std::string base_line; // the meaning of the line at the base of a panel of ratios, or empty
    std::vector<Panel> panels;
};

} // namespace previrt
