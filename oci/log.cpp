// SPDX-License-Identifier: BSD-2-Clause
#include "oci/log.hpp"

#include <ctime>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

namespace previrt::oci {

namespace {

LogChoice chosen;       // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
bool is_silent = false; // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

std::string now() {
    const std::time_t time = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&time, &parts);
    std::string text(sizeof "2000-01-01T00:00:00Z", '\0');
    text.resize(std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts));
    return text;
}

void log(const char* level, const std::string& message) {
    if (!chosen.file.empty()) {
        std::ofstream file(chosen.file, std::ios::app);
        if (chosen.is_json) {
            file << nlohmann::json{{"level", level}, {"msg", message}, {"time", now()}}.dump(
                        -1, ' ', false, nlohmann::json::error_handler_t::replace)
                 << '\n';
        } else {
            file << "time=\"" << now() << "\" level=" << level << " msg=" << nlohmann::json(message) << '\n';
        }
    }
}

} // namespace

void choose_log(const LogChoice& choice) {
    chosen = choice;
}

void silence_warnings() {
    is_silent = true;
}

void log_warning(const std::string& message) {
    if (is_silent) {
        return;
    }
    log("warning", message);
    if (chosen.file.empty()) {
        std::cerr << "previrt-oci: warning: " << message << '\n';
    }
}

void log_error(const std::string& message) {
    log("error", message);
    std::cerr << "previrt-oci: " << message << '\n';
}

} // namespace previrt::oci
