// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace previrt {

// Times by row and column; some may be missing. Ratios are to the first column.
class TimeTable {
public:
    void add(const std::string& row, const std::string& column, std::vector<double> nanoseconds);

    // Medians with ratios, and then quartiles if there are several samples.
    void print() const;
    // In the order of rows and columns.
    [[nodiscard]] nlohmann::ordered_json json() const;

private:
    struct Row {
        std::string name;
        std::vector<std::vector<double>> samples; // by column; empty: missing
    };

    [[nodiscard]] static bool has_several(const Row& row);
    void print_medians() const;
    void print_quartiles() const;

    std::vector<std::string> columns_;
    std::vector<Row> rows_;
};

} // namespace previrt
