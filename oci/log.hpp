// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace previrt::oci {

// Where messages go: the file of --log, which the engine reads; errors also to standard error, and warnings
// if there is no such file.
struct LogChoice {
    std::string file; // empty: none
    bool is_json = false;
};
void choose_log(const LogChoice& choice);

// From now on.
void silence_warnings();
void log_warning(const std::string& message);
void log_error(const std::string& message);

} // namespace previrt::oci
