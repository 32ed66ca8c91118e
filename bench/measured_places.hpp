// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/measured_place.hpp"

#include <functional>
#include <string>
#include <vector>

namespace previrt {

// For a kernel's command line: Linux passes unknown words to the first process.
std::vector<std::string> words_for(const Settings& settings);
std::string command_line(const std::vector<std::string>& words);
Program previrt_run(const std::string& kernel, const std::string& initrd,
                    const std::vector<std::string>& options, const Settings& settings);

// The names with a comma behind each, for a script.
std::string listed(const std::vector<std::string>& names);
// `previrt run` of a script with these settings in its environment. This machine's root is the guest's.
Program command_on_root(const std::string& kernel, const std::vector<std::string>& options,
                        const Settings& settings, const std::string& script);

// The files that a place boots and runs.
struct MeasuredFiles {
    std::string kernel;
    std::string measuring_initrd; // runs bench/guest/time.c
    std::string launching_initrd; // its first process is bench/guest/launch.c
    std::string directory;        // for files of a place
};

MeasuredFiles make_measured_files(const std::string& kernel, const std::string& directory);

// A column of a bench: a place.
struct Column {
    std::string name;
    bool is_peer; // it may be left out
    // Throws InputError if the place is not available.
    std::function<MeasuredPlace(const MeasuredFiles& files)> find;
};

// The columns with these names, in their order; no names: all. The first column is always included: ratios
// are to it. Throws InputError.
std::vector<std::string> choose_columns(const std::vector<std::string>& all,
                                        const std::vector<std::string>& named);

Column native_column();
// `previrt run` with these options.
Column previrt_column(const std::string& name, const std::vector<std::string>& options);
Column user_mode_linux_column();
Column gvisor_column();
Column peer(Column column);

} // namespace previrt
