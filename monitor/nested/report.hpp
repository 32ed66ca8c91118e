// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace previrt {

// The report of the nested host's init about its previrt: lines of a word and, after a space, a text.
//     begin            it starts
//     message TEXT     a line of its standard error
//     stats TEXT       a line of its file of counters
//     end STATUS       its exit status
class NestedReport {
public:
    using Message = std::function<void(std::string_view text)>;

    explicit NestedReport(Message message);

    void read(std::string_view text);

    [[nodiscard]] bool begun() const { return begun_; }
    [[nodiscard]] const std::optional<int>& status() const { return status_; }
    // Empty if it wrote none.
    [[nodiscard]] const std::string& counters() const { return counters_; }

private:
    void read_line(std::string_view line);

    Message message_;
    std::string line_;
    bool begun_ = false;
    std::string counters_;
    std::optional<int> status_;
};

} // namespace previrt
