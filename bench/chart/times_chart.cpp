// SPDX-License-Identifier: BSD-2-Clause
#include "bench/chart/times_chart.hpp"

#include "bench/chart/panels.hpp"
#include "bench/measured_places.hpp"
#include "bench/results/time_text.hpp"
#include "host/input_error.hpp"
#include "monitor/place.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace previrt {

namespace {

// With the fewest digits.
std::string mark_text(double nanoseconds) {
    const TimeUnit unit = unit_of(nanoseconds);
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%g %s", nanoseconds / unit.nanoseconds, unit.name);
    return nanoseconds == 0 ? "0" : text.data();
}

Role role_of(const std::string& column, const std::string& reference) {
    if (column == reference) {
        return Role::reference;
    }
    // Columns of previrt begin with the name of its place.
    const std::vector<std::string> places = place_names();
    const bool is_ours = std::ranges::find(places, column.substr(0, column.find(' '))) != places.end();
    return is_ours ? Role::ours : Role::peer;
}

template <typename Names>
void add_missing(std::vector<std::string>& names, const Names& others) {
    for (const std::string& name : others) {
        if (std::ranges::find(names, name) == names.end()) {
            names.push_back(name);
        }
    }
}

class JoinedTables {
public:
    JoinedTables(const std::vector<ResultTable>& tables, const std::vector<std::string>& chosen)
        : tables_(tables), reference_(tables.front().reference) {
        std::vector<std::string> all = {reference_};
        for (const ResultTable& table : tables) {
            if (table.reference != reference_) {
                throw InputError("the results count by different columns: " + reference_ + " and " +
                                 table.reference);
            }
            add_missing(rows_, table.rows);
            add_missing(all, table.columns);
        }
        columns_ = choose_columns(all, chosen);
    }

    void add_panels(Chart& chart) const {
        std::vector<double> times;
        std::vector<std::string> with_reference;
        std::vector<std::string> others;
        for (const std::string& row : rows_) {
            for (const std::string& column : columns_) {
                if (const auto time = time_of(row, column)) {
                    times.push_back(*time);
                }
            }
            (time_of(row, reference_).value_or(0) > 0 ? with_reference : others).push_back(row);
        }
        if (!need_logarithm(times) || columns_.size() == 1) {
            chart.panels.push_back(amounts("Time", rows_));
            return;
        }
        if (!with_reference.empty()) {
            chart.base_line = reference_ + " = 1";
            chart.panels.push_back(ratios(with_reference));
        }
        if (!others.empty()) {
            chart.panels.push_back(amounts("Time (" + reference_ + " has no such figure)", others));
        }
    }

private:
    [[nodiscard]] const ResultTable* table_with(const std::string& row, const std::string& column) const {
        const ResultTable* found = nullptr;
        for (const ResultTable& table : tables_) {
            if (!table.at(row, column)) {
                continue;
            }
            if (found != nullptr && column != reference_) {
                throw InputError("two results have '" + row + "' of '" + column + "'");
            }
            found = found == nullptr ? &table : found;
        }
        return found;
    }

    [[nodiscard]] std::optional<double> time_of(const std::string& row, const std::string& column) const {
        const ResultTable* const table = table_with(row, column);
        return table == nullptr ? std::nullopt : table->at(row, column);
    }

    // To the reference of the same table.
    [[nodiscard]] std::optional<Bar> ratio_of(const std::string& row, const std::string& column) const {
        const ResultTable* const table = table_with(row, column);
        if (table == nullptr) {
            return std::nullopt;
        }
        const std::optional<double> time = table->at(row, column);
        const std::optional<double> reference = table->at(row, reference_);
        return time && reference && *reference > 0 ? std::optional(ratio_bar(*time / *reference))
                                                   : std::nullopt;
    }

    [[nodiscard]] std::optional<Bar> amount_of(const std::string& row, const std::string& column) const {
        const auto time = time_of(row, column);
        return time ? std::optional(Bar{.value = *time, .text = time_text(*time)}) : std::nullopt;
    }

    // Those of these columns that have a figure in these rows.
    [[nodiscard]] std::vector<std::string> columns_with(const std::vector<std::string>& rows) const {
        std::vector<std::string> columns = columns_;
        std::erase_if(columns, [&](const std::string& column) {
            return std::ranges::none_of(
                rows, [&](const std::string& row) { return time_of(row, column).has_value(); });
        });
        return columns;
    }

    [[nodiscard]] std::vector<Series> series(const std::vector<std::string>& columns) const {
        std::vector<Series> series;
        series.reserve(columns.size());
        for (const std::string& column : columns) {
            series.push_back({.name = column, .role = role_of(column, reference_)});
        }
        return series;
    }

    [[nodiscard]] Panel amounts(const std::string& title, const std::vector<std::string>& rows) const {
        const std::vector<std::string> columns = columns_with(rows);
        std::vector<BarGroup> groups;
        for (const std::string& row : rows) {
            groups.push_back({.name = row, .detail = {}, .bars = {}});
            for (const std::string& column : columns) {
                groups.back().bars.push_back(amount_of(row, column));
            }
        }
        return panel_of_amounts(title, series(columns), std::move(groups), mark_text);
    }

    [[nodiscard]] Panel ratios(const std::vector<std::string>& rows) const {
        const std::vector<std::string> columns(columns_.begin() + 1, columns_.end());
        std::vector<BarGroup> groups;
        for (const std::string& row : rows) {
            groups.push_back({.name = row,
                              .detail = reference_ + " " + time_text(time_of(row, reference_).value_or(0)),
                              .bars = {}});
            for (const std::string& column : columns) {
                groups.back().bars.push_back(ratio_of(row, column));
            }
        }
        return panel_of_ratios("Time, divided by that of " + reference_,
                               {.below = "quicker than " + reference_, .above = "slower than " + reference_},
                               series(columns), std::move(groups));
    }

    const std::vector<ResultTable>& tables_;
    std::string reference_;
    std::vector<std::string> rows_;
    std::vector<std::string> columns_; // the reference first
};

} // namespace

void add_times(Chart& chart, const std::vector<ResultTable>& tables,
               const std::vector<std::string>& columns) {
    JoinedTables(tables, columns).add_panels(chart);
}

} // namespace previrt
