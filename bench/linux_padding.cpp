// SPDX-License-Identifier: BSD-2-Clause
#include "bench/linux_padding.hpp"

#include "bench/operations.hpp"
#include "bench/results/save_result.hpp"

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

namespace previrt {

void bench_linux_padding(const BenchOptions& options) {
    const std::string plain_kernel = build_measured_kernel(options, KernelVariant::plain);
    const std::string padded_kernel = build_measured_kernel(options);
    const std::string initrd = make_operations_initrd();
    std::cerr << "previrt: counting instructions, two boots\n";
    const Measurement plain = measure_operations(counted_run(plain_kernel, initrd));
    const Measurement padded = measure_operations(counted_run(padded_kernel, initrd));
    check_same_operations(plain, padded);

    nlohmann::ordered_json json{{"title", "What padding costs Linux on bare metal"},
                                {"version", options.version},
                                {"configuration", options.configuration},
                                {"compiler", options.compiler},
                                {"unit", "instructions"}};
    std::printf("%-20s %12s %12s %12s\n", "instructions", "plain", "padded", "difference");
    for (std::size_t i = 0; i < plain.operations.size(); ++i) {
        const std::string& name = plain.operations[i].name;
        const double without = plain.operations[i].instructions;
        const double with = padded.operations[i].instructions;
        std::printf("%-20s %12.1f %12.1f %+10.2f %%\n", name.c_str(), without, with,
                    (with / without - 1) * 100);
        json["operations"][name] = {{"plain", without}, {"padded", with}};
    }
    save_result(options, json);
}

} // namespace previrt
