// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace previrt {

// The medians of a bench's result.
struct ResultTable {
    std::vector<std::string> rows;
    std::vector<std::string> columns;
    std::string reference;                                         // the column to which ratios are
    std::map<std::pair<std::string, std::string>, double> medians; // by row and column

    [[nodiscard]] std::optional<double> at(const std::string& row, const std::string& column) const;
};

// Of the `times` of a result. Throws InputError, and nlohmann::json::exception if they have another form.
ResultTable read_times(const nlohmann::ordered_json& times);

// Throws InputError if it is negative or too large to draw.
double read_figure(const nlohmann::ordered_json& value);

} // namespace previrt
