// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/results/time_table.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace previrt {

// Processor time, by the name of a table's row.
using ProcessorSeconds = std::map<std::string, double>;

struct NetworkTransfer {
    std::string name;      // of bench/guest/net.sh
    double amount;         // bytes or datagrams that arrived
    double seconds;        // by the receiver's clock
    ProcessorSeconds used; // meanwhile
};

// Reads the output of bench/guest/net.sh.
class TransfersReader {
public:
    // `used` returns the processor time up to now. It is called when a transfer begins and when it ends.
    explicit TransfersReader(std::function<ProcessorSeconds()> used) : used_(std::move(used)) {}

    void read_line(std::string_view line);

    [[nodiscard]] const std::vector<NetworkTransfer>& done() const { return done_; }
    // Throws InputError with the place's `last_lines` if not all `wanted` transfers ended.
    void check_complete(std::size_t wanted, const std::string& last_lines) const;

private:
    void read_result(std::istream& words);

    std::function<ProcessorSeconds()> used_;
    std::string name_;
    ProcessorSeconds begin_;
    std::optional<NetworkTransfer> moved_;
    std::vector<NetworkTransfer> done_;
};

// Adds, for each transfer of all runs, a row with its time and one with each processor time: for 1 MiB or a
// datagram.
void add_transfers(TimeTable& table, const std::string& column,
                   const std::vector<NetworkTransfer>& transfers);

} // namespace previrt
