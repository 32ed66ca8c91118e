// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/bench_options.hpp"

#include <string>
#include <vector>

namespace previrt {

// The names in bench/guest/files.sh.
const std::vector<std::string>& measured_file_rows();

struct FilesBenchOptions {
    BenchOptions kernel;
    unsigned runs = 1;                // of each place, in turns
    unsigned seconds = 3;             // of each of fio's rows
    unsigned disk_mebibytes = 256;    // of each disk
    std::string source;               // a tree in the place of Linux's source; empty: none
    std::vector<std::string> columns; // by name; empty: all
    std::vector<std::string> rows;    // by name; empty: all
};

// Prints the time of accesses to disks and folders in each place, compared with this machine's own. A peer
// that does not work is left out with a message. Throws InputError.
void bench_files(const FilesBenchOptions& options);

} // namespace previrt
