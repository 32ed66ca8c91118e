// SPDX-License-Identifier: BSD-2-Clause
#include "bench/results/save_result.hpp"

#include "bench/chart/result_chart.hpp"
#include "bench/chart/svg.hpp"
#include "host/file.hpp"
#include "host/input_error.hpp"

namespace previrt {

void check_result_files(const BenchOptions& options) {
    if (!options.json.empty() && options.json == options.plot) {
        throw InputError(options.plot + ": --json and --plot name the same file");
    }
    for (const std::string& file : {options.json, options.plot}) {
        if (!file.empty()) {
            check_writable(file);
        }
    }
}

void save_result(const BenchOptions& options, const nlohmann::ordered_json& figures) {
    if (!options.json.empty()) {
        write_text(options.json, figures.dump(2) + "\n");
    }
    if (!options.plot.empty()) {
        write_text(options.plot, draw_svg(chart_of({{.name = "the figures", .figures = figures}}, {})));
    }
}

} // namespace previrt
