// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/time_table.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace previrt {

// By whom, as the rows of a table call it.
using ProcessorSeconds = std::map<std::string, double>;

struct NetworkTransfer {
    std::string name;      // as bench/guest/net.sh calls it
    double amount;         // bytes or datagrams that have arrived
    double seconds;        // by the receiver's clock
    ProcessorSeconds used; // meanwhile
};

// What bench/guest/net.sh prints.
class TransfersReader {
public:
    // `used` is what has been used so far; it is asked when a transfer begins and when it ends.
    explicit TransfersReader(std::function<ProcessorSeconds()> used) : used_(std::move(used)) {}

    void read_line(std::string_view line);

    [[nodiscard]] const std::vector<NetworkTransfer>& done() const { return done_; }
    // Throws InputError with the place's `last_lines` where not all that were `wanted` came to an end.
    void check_complete(std::size_t wanted, const std::string& last_lines) const;

private:
    void read_result(std::istream& words);

    std::function<ProcessorSeconds()> used_;
    std::string name_;
    ProcessorSeconds begin_;
    std::optional<NetworkTransfer> moved_;
    std::vector<NetworkTransfer> done_;
};

// For each transfer, of all runs, a row with its time and one with what each used: for 1 MiB or a datagram.
void add_transfers(TimeTable& table, const std::string& column,
                   const std::vector<NetworkTransfer>& transfers);

} // namespace previrt
