// SPDX-License-Identifier: BSD-2-Clause
#include "bench/results/time_table.hpp"

#include "bench/results/spread.hpp"
#include "bench/results/time_text.hpp"

#include <algorithm>
#include <cstdio>

namespace previrt {

namespace {

constexpr int name_width = 22;
constexpr int time_width = 15;
constexpr int ratio_width = 7;
constexpr int quartiles_width = 20;

void print_right(const std::string& text, int width) {
    std::printf("%*s", width, text.c_str());
}

int width_for(const std::string& title, int least) {
    return std::max(least, static_cast<int>(title.size()) + 2);
}

} // namespace

void TimeTable::add(const std::string& row, const std::string& column, std::vector<double> nanoseconds) {
    if (std::ranges::find(columns_, column) == columns_.end()) {
        columns_.push_back(column);
    }
    const auto place = static_cast<std::size_t>(std::ranges::find(columns_, column) - columns_.begin());
    auto found = std::ranges::find(rows_, row, &Row::name);
    if (found == rows_.end()) {
        found = rows_.insert(found, {.name = row, .samples = {}});
    }
    found->samples.resize(std::max(found->samples.size(), place + 1));
    found->samples[place] = std::move(nanoseconds);
}

void TimeTable::print() const {
    print_medians();
    if (std::ranges::any_of(rows_, has_several)) {
        std::printf("\n");
        print_quartiles();
    }
}

bool TimeTable::has_several(const Row& row) {
    return std::ranges::any_of(row.samples, [](const auto& samples) { return samples.size() > 1; });
}

void TimeTable::print_medians() const {
    std::printf("%-*s", name_width, "median");
    for (std::size_t column = 0; column < columns_.size(); ++column) {
        print_right(columns_[column], width_for(columns_[column], time_width));
        print_right(column == 0 ? "" : "ratio", column == 0 ? 0 : ratio_width);
    }
    std::printf("\n");
    for (const Row& row : rows_) {
        std::printf("%-*s", name_width, row.name.c_str());
        for (std::size_t column = 0; column < row.samples.size(); ++column) {
            const bool is_there = !row.samples[column].empty();
            const double median = is_there ? spread_of(row.samples[column]).median : 0;
            print_right(is_there ? time_text(median) : "-", width_for(columns_[column], time_width));
            if (column > 0) {
                const bool has_ratio = is_there && !row.samples[0].empty();
                print_right(has_ratio ? three_digits(median / spread_of(row.samples[0]).median) : "",
                            ratio_width);
            }
        }
        std::printf("\n");
    }
}

void TimeTable::print_quartiles() const {
    std::printf("%-*s", name_width, "quartiles");
    for (const std::string& column : columns_) {
        print_right(column, width_for(column, quartiles_width));
    }
    std::printf("\n");
    for (const Row& row : rows_) {
        std::printf("%-*s", name_width, row.name.c_str());
        for (std::size_t column = 0; column < row.samples.size(); ++column) {
            const std::vector<double>& samples = row.samples[column];
            const int width = width_for(columns_[column], quartiles_width);
            if (samples.empty()) {
                print_right("-", width);
                continue;
            }
            const Spread spread = spread_of(samples);
            const TimeUnit unit = unit_of(spread.upper_quartile);
            print_right(three_digits(spread.lower_quartile / unit.nanoseconds) + " .. " +
                            three_digits(spread.upper_quartile / unit.nanoseconds) + " " + unit.name,
                        width);
        }
        std::printf("\n");
    }
}

nlohmann::ordered_json TimeTable::json() const {
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    for (const Row& row : rows_) {
        for (std::size_t column = 0; column < row.samples.size(); ++column) {
            if (row.samples[column].empty()) {
                continue;
            }
            const Spread spread = spread_of(row.samples[column]);
            json[row.name][columns_[column]] = {{"median", spread.median},
                                                {"lower_quartile", spread.lower_quartile},
                                                {"upper_quartile", spread.upper_quartile},
                                                {"samples", row.samples[column]}};
        }
    }
    return json;
}

} // namespace previrt
