// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace previrt::oci {

// Where messages go: the file of --log, which the engine reads, and standard error.
struct LogChoice {
    std::string file; // empty: none
    bool is_json = false;
};
void choose_log(const LogChoice& choice);

void log_warning(const std::string& message);
void log_error(const std::string& message);

} // namespace previrt::oci
