// SPDX-License-Identifier: BSD-2-Clause
#include "bench/files/rows.hpp"

#include "host/input_error.hpp"

#include <algorithm>
#include <sstream>

namespace previrt {

namespace {

double kibibytes_of(const std::string& row) {
    return row.find("_4k") != std::string::npos ? 4 : 1024;
}

} // namespace

void FilesRowsReader::read_line(std::string_view line) {
    std::istringstream words{std::string(line)};
    std::string word;
    std::string what;
    if (!(words >> word >> what) || word != "files") {
        return;
    }
    if (what == "begins" && words >> name_) {
        moved_.reset();
        took_.reset();
        used_before_ = used_();
    } else if (what == "moved") {
        double read = 0;
        double reading = 0;
        double written = 0;
        double writing = 0;
        if (words >> read >> reading >> written >> writing && read + written > 0 && reading + writing > 0) {
            moved_ = {.kibibytes = read + written, .milliseconds = reading + writing};
        }
    } else if (double took = 0; what == "took" && words >> took && took > 0) {
        took_ = took;
    } else if (what == "ended") {
        std::string name;
        int status = 0;
        if (!(words >> name >> status) || name != name_) {
            return;
        }
        if (status == 0) {
            end(name);
        } else {
            failed_[name] = status;
        }
        name_.clear();
    }
}

void FilesRowsReader::end(const std::string& name) {
    const auto used = static_cast<double>((used_() - used_before_).count());
    if (moved_) {
        const double amount = moved_->kibibytes / kibibytes_of(name);
        done_.push_back({.name = name,
                         .nanoseconds = moved_->milliseconds * 1e6 / amount,
                         .processor_nanoseconds = used / amount});
    } else if (took_) {
        done_.push_back({.name = name, .nanoseconds = *took_, .processor_nanoseconds = used});
    }
}

void FilesRowsReader::require(const std::vector<std::string>& names, const std::string& last_lines) const {
    for (const std::string& name : names) {
        if (!failed_.contains(name) && std::ranges::find(done_, name, &FilesRow::name) == done_.end()) {
            throw InputError(name + " did not come to an end; the last lines:\n" + last_lines);
        }
    }
}

void add_rows(TimeTable& table, const std::string& column, const std::vector<FilesRow>& rows) {
    std::map<std::string, std::vector<double>> took;
    std::map<std::string, std::vector<double>> used;
    for (const FilesRow& row : rows) {
        took[row.name].push_back(row.nanoseconds);
        used[row.name].push_back(row.processor_nanoseconds);
    }
    for (const FilesRow& row : rows) {
        table.add(row.name, column, took[row.name]);
    }
    for (const FilesRow& row : rows) {
        table.add(row.name + "_cpu", column, used[row.name]);
    }
}

} // namespace previrt
