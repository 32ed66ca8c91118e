// SPDX-License-Identifier: BSD-2-Clause
#include "bench/chart/result_chart.hpp"

#include "bench/chart/panels.hpp"
#include "bench/chart/result_table.hpp"
#include "bench/chart/times_chart.hpp"
#include "host/input_error.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace previrt {

namespace {

using Json = nlohmann::ordered_json;

std::string formatted(const char* format, double value) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), format, value + 0.0); // no negative zero
    return text.data();
}

std::optional<Bar> ratio_bar_of(const Json& over, const Json& under) {
    const double reference = read_figure(under);
    return reference > 0 ? std::optional(ratio_bar(read_figure(over) / reference)) : std::nullopt;
}

// Of `bench xen`.
Panel xen_panel(const Json& operations) {
    std::vector<BarGroup> groups;
    for (const auto& [name, costs] : operations.items()) {
        groups.push_back({.name = name,
                          .detail = {},
                          .bars = {ratio_bar_of(costs.at("xen"), costs.at("bare")),
                                   ratio_bar_of(costs.at("peer_xen"), costs.at("peer_bare"))}});
    }
    return panel_of_ratios(
        "Instructions under Xen, divided by those of the same kernel on bare metal",
        {.below = "fewer instructions than on bare metal", .above = "more instructions than on bare metal"},
        {{.name = "ours under Xen", .role = Role::ours},
         {.name = "Linux's own port under Xen (XenoLinux)", .role = Role::peer}},
        std::move(groups));
}

// Of `bench padding`.
Panel padding_panel(const Json& operations) {
    constexpr double least_range = 1; // so that a small cost looks small
    std::vector<BarGroup> groups;
    for (const auto& [name, costs] : operations.items()) {
        const double plain = read_figure(costs.at("plain"));
        std::optional<Bar> bar;
        if (plain > 0) {
            const double percent = ((read_figure(costs.at("padded")) / plain) - 1) * 100;
            const bool is_none = std::abs(percent) < 0.005; // the table prints two digits
            bar = is_none ? Bar{.value = 0, .text = "0 %"}
                          : Bar{.value = percent, .text = formatted("%+.2f %%", percent)};
        }
        groups.push_back({.name = name, .detail = formatted("plain %.0f", plain), .bars = {bar}});
    }
    std::vector<double> values = values_of(groups);
    values.push_back(least_range);
    const Axis axis = Axis::linear(std::ranges::min(values), std::ranges::max(values));
    std::vector<std::string> marks;
    for (const double mark : axis.marks()) {
        marks.push_back(formatted("%g %%", mark));
    }
    return {.axis = axis,
            .marks = marks,
            .axis_title = "Additional instructions of the padded kernel",
            .below = {},
            .above = {},
            .series = {{.name = "padded", .role = Role::ours}},
            .groups = std::move(groups)};
}

// Of `bench exits`: one of KVM's counters.
Panel exits_panel(const Json& operations, const std::string& title, const char* counter) {
    std::vector<BarGroup> groups;
    for (const auto& [name, kernels] : operations.items()) {
        groups.push_back({.name = name, .detail = {}, .bars = {}});
        for (const char* const kernel : {"unrewritten", "in_place"}) {
            // KVM's counters that did not count may be missing. Differences may be below 0 by noise.
            const double count = std::max(kernels.at(kernel).value(counter, 0.0), 0.0);
            const Bar bar{.value = read_figure(count), .text = count > 0 ? formatted("%.2f", count) : "0"};
            groups.back().bars.emplace_back(bar);
        }
    }
    return panel_of_amounts(title,
                            {{.name = "unrewritten kernel, devices in the monitor", .role = Role::reference},
                             {.name = "in-place VMM", .role = Role::ours}},
                            std::move(groups), [](double mark) { return formatted("%g", mark); });
}

void add_operations(Chart& chart, const Json& operations) {
    if (!operations.is_object() || operations.empty()) {
        throw InputError("it has no operations");
    }
    const Json& first = operations.front();
    if (first.contains("peer_xen")) {
        chart.base_line = "bare metal = 1";
        chart.panels.push_back(xen_panel(operations));
    } else if (first.contains("padded")) {
        chart.panels.push_back(padding_panel(operations));
    } else {
        chart.panels.push_back(exits_panel(operations, "All exits of one operation", "exits"));
        chart.panels.push_back(exits_panel(operations, "Exits for accesses to ports", "io_exits"));
    }
}

void add_source(Chart& chart, const Json& figures) {
    const unsigned runs = figures.value("runs", 1U);
    const std::string source =
        figures.value("source", runs > 1 ? "Medians of " + std::to_string(runs) + " runs" : std::string());
    chart.source += (chart.source.empty() || source.empty() ? "" : "; ") + source;
}

// Calls the step, and adds the result's name to its message.
template <typename Step>
void of_result(const BenchResult& result, const Step& step) {
    try {
        step();
    } catch (const InputError& error) {
        throw InputError(result.name + ": " + error.what());
    } catch (const Json::exception&) {
        throw InputError(result.name + ": is no result of previrt bench that can be drawn");
    }
}

} // namespace

Chart chart_of(const std::vector<BenchResult>& results, const std::vector<std::string>& columns) {
    Chart chart;
    std::vector<ResultTable> tables;
    for (const BenchResult& result : results) {
        of_result(result, [&] {
            const Json& figures = result.figures;
            if (chart.title.empty()) {
                chart.title = figures.value("title", "previrt bench");
            }
            add_source(chart, figures);
            if (figures.contains("times")) {
                tables.push_back(read_times(figures.at("times")));
            } else if (results.size() > 1 || !columns.empty()) {
                throw InputError("only results with times can be drawn together, or by columns");
            } else {
                add_operations(chart, figures.at("operations"));
            }
        });
    }
    if (!tables.empty()) {
        add_times(chart, tables, columns);
    }
    return chart;
}

} // namespace previrt
