// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/results/time_table.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace previrt {

// Of a transfer, or of a whole program.
struct FilesRow {
    std::string name;
    double nanoseconds;
    double processor_nanoseconds; // of all processes of the place
};

// Reads the output of bench/guest/files.sh. `used`: the processor time until now.
class FilesRowsReader {
public:
    explicit FilesRowsReader(std::function<std::chrono::nanoseconds()> used) : used_(std::move(used)) {}

    void read_line(std::string_view line);

    // Throws InputError with the place's `last_lines` if the rows did not come to an end. One that failed is
    // among failed().
    void require(const std::vector<std::string>& names, const std::string& last_lines) const;
    [[nodiscard]] const std::vector<FilesRow>& done() const { return done_; }
    [[nodiscard]] const std::map<std::string, int>& failed() const { return failed_; }

private:
    struct Moved {
        double kibibytes;
        double milliseconds;
    };

    void end(const std::string& name);

    std::function<std::chrono::nanoseconds()> used_;
    std::string name_;
    std::chrono::nanoseconds used_before_{};
    std::optional<Moved> moved_; // by fio
    std::optional<double> took_; // a whole program, in nanoseconds
    std::vector<FilesRow> done_;
    std::map<std::string, int> failed_; // and their status
};

void add_rows(TimeTable& table, const std::string& column, const std::vector<FilesRow>& rows);

} // namespace previrt
