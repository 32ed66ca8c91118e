// SPDX-License-Identifier: BSD-2-Clause
#include "bench/chart/result_table.hpp"

#include "host/input_error.hpp"

#include <algorithm>

namespace previrt {

namespace {

constexpr const char* native = "native";

void add_once(std::vector<std::string>& names, const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) {
        names.push_back(name);
    }
}

} // namespace

std::optional<double> ResultTable::at(const std::string& row, const std::string& column) const {
    const auto found = medians.find({row, column});
    return found == medians.end() ? std::nullopt : std::optional(found->second);
}

double read_figure(const nlohmann::ordered_json& value) {
    constexpr double least = 1e-9;
    constexpr double most = 1e18;
    const auto figure = value.get<double>();
    const bool can_be_drawn = figure == 0 || (figure >= least && figure <= most);
    if (!can_be_drawn) {
        throw InputError(value.dump() + " is no figure that can be drawn: 0, or from 1e-9 to 1e18");
    }
    return figure;
}

ResultTable read_times(const nlohmann::ordered_json& times) {
    ResultTable table;
    for (const auto& [row, places] : times.items()) {
        add_once(table.rows, row);
        for (const auto& [column, place] : places.items()) {
            add_once(table.columns, column);
            table.medians[{row, column}] = read_figure(place.at("median"));
        }
    }
    if (table.columns.empty()) {
        throw InputError("it has no times");
    }
    const bool has_native = std::ranges::find(table.columns, native) != table.columns.end();
    table.reference = has_native ? native : table.columns.front();
    return table;
}

} // namespace previrt
