// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/measured_place.hpp"

#include <string>

namespace previrt {

// What is booted in a place, and what is run there.
struct MeasuredFiles {
    std::string kernel;
    std::string measuring_initrd; // runs bench/guest/time.c
    std::string launching_initrd; // its first process is bench/guest/launch.c
    std::string directory;        // for what a place leaves behind
};

MeasuredFiles make_measured_files(const std::string& kernel, const std::string& directory);

MeasuredPlace native_place();
// `previrt run` with these options.
MeasuredPlace previrt_place(const MeasuredFiles& files, const std::string& name,
                            const std::vector<std::string>& options);
// Throws InputError where there is none.
MeasuredPlace user_mode_linux_place(const MeasuredFiles& files);

} // namespace previrt
