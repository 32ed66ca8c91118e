// SPDX-License-Identifier: BSD-2-Clause
#include "bench/results/plot_results.hpp"

#include "bench/chart/result_chart.hpp"
#include "bench/chart/svg.hpp"
#include "host/file.hpp"
#include "host/input_error.hpp"

#include <filesystem>

namespace previrt {

void plot_results(const PlotOptions& options) {
    std::vector<BenchResult> results;
    for (const std::string& file : options.results) {
        std::error_code error;
        if (std::filesystem::equivalent(file, options.plot, error)) {
            throw InputError(file + ": the chart would replace the result");
        }
        auto figures = nlohmann::ordered_json::parse(read_text(file), nullptr, false);
        if (figures.is_discarded()) {
            throw InputError(file + ": is no JSON");
        }
        results.push_back({.name = file, .figures = std::move(figures)});
    }
    write_text(options.plot, draw_svg(chart_of(results, options.columns)));
}

} // namespace previrt
