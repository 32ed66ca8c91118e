// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/measured_place.hpp"

#include <functional>
#include <string>
#include <vector>

namespace previrt {

// For a kernel's command line: Linux hands what it does not know to the first process.
std::vector<std::string> words_for(const Settings& settings);
std::string command_line(const std::vector<std::string>& words);
Program previrt_run(const std::string& kernel, const std::string& initrd,
                    const std::vector<std::string>& options, const Settings& settings);

// What is booted in a place, and what is run there.
struct MeasuredFiles {
    std::string kernel;
    std::string measuring_initrd; // runs bench/guest/time.c
    std::string launching_initrd; // its first process is bench/guest/launch.c
    std::string directory;        // for what a place leaves behind
};

MeasuredFiles make_measured_files(const std::string& kernel, const std::string& directory);

// A place that a bench measures.
struct Column {
    std::string name;
    bool is_peer; // it may be left out
    // Throws InputError where there is none.
    std::function<MeasuredPlace(const MeasuredFiles& files)> find;
};

// Of all columns these, in their order; none named: all. The first is what the others are compared with: it
// is always there. Throws InputError.
std::vector<std::string> choose_columns(const std::vector<std::string>& all,
                                        const std::vector<std::string>& named);

Column native_column();
// `previrt run` with these options.
Column previrt_column(const std::string& name, const std::vector<std::string>& options);
Column user_mode_linux_column();
Column gvisor_column();
Column peer(Column column);

} // namespace previrt
