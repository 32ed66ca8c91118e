// SPDX-License-Identifier: BSD-2-Clause
#include "bench/network/transfers.hpp"

#include "host/input_error.hpp"

#include <sstream>

namespace previrt {

namespace {

constexpr double mebibyte = 1U << 20U;

} // namespace

void TransfersReader::read_line(std::string_view line) {
    std::istringstream words{std::string(line)};
    std::string word;
    std::string what;
    words >> word >> what;
    if (word == "net" && what == "begin" && words >> name_) {
        begin_ = used_();
        moved_.reset();
    } else if (word == "net" && what == "end" && moved_) {
        for (const auto& [who, seconds] : used_()) {
            moved_->used[who] = seconds - begin_[who];
        }
        done_.push_back(*moved_);
        moved_.reset();
    } else if (word == "traffic:") {
        read_result(words);
    }
}

// Reads `GOT of WANTED in SECONDS s, ...` behind `traffic: COMMAND:`.
void TransfersReader::read_result(std::istream& words) {
    double got = 0;
    double wanted = 0;
    double seconds = 0;
    std::string of;
    std::string in;
    if (words >> got >> of >> wanted >> in >> seconds && got > 0 && seconds > 0) {
        moved_ = {.name = name_, .amount = got, .seconds = seconds, .used = {}};
    }
}

void TransfersReader::check_complete(std::size_t wanted, const std::string& last_lines) const {
    if (done_.size() != wanted) {
        throw InputError("of its " + std::to_string(wanted) + " transfers " + std::to_string(done_.size()) +
                         " came to an end; its last lines:\n" + last_lines);
    }
}

void add_transfers(TimeTable& table, const std::string& column,
                   const std::vector<NetworkTransfer>& transfers) {
    std::map<std::string, std::vector<double>> took;
    std::map<std::string, std::vector<double>> used;
    for (const NetworkTransfer& transfer : transfers) {
        const bool is_stream = transfer.name.find("datagram") == std::string::npos;
        const std::string unit = transfer.name + (is_stream ? "_1_MiB" : "");
        const double nanoseconds = 1e9 / transfer.amount * (is_stream ? mebibyte : 1);
        took[unit].push_back(transfer.seconds * nanoseconds);
        for (const auto& [who, seconds] : transfer.used) {
            used[unit + "_" + who].push_back(seconds * nanoseconds);
        }
    }
    for (const auto* const rows : {&took, &used}) {
        for (const auto& [row, samples] : *rows) {
            table.add(row, column, samples);
        }
    }
}

} // namespace previrt
